"""
Pages of list items of one connection; docs/spec/collab.md#list-items.

The first letter of a cursor names one of three strategies:

    d  direct: upstream's pages, filtered by upstream as far as it can, and checked again here
    s  scan: upstream's pages with the filter's columns alone; items that pass are read by id
    o  order: the columns that order the whole list, sorted here; one page of it is read by id

Direct is enough unless items are ordered by a column, or upstream refuses the filter.
"""

from collections.abc import Collection, Mapping, Sequence
from collections.abc import Set as AbstractSet
from contextlib import suppress
from dataclasses import dataclass
from types import MappingProxyType

from msgspec.structs import replace

from providers.collab_ids import ListItemKey, ListKey, is_number
from providers.connectors.collab import batch, connection_context, response_types, selected_fields
from providers.connectors.collab.batch import BatchRequest
from providers.connectors.collab.files.sites_and_libraries import SiteReader
from providers.connectors.collab.lists import item_cursors, item_filters, item_order, odata_filters
from providers.connectors.collab.lists.item_filters import FilterColumn, Node
from providers.connectors.collab.lists.item_order import ColumnOrder
from providers.connectors.collab.lists.lists import ListReader
from providers.connectors.collab.lists.odata_filters import UpstreamFilter
from providers.connectors.collab.mapping import list_item as to_item
from providers.connectors.collab.paging import ODataPage
from providers.content.field_selection import ALL_FIELDS, FieldSelection, select_fields
from providers.failures import Missing, Refused, Throttled
from providers.ports.collab import InvalidCursor, InvalidFilter, ListItemQuery, Page
from providers.records import collab as records
from providers.records.collab import UNKNOWN, Unknown

MAX_ORDERED = 20_000  # items that are sorted here
MAX_SCANNED_PAGES = 5  # upstream pages for one page; docs/spec/paging.md#page-filling
_SCAN_PAGE = 2000
_MIN_PAGE = 20  # items per upstream page, so that enough of them pass a filter by rules
_ID = frozenset({"id"})
_NOTHING: frozenset[str] = frozenset()
_NOTHING_HIDDEN: Mapping[ListKey, AbstractSet[str]] = MappingProxyType({})


@dataclass(frozen=True, slots=True, kw_only=True)
class QueryPlan:
    """
    A query, resolved against the list's columns.

    Attributes:
        columns: Empty when the query names none.
        upstream_filter: The part of *filter* that upstream evaluates; None: nothing.
        selection: The values that `fields` shall have.
    """

    columns: Mapping[str, FilterColumn]
    filter: Node | None
    upstream_filter: UpstreamFilter | None
    orders: tuple[ColumnOrder, ...]
    selection: FieldSelection
    limit: int

    @property
    def evaluated_keys(self) -> tuple[str, ...]:
        """The keys of `fields` that filter and order need."""
        names = [*(item_filters.columns_of(self.filter) if self.filter else ())]
        names += [order.column for order in self.orders]
        keys = [self.columns[name].key for name in names]
        return tuple(dict.fromkeys(key for key in keys if key != "id"))

    def passes(self, item: response_types.ListItem) -> bool:
        """Return whether an item has a well-formed id and passes the filter."""
        if not is_number(item.id):
            return False
        values = {**(item.fields or {}), "id": item.id}
        return self.filter is None or item_filters.matches(self.filter, values, self.columns)

    def warnings(self) -> tuple[str, ...]:
        """Return the warning that names the columns of the filter without an index."""
        names = dict.fromkeys(item_filters.columns_of(self.filter)) if self.filter else ()
        unindexed = ", ".join(name for name in names if not self.columns[name].indexed)
        if not unindexed:
            return ()
        return (f"The filter uses columns without an index, which may be slow: {unindexed}.",)


