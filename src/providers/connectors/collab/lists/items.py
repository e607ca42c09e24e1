"""
Reading list items of one connection. Source: wire report 1D.5; decisions 8.10.

Three ways lead through a list, each with its own cursors:

    d  upstream's pages, filtered by upstream as far as it can, and looked at again
    s  upstream's pages without the columns that only the caller wants; what passes is read by id
    o  the whole list by what orders it, sorted here; one page of it is read by id

The first is enough unless something is to be ordered by a column, or upstream refuses the filter.
"""

from collections.abc import Collection, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace
from typing import Any

from providers.connectors.collab import batch, response_types, selected_fields
from providers.connectors.collab.batch import BatchRequest
from providers.connectors.collab.connection_context import (
    V1,
    ConnectionContext,
    batched_read_failure,
    translate_refused_read,
)
from providers.connectors.collab.files.sites_and_libraries import SiteReader
from providers.connectors.collab.lists import item_filters, item_order, odata_filters
from providers.connectors.collab.lists.item_filters import Kind, Node
from providers.connectors.collab.lists.item_order import Order
from providers.connectors.collab.lists.lists import ListReader
from providers.connectors.collab.lists.odata_filters import Pushed
from providers.connectors.collab.mapping import row as to_record
from providers.connectors.collab.paging import ODataPage
from providers.content.field_selection import ALL_FIELDS, FieldSelection, select_fields
from providers.content.ids import ListKey, RowKey, is_number
from providers.failures import Missing, Refused, Throttled
from providers.ports.collab import InvalidCursor, InvalidFilter, Page, RowQuery
from providers.records import collab as records
from providers.records.collab import UNKNOWN, Unknown

