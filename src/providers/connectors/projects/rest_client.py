"""Client of Asana's REST API: docs/spec/upstream/asana.md#bodies."""

from typing import Any, Protocol, TypeVar

from providers.connectors.projects import response_types
from providers.failures import Refused
from providers.http.client import Upstream
from providers.outcomes import unknown_if_ambiguous

BASE = ("api", "1.0")
PAGE = 100  # records, the maximum
MAX_PAGES = 20  # of a listing that is read to its end

T = TypeVar("T")


class Paged(Protocol):
    """A page of records."""

    @property
    def data(self) -> Any: ...
    @property
    def next_page(self) -> response_types.NextPage | None: ...


P = TypeVar("P", bound=Paged)


class OffsetExpired(Refused):
    """The offset is too old or invalid."""


class ProjectClient:
    """The endpoints of one account."""

    def __init__(self, upstream: Upstream) -> None:
        self._upstream = upstream

    async def read(self, shape: type[T], *path: str, fields: str) -> T:
        """Read one record."""
        response = await self._upstream.call("GET", *BASE, *path, params=(("opt_fields", fields),))
        return await response.decoded(shape)

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
            OffsetExpired: Asana does not accept the offset any more.
        """
        params = (*params, ("opt_fields", fields), ("limit", str(size)))
        if offset:
            params = (*params, ("offset", offset))
        try:
            response = await self._upstream.call("GET", *BASE, *path, params=params)
        except Refused as refusal:
            if offset and refusal.status == 400:
                raise OffsetExpired(status=400) from refusal
            raise
        return await response.decoded(shape)

    async def read_all(self, shape: type[P], *path: str, fields: str) -> list[Any]:
        """Read a listing to its end, but at most `MAX_PAGES` of it."""
        records: list[Any] = []
        offset = ""
        for _ in range(MAX_PAGES):
            page = await self.page(shape, *path, fields=fields, offset=offset)
            records += page.data
            offset = next_offset(page)
            if not offset:
                break
        return records

    async def write(
        self, method: str, *path: str, data: object = None
    ) -> response_types.RecordResponse | None:
        """Send an idempotent write; *data* None sends no body and returns None."""
        body = None if data is None else {"data": data}
        params = () if data is None else (("opt_fields", "gid"),)
        response = await self._upstream.call(method, *BASE, *path, params=params, json=body)
        return None if data is None else response.decode(response_types.RecordResponse)

    async def create(self, *path: str, data: object) -> str:
        """
        Create a record; return its id.

        Raises:
            OutcomeUnknown: The record may have been created.
        """
        with unknown_if_ambiguous():
            response = await self._upstream.call(
                "POST", *BASE, *path, params=(("opt_fields", "gid"),), json={"data": data}
            )
            return response.decode(response_types.RecordResponse).data.gid


def next_offset(page: Paged) -> str:
    """Return the offset of the next page; "" after the last."""
    return (page.next_page.offset or "") if page.next_page is not None else ""
