"""Calls to the project provider: reads of one record, of a page, of all there is; and writes."""

from typing import Any, Protocol, TypeVar

from providers.connectors.projects import response_types
from providers.failures import Refused
from providers.http.client import Upstream
from providers.outcomes import unknown_if_ambiguous

BASE = ("api", "1.0")
PAGE = 100  # records; upstream gives no more

T = TypeVar("T")


class Paged(Protocol):
    """A page of some records."""

    @property
    def data(self) -> Any: ...
    @property
    def next_page(self) -> response_types.NextPage | None: ...


P = TypeVar("P", bound=Paged)


class OffsetExpired(Refused):
    """The offset is too old, or none."""


class ProjectClient:
    """One account's endpoints."""

    def __init__(self, upstream: Upstream) -> None:
        self._upstream = upstream

    async def read(self, shape: type[T], *path: str, fields: str) -> T:
        """Read one record."""
        answer = await self._upstream.call("GET", *BASE, *path, params=(("opt_fields", fields),))
        return answer.decode(shape)

    async def page(
        self,
        shape: type[P],
        *path: str,
        fields: str,
        offset: str = "",
        size: int = PAGE,
        params: tuple[tuple[str, str], ...] = (),
    ) -> P:
        """
        Read a page of a listing.

        Raises:
            OffsetExpired: Upstream does not take the offset any more.
        """
        asked = (*params, ("opt_fields", fields), ("limit", str(size)))
        if offset:
            asked = (*asked, ("offset", offset))
        try:
            answer = await self._upstream.call("GET", *BASE, *path, params=asked)
        except Refused as refusal:
            if offset and refusal.status == 400:
                raise OffsetExpired(status=400) from refusal
            raise
        return answer.decode(shape)

    async def every(
        self,
        shape: type[P],
        *path: str,
        fields: str,
        most: int,
        params: tuple[tuple[str, str], ...] = (),
    ) -> list[Any]:
        """Read a listing to its end, or *most* pages of it."""
        found: list[Any] = []
        offset = ""
        for _ in range(most):
            page = await self.page(shape, *path, fields=fields, offset=offset, params=params)
            found += page.data
            offset = next_offset(page)
            if not offset:
                break
        return found

    async def write(
        self, method: str, *path: str, data: object = None
    ) -> response_types.RecordResponse | None:
        """Write; what may be repeated without harm."""
        body = None if data is None else {"data": data}
        params = () if data is None else (("opt_fields", "gid"),)
        answer = await self._upstream.call(method, *BASE, *path, params=params, json=body)
        return None if data is None else answer.decode(response_types.RecordResponse)

    async def make(self, *path: str, data: object) -> str:
        """
        Make a record once; return its id.

        Raises:
            OutcomeUnknown: It may have been made.
        """
        with unknown_if_ambiguous():
            answer = await self._upstream.call(
                "POST", *BASE, *path, params=(("opt_fields", "gid"),), json={"data": data}
            )
            return answer.decode(response_types.RecordResponse).data.gid


def next_offset(page: Paged) -> str:
    """Return the offset of the page that follows; "" when none does."""
    return (page.next_page.offset or "") if page.next_page is not None else ""