MOST_ORDERED = 20_000  # rows that are sorted here
MOST_SCANNED = 5  # upstream pages for one of ours; decisions 0
_LIGHT_PAGE = 2000
_FEWEST = 20  # rows per page, so that a filter by rules finds something
_LIGHT = frozenset({"id"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """
    A query, held against the list's columns.

    Attributes:
        columns: None when the query does not ask for any.
        part: What `fields` shall have.
    """

    columns: Mapping[str, Kind]
    node: Node | None
    pushed: Pushed | None
    orders: tuple[Order, ...]
    selection: FieldSelection
    limit: int

    @property
    def looked_at(self) -> tuple[str, ...]:
        """The keys of `fields` that filter and order need."""
        named = [*(item_filters.columns_of(self.node) if self.node else ())]
        keys = [self.columns[name].key for name in (*named, *(one.column for one in self.orders))]
        return tuple(dict.fromkeys(key for key in keys if key != "id"))

    def passes(self, one: response_types.ListItem) -> bool:
        """Whether an item passes the filter."""
        return self.node is None or item_filters.matches(self.node, values(one), self.columns)

    def warnings(self) -> tuple[str, ...]:
        """Say which columns of the filter have no index."""
        named = dict.fromkeys(item_filters.columns_of(self.node)) if self.node else ()
        slow = [name for name in named if not self.columns[name].indexed]
        if not slow:
            return ()
        names = ", ".join(slow)
        return (f"The filter looks at columns without an index, which may be slow: {names}.",)


class RowReader:
    """Reads list items."""

    def __init__(self, context: ConnectionContext, sites: SiteReader, lists: ListReader) -> None:
        self._context = context
        self._sites = sites
        self._lists = lists

    async def page(
        self, key: ListKey, query: RowQuery, *, cursor: str | None, wanted: AbstractSet[str]
    ) -> Page[records.Row]:
        """Return a page of a list; see `RowPort.page`."""
        self._sites.admit_site(key.site)
        plan = await self._plan(key, query, wanted)
        way, rest = _way(cursor)
        try:
            if plan.orders:
                if way not in ("", "o"):
                    raise InvalidCursor
                page = await self._ordered(key, plan, rest, wanted)
            elif way == "s" or (way != "d" and self._must_scan(key, plan)):
                page = await self._scanned(key, plan, rest, wanted)
            else:
                page = await self._direct(key, plan, rest, wanted)
        except Refused as refusal:
            raise translate_refused_read(refusal) from refusal
        return replace(page, warnings=(*plan.warnings(), *page.warnings))

    async def get(
        self, key: RowKey, *, wanted: AbstractSet[str], hidden: AbstractSet[str] = frozenset()
    ) -> records.Row:
        """Read one list item; see `RowPort.get`."""
        self._sites.admit_site(key.site)
        selection = await self.field_selection(key.of, wanted, hidden)
        params = selected_fields.row(frozenset(wanted), selection.requested)
        one = await self._context.read(response_types.ListItem, *_address(key), params=params)
        if one.id != key.item:
            raise Missing
        return to_record(one, key.of, wanted, selection=selection)

    async def get_many(
        self,
        keys: Collection[RowKey],
        *,
        wanted: AbstractSet[str],
        selection: FieldSelection = ALL_FIELDS,
    ) -> Mapping[RowKey, records.Row | Unknown | None]:
        """Read list items by their ids; see `RowPort.get_many`."""
        found: dict[RowKey, records.Row | Unknown | None] = dict.fromkeys(keys)
        params = selected_fields.row(frozenset(wanted), selection.requested)
        asks = {
            key: BatchRequest(_address(key), params) for key in found if self._sites.sees(key.site)
        }
        for key, answer in (await batch.read_all(self._context.upstream, asks)).items():
            failure = batched_read_failure(answer)
            if failure is not None:
                found[key] = None if isinstance(failure, Missing) else UNKNOWN
                continue
            one = answer.decode(response_types.ListItem)
            same = one.id == key.item
            found[key] = to_record(one, key.of, wanted, selection=selection) if same else None
        return found

    async def field_selection(
        self,
        key: ListKey,
        wanted: AbstractSet[str],
        hidden: AbstractSet[str],
        select: tuple[str, ...] | None = None,
    ) -> FieldSelection:
        """Say what is asked for of the values of a list's items; *select*: None: all."""
        if "fields" not in wanted or (not hidden and select is None):
            return ALL_FIELDS
        if not hidden:
            return FieldSelection(select, ())
        return select_fields(await self._lists.columns(key), hidden, select)

    async def _plan(self, key: ListKey, query: RowQuery, wanted: AbstractSet[str]) -> Plan:
        """
        Hold a query against the columns, which are read only when it needs some.

        Raises:
            InvalidFilter: It does not fit.
        """
        asks = query.filter is not None or query.order_by is not None or query.select is not None
        columns = item_filters.kinds(await self._lists.columns(key)) if asks else {}
        for name in query.select or ():
            if name not in columns:
                raise InvalidFilter("The selection names a column that the list does not have.")
        node = None if query.filter is None else item_filters.parse(query.filter, columns)
        return Plan(
            columns=columns,
            node=node,
            pushed=None if node is None else odata_filters.push(node, columns),
            orders=item_order.parse(query.order_by, columns),
            selection=await self.field_selection(key, wanted, query.hidden, query.select),
            limit=query.limit,
        )

    def _must_scan(self, key: ListKey, plan: Plan) -> bool:
        if plan.node is None:
            return False
        return plan.pushed is None or self._context.cache.unfilterable_lists.get(key) is not None

    # -- d

    async def _direct(
        self, key: ListKey, plan: Plan, cursor: str | None, wanted: AbstractSet[str]
    ) -> Page[records.Row]:
        columns = plan.looked_at
        if "fields" in wanted:
            columns = (
                () if plan.selection.requested is None else (*plan.selection.requested, *columns)
            )
        whole = "fields" in wanted and plan.selection.requested is None
        params = [
            ("$top", str(max(plan.limit, _FEWEST))),
            *selected_fields.row(frozenset(wanted), None if whole else columns),
        ]
        pushed = plan.pushed
        if pushed is not None:
            params.append(("$filter", pushed.text))

        def keep(one: response_types.ListItem) -> records.Row | None:
            if not is_number(one.id) or not plan.passes(one):
                return None
            return to_record(one, key, wanted, selection=plan.selection)

        try:
            page = await self._context.pages.page(
                (V1, *_list_address(key), "items"),
                params,
                ODataPage[response_types.ListItem],
                cursor=cursor,
                to_record=keep,
                headers={} if pushed is None or pushed.indexed else odata_filters.HONOR,
            )
        except (Refused, InvalidCursor) as refusal:
            if pushed is None or cursor is not None:
                raise
            if isinstance(refusal, Refused) and refusal.status != 400:
                raise
            self._context.cache.unfilterable_lists.put(key, value=True)
            return await self._scanned(key, plan, None, wanted)
        except Throttled:
            if pushed is not None:  # it may have been too wide; wire report 1D.5
                self._context.cache.unfilterable_lists.put(key, value=True)
            raise
        return _marked(page, "d")

    # -- s

    async def _scanned(
        self, key: ListKey, plan: Plan, cursor: str | None, wanted: AbstractSet[str]
    ) -> Page[records.Row]:
        """Look through the list by id until enough passes, then read that."""
        params = [("$top", str(_LIGHT_PAGE)), *selected_fields.row(_LIGHT, plan.looked_at)]
        passing: list[tuple[str, str]] = []
        place, calls, more = cursor, 0, True
        while more and calls < MOST_SCANNED and len(passing) < plan.limit:
            page = await self._context.pages.page(
                (V1, *_list_address(key), "items"),
                params,
                ODataPage[response_types.ListItem],
                cursor=place,
                to_record=lambda one: one.id if is_number(one.id) and plan.passes(one) else None,
            )
            passing += zip(page.items, page.cursors, strict=True)
            calls += 1
            place, more = page.next, page.next is not None
        end = place
        if len(passing) > plan.limit:
            passing = passing[: plan.limit]
            end = passing[-1][1]
        found = await self._read(key, [number for number, _ in passing], plan, wanted)
        kept = [(found[number], at) for number, at in passing if number in found]
        rows = Page(
            items=tuple(row for row, _ in kept),
            cursors=tuple(at for _, at in kept),
            next=end,
            upstream_pages=calls,
            warnings=_lost(len(passing) - len(kept)),
        )
        return _marked(rows, "s")

    # -- o

    async def _ordered(
        self, key: ListKey, plan: Plan, cursor: str | None, wanted: AbstractSet[str]
    ) -> Page[records.Row]:
        """Sort the whole list here, and read one page of it."""
        rows, complete = await self._all(key, plan)
        ordered = item_order.sort(
            [one for one in rows if is_number(one.id) and plan.passes(one)],
            plan.orders,
            plan.columns,
        )
        numbers = [one.id for one in ordered]
        start = _resume(cursor, numbers)
        chosen = numbers[start : start + plan.limit]
        found = await self._read(key, chosen, plan, wanted)
        kept = [
            (found[number], at) for at, number in enumerate(chosen, start + 1) if number in found
        ]
        end = start + len(chosen)
        warnings = () if complete else (f"Only the first {MOST_ORDERED} items were ordered.",)
        return Page(
            items=tuple(row for row, _ in kept),
            cursors=tuple(f"o{at}:{row.number}" for row, at in kept),
            next=f"o{end}:{numbers[end - 1]}" if end < len(numbers) else None,
            warnings=(*warnings, *_lost(len(chosen) - len(kept))),
        )

    async def _all(self, key: ListKey, plan: Plan) -> tuple[list[response_types.ListItem], bool]:
        where = (V1, *_list_address(key), "items")
        params = [("$top", str(_LIGHT_PAGE)), *selected_fields.row(_LIGHT, plan.looked_at)]
        pushed = plan.pushed
        if pushed is not None and self._context.cache.unfilterable_lists.get(key) is None:
            try:
                return await self._context.pages.read_all(
                    where,
                    [*params, ("$filter", pushed.text)],
                    ODataPage[response_types.ListItem],
                    limit=MOST_ORDERED,
                    headers={} if pushed.indexed else odata_filters.HONOR,
                )
            except Refused as refusal:
                if refusal.status != 400:
                    raise
                self._context.cache.unfilterable_lists.put(key, value=True)
        return await self._context.pages.read_all(
            where, params, ODataPage[response_types.ListItem], limit=MOST_ORDERED
        )

    async def _read(
        self, key: ListKey, numbers: Sequence[str], plan: Plan, wanted: AbstractSet[str]
    ) -> dict[str, records.Row]:
        keys = [RowKey(*key, number) for number in numbers]
        found = await self.get_many(keys, wanted=wanted, selection=plan.selection)
        return {one.item: row for one, row in found.items() if isinstance(row, records.Row)}


def values(one: response_types.ListItem) -> Mapping[str, Any]:
    """Return an item's values as filters see them."""
    return {**(one.fields or {}), "id": one.id}


def _way(cursor: str | None) -> tuple[str, str | None]:
    if cursor is None:
        return "", None
    if cursor[:1] not in ("d", "s", "o"):
        raise InvalidCursor
    return cursor[0], cursor[1:]


def _marked(page: Page[records.Row], way: str) -> Page[records.Row]:
    return replace(
        page,
        cursors=tuple(way + place for place in page.cursors),
        next=None if page.next is None else way + page.next,
    )


def _resume(cursor: str | None, numbers: Sequence[str]) -> int:
    """Return where to go on in an order that may have changed since."""
    if cursor is None:
        return 0
    offset, colon, last = cursor.partition(":")
    if not colon or not (offset.isascii() and offset.isdigit()) or len(offset) > 6:
        raise InvalidCursor
    at = int(offset)
    if 0 < at <= len(numbers) and numbers[at - 1] == last:
        return at
    try:
        return numbers.index(last) + 1
    except ValueError:
        return min(at, len(numbers))


def _lost(count: int) -> tuple[str, ...]:
    return ("Some items could not be read.",) if count else ()


def _list_address(key: ListKey) -> tuple[str, ...]:
    return ("sites", key.site, "lists", key.list)


def _address(key: RowKey) -> tuple[str, ...]:
    return (*_list_address(key.of), "items", key.item)
