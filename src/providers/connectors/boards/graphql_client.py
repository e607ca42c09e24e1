"""Documents sent to the board provider, and its answers taken apart."""

import asyncio
from collections.abc import Mapping
from typing import Any, TypeVar

import msgspec

from providers.connectors.boards.failures import Envelope, GraphqlError, first, graphql_errors
from providers.failures import Broken, Locked, Throttled
from providers.http.client import READ_SECONDS, Upstream

VERSION = "2026-10"  # always pinned; without it the account's current one answers
_HEADERS = {"api-version": VERSION}
_PAUSES = (0.2, 0.6)  # seconds before a write is tried again on a board that somebody else locks

T = TypeVar("T")


class BoardClient:
    """One account's endpoint."""

    def __init__(self, upstream: Upstream) -> None:
        self._upstream = upstream

    async def read(self, document: str, shape: type[T], **variables: object) -> T:
        """
        Run a query and read its data as *shape*.

        Raises:
            ProviderFailure: Whatever an error of the answer says, also beside data.
        """
        data, found = await self._ask(document, variables, reads=True)
        if found:
            raise self._raised(found)
        return _decoded(data, shape)

    async def write(
        self, document: str, shape: type[T], **variables: object
    ) -> tuple[T, tuple[GraphqlError, ...]]:
        """
        Run a mutation; errors that have a path into it come back beside the data.

        Raises:
            ProviderFailure: Whatever an error about all of it says: nothing was done.
        """
        pauses = iter(_PAUSES)
        while True:
            data, found = await self._ask(document, variables, reads=False)
            whole = [one for one in found if not one.path]
            if not whole and not isinstance(_worst(found), Throttled | Locked):
                return _decoded(data, shape), found
            failure = self._raised(found)
            pause = next(pauses, None)
            if not isinstance(failure, Locked) or pause is None or _did_something(data):
                raise failure
            await asyncio.sleep(pause)

    async def _ask(
        self, document: str, variables: Mapping[str, object], *, reads: bool
    ) -> tuple[msgspec.Raw, tuple[GraphqlError, ...]]:
        answer = await self._upstream.call(
            "POST",
            "v2",
            json={"query": document, "variables": variables},
            headers=_HEADERS,
            retry=reads,
            changes=not reads,
            deadline=READ_SECONDS if reads else None,
        )
        envelope = answer.decode(Envelope)
        return envelope.data, graphql_errors(
            envelope, retry_after=answer.headers.get("retry-after")
        )

    def _raised(self, found: tuple[GraphqlError, ...]) -> Exception:
        failure = first(found)
        if isinstance(failure, Throttled):
            return self._upstream.throttled(failure.retry_after)
        return failure


def _worst(found: tuple[GraphqlError, ...]) -> Exception | None:
    return first(found) if found else None


def _did_something(data: msgspec.Raw) -> bool:
    """Say whether some field of a mutation has an answer."""
    done: Any = msgspec.json.decode(data)
    return isinstance(done, dict) and any(value is not None for value in done.values())


def _decoded(data: msgspec.Raw, shape: type[T]) -> T:
    try:
        return msgspec.json.decode(b"{}" if bytes(data) == b"null" else data, type=shape)
    except (msgspec.DecodeError, RecursionError):
        raise Broken from None