class ListItemReader:
    """Reads list items."""

    def __init__(
        self, context: connection_context.ConnectionContext, sites: SiteReader, lists: ListReader
    ) -> None:
        self._context = context
        self._sites = sites
        self._lists = lists

    async def page(
        self,
        key: ListKey,
        query: ListItemQuery,
        *,
        cursor: str | None,
        projection: AbstractSet[str],
    ) -> Page[records.ListItem]:
        """
        Return a page of a list's items that pass the filter; it may be empty with a *next*.

        Raises:
            InvalidFilter: Filter, order or selection are not of this list.
            InvalidCursor: *cursor* is not of this listing.
        """
        self._sites.admit_site(key.site)
        plan = await self._plan(key, query, projection)
        strategy, position = item_cursors.split_cursor(cursor)
        try:
            if plan.orders:
                if strategy not in ("", "o"):
                    raise InvalidCursor
                page = await self._ordered_page(key, plan, position, projection)
            elif strategy == "s" or (strategy != "d" and self._must_scan(key, plan)):
                page = await self._scanned_page(key, plan, position, projection)
            else:
                page = await self._direct_page(key, plan, position, projection)
        except Refused as refusal:
            raise connection_context.translate_refused_read(refusal) from refusal
        return replace(page, warnings=(*plan.warnings(), *page.warnings))

    async def get(
        self, key: ListItemKey, *, projection: AbstractSet[str], hidden: AbstractSet[str] = _NOTHING
    ) -> records.ListItem:
        """Read one list item; *hidden* as in `ListItemQuery`."""
        self._sites.admit_site(key.site)
        selection = await self.field_selection(key.of, projection, hidden)
        params = selected_fields.list_item(frozenset(projection), selection.requested)
        item = await self._context.read(response_types.ListItem, *_address(key), params=params)
        if item.id != key.item:
            raise Missing
        return to_item(item, key.of, projection, selection=selection)

    async def get_many(
        self,
        keys: Collection[ListItemKey],
        *,
        projection: AbstractSet[str],
        hidden: Mapping[ListKey, AbstractSet[str]] = _NOTHING_HIDDEN,
        selections: Mapping[ListKey, FieldSelection] | None = None,
    ) -> Mapping[ListItemKey, records.ListItem | Unknown | None]:
        """
        Read list items by their ids, in batches.

        *hidden* as in `ListItemQuery`, by list; *selections* are the values to request instead.
        """
        if selections is None:
            selections = await self._selections(keys, projection, hidden)
        requests = {
            key: BatchRequest(
                _address(key),
                selected_fields.list_item(frozenset(projection), selections[key.of].requested),
            )
            for key in dict.fromkeys(keys)
            if key.of in selections
        }
        items: dict[ListItemKey, records.ListItem | Unknown | None] = dict.fromkeys(keys)
        for key, response in (await batch.read_all(self._context.upstream, requests)).items():
            failure = connection_context.batched_read_failure(response)
            if failure is not None:
                items[key] = None if isinstance(failure, Missing) else UNKNOWN
                continue
            item = response.decode(response_types.ListItem)
            if item.id == key.item:
                items[key] = to_item(item, key.of, projection, selection=selections[key.of])
        return items

    async def _selections(
        self,
        keys: Collection[ListItemKey],
        projection: AbstractSet[str],
        hidden: Mapping[ListKey, AbstractSet[str]],
    ) -> Mapping[ListKey, FieldSelection]:
        """Return the values to request, by list; lists that are surely not seen are left out."""
        selections: dict[ListKey, FieldSelection] = {}
        for key in dict.fromkeys(key.of for key in keys if self._sites.sees(key.site)):
            with suppress(Missing):
                selections[key] = await self.field_selection(
                    key, projection, hidden.get(key, _NOTHING)
                )
        return selections

    async def field_selection(
        self,
        key: ListKey,
        projection: AbstractSet[str],
        hidden: AbstractSet[str],
        select: tuple[str, ...] | None = None,
    ) -> FieldSelection:
        """Return the values to request of a list's items; *select* None: all."""
        if "fields" not in projection or (not hidden and select is None):
            return ALL_FIELDS
        if not hidden:
            return FieldSelection(select, ())
        return select_fields(await self._lists.columns(key), hidden, select)

    async def _plan(
        self, key: ListKey, query: ListItemQuery, projection: AbstractSet[str]
    ) -> QueryPlan:
        """
        Resolve a query against the columns, which are read only when it names some.

        Raises:
            InvalidFilter: It does not fit the columns.
        """
        names_columns = any(
            part is not None for part in (query.filter, query.order_by, query.select)
        )
        columns = (
            item_filters.filter_columns(await self._lists.columns(key)) if names_columns else {}
        )
        for name in query.select or ():
            if name not in columns:
                raise InvalidFilter("The selection names a column that the list does not have.")
        node = None if query.filter is None else item_filters.parse(query.filter, columns)
        return QueryPlan(
            columns=columns,
            filter=node,
            upstream_filter=None if node is None else odata_filters.to_upstream(node, columns),
            orders=item_order.parse(query.order_by, columns),
            selection=await self.field_selection(key, projection, query.hidden, query.select),
            limit=query.limit,
        )

    def _must_scan(self, key: ListKey, plan: QueryPlan) -> bool:
        return plan.filter is not None and (
            plan.upstream_filter is None or self._is_unfilterable(key)
        )

    def _is_unfilterable(self, key: ListKey) -> bool:
        return self._context.cache.unfilterable_lists.get(key) is not None

    def _remember_unfilterable(self, key: ListKey) -> None:
        self._context.cache.unfilterable_lists.put(key, value=True)

    # -- direct

    async def _direct_page(
        self, key: ListKey, plan: QueryPlan, cursor: str | None, projection: AbstractSet[str]
    ) -> Page[records.ListItem]:
        columns: tuple[str, ...] | None = plan.evaluated_keys
        if "fields" in projection:
            requested = plan.selection.requested
            columns = None if requested is None else (*requested, *plan.evaluated_keys)
        params = [
            ("$top", str(max(plan.limit, _MIN_PAGE))),
            *selected_fields.list_item(frozenset(projection), columns),
        ]
        upstream_filter = plan.upstream_filter
        if upstream_filter is not None:
            params.append(("$filter", upstream_filter.text))

        def to_record(item: response_types.ListItem) -> records.ListItem | None:
            if not plan.passes(item):
                return None
            return to_item(item, key, projection, selection=plan.selection)

        try:
            page = await self._context.pages.page(
                (connection_context.V1, *_list_address(key), "items"),
                params,
                ODataPage[response_types.ListItem],
                cursor=cursor,
                to_record=to_record,
                headers=_headers(upstream_filter),
            )
        except (Refused, InvalidCursor) as refusal:
            if upstream_filter is None or cursor is not None:
                raise
            if isinstance(refusal, Refused) and refusal.status != 400:
                raise
            self._remember_unfilterable(key)
            return await self._scanned_page(key, plan, None, projection)
        except Throttled:
            # Too many matching items may be the reason:
            # docs/spec/upstream/microsoft-files.md#list-view-threshold
            if upstream_filter is not None:
                self._remember_unfilterable(key)
            raise
        return item_cursors.with_strategy(page, "d")

    # -- scan

    async def _scanned_page(
        self, key: ListKey, plan: QueryPlan, cursor: str | None, projection: AbstractSet[str]
    ) -> Page[records.ListItem]:
        """Scan the list until enough items pass, then read these."""
        params = [("$top", str(_SCAN_PAGE)), *selected_fields.list_item(_ID, plan.evaluated_keys)]
        passing: list[tuple[str, str]] = []
        end, pages, more = cursor, 0, True
        while more and pages < MAX_SCANNED_PAGES and len(passing) < plan.limit:
            page = await self._context.pages.page(
                (connection_context.V1, *_list_address(key), "items"),
                params,
                ODataPage[response_types.ListItem],
                cursor=end,
                to_record=lambda item: item.id if plan.passes(item) else None,
            )
            passing += zip(page.items, page.cursors, strict=True)
            pages += 1
            end, more = page.next, page.next is not None
        if len(passing) > plan.limit:
            passing = passing[: plan.limit]
            end = passing[-1][1]
        items = await self._read(key, [number for number, _ in passing], plan, projection)
        read = [(items[number], position) for number, position in passing if number in items]
        read_page = Page(
            items=tuple(record for record, _ in read),
            cursors=tuple(position for _, position in read),
            next=end,
            upstream_pages=pages,
            warnings=_unread_warning(len(passing) - len(read)),
        )
        return item_cursors.with_strategy(read_page, "s")

    # -- order

    async def _ordered_page(
        self, key: ListKey, plan: QueryPlan, cursor: str | None, projection: AbstractSet[str]
    ) -> Page[records.ListItem]:
        """Sort the whole list here, and read one page of it."""
        scanned, complete = await self._read_list(key, plan)
        ordered = item_order.sort(filter(plan.passes, scanned), plan.orders, plan.columns)
        numbers = [item.id for item in ordered]
        start = item_cursors.resume(cursor, numbers)
        chosen = numbers[start : start + plan.limit]
        items = await self._read(key, chosen, plan, projection)
        numbered = enumerate(chosen, start + 1)
        read = [(items[number], position) for position, number in numbered if number in items]
        end = start + len(chosen)
        warnings = () if complete else (f"Only the first {MAX_ORDERED} items were ordered.",)
        return Page(
            items=tuple(item for item, _ in read),
            cursors=tuple(f"o{position}:{item.number}" for item, position in read),
            next=f"o{end}:{numbers[end - 1]}" if end < len(numbers) else None,
            warnings=(*warnings, *_unread_warning(len(chosen) - len(read))),
        )

    async def _read_list(
        self, key: ListKey, plan: QueryPlan
    ) -> tuple[list[response_types.ListItem], bool]:
        address = (connection_context.V1, *_list_address(key), "items")
        params = [("$top", str(_SCAN_PAGE)), *selected_fields.list_item(_ID, plan.evaluated_keys)]
        upstream_filter = plan.upstream_filter
        if upstream_filter is not None and not self._is_unfilterable(key):
            try:
                return await self._context.pages.read_all(
                    address,
                    [*params, ("$filter", upstream_filter.text)],
                    ODataPage[response_types.ListItem],
                    limit=MAX_ORDERED,
                    headers=_headers(upstream_filter),
                )
            except Refused as refusal:
                if refusal.status != 400:
                    raise
                self._remember_unfilterable(key)
        return await self._context.pages.read_all(
            address, params, ODataPage[response_types.ListItem], limit=MAX_ORDERED
        )

    async def _read(
        self, key: ListKey, numbers: Sequence[str], plan: QueryPlan, projection: AbstractSet[str]
    ) -> dict[str, records.ListItem]:
        """Read items by their ids in the list; those that cannot be read are left out."""
        keys = [ListItemKey(*key, number) for number in numbers]
        items = await self.get_many(keys, projection=projection, selections={key: plan.selection})
        return {of.item: item for of, item in items.items() if isinstance(item, records.ListItem)}


def _headers(upstream_filter: UpstreamFilter | None) -> Mapping[str, str]:
    if upstream_filter is None or upstream_filter.indexed:
        return {}
    return odata_filters.ALLOW_UNINDEXED


def _unread_warning(count: int) -> tuple[str, ...]:
    return ("Some items could not be read.",) if count else ()


def _list_address(key: ListKey) -> tuple[str, ...]:
    return ("sites", key.site, "lists", key.list)


def _address(key: ListItemKey) -> tuple[str, ...]:
    return (*_list_address(key.of), "items", key.item)
