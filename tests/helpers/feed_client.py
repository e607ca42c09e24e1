"""A client of the feed of changes."""

from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from typing import Any

import httpx

CHANGES = "/api/access/changes"

Row = tuple[str, str | None, tuple[str, ...]]


class Feed:
    """
    A client with one token.

    Attributes:
        cursor: The newest one.
        answer: The last body.
    """

    def __init__(
        self, client: Callable[[], AbstractAsyncContextManager[httpx.AsyncClient]]
    ) -> None:
        """*client* returns a client that sends the token."""
        self._client = client
        self.cursor: str | None = None
        self.answer: dict[str, Any] = {}

    async def raw(self, **params: Any) -> httpx.Response:
        """Make one call."""
        async with self._client() as client:
            return await client.get(CHANGES, params=params)

    async def pull(self, cursor: str | None = None, **params: Any) -> list[Row]:
        """Return the rows since *cursor*, or since the newest one."""
        since = cursor or self.cursor
        response = await self.raw(**({"since": since} if since else {}), **params)
        assert response.status_code == 200, response.text
        self.answer = response.json()
        self.cursor = self.answer["cursor"]
        return [
            (row["kind"], row["objectId"], tuple(row["changed"])) for row in self.answer["changes"]
        ]

    async def drain(self, **params: Any) -> list[Row]:
        """Return all rows since the newest cursor."""
        rows = await self.pull(**params)
        while self.answer["more"]:
            rows += await self.pull(**params)
        return rows
