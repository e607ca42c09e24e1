"""
Filters and order of list items: indexed columns only, and no more rows than the threshold.

See docs/spec/upstream/microsoft-files.md#unindexed-columns and
docs/spec/upstream/microsoft-files.md#list-view-threshold.
The messages are those of upstream.
"""

import re
from collections.abc import Mapping, Sequence
from typing import Any

from sandbox.collab import records as r
from sandbox.collab.errors import invalid_request
from sandbox.collab.lists import columns, list_item_views
from sandbox.collab.requests import CollabCall
from sandbox.provider_b.odata import filters, query_options
from sandbox.provider_b.odata.filter_terms import read_instant
from sandbox.provider_b.odata.query_options import Options
from sandbox.provider_b.odata.schema import QueryError
from sandbox.provider_b.responses import GraphError

PREFER = "honornonindexedquerieswarningmayfailrandomly"
_COMPARED = re.compile(
    r"(fields/(\w+)\s+(?:eq|ne|lt|le|gt|ge)\s+)(?:'([^']*)'|(\d{4}-\d\d-\d\d[\w:.+-]*))"
)
_QUOTED = re.compile(r"'(?:[^']|'')*'")
_UNSUPPORTED = re.compile(
    r"(?:^|[\s(])(not|in)(?:[\s(]|$)|\b(contains|endswith|substringof|indexof)\s*\("
)
_COLUMNS_OF_MEMBERS = {"id": "ID", "createdDateTime": "Created", "lastModifiedDateTime": "Modified"}


def apply_query(
    call: CollabCall, site_list: r.SiteList, entries: Sequence[list_item_views.Entry]
) -> tuple[Sequence[list_item_views.Entry], Options]:
    """
    Apply `$filter` and `$orderby` of a call to list items.

    Raises:
        QueryError: An option is malformed or not supported.
        GraphError: A column is unknown or not indexed, or too many rows match.
    """
    options, row_filter = _options(call, site_list)
    paths = [
        *(row_filter.properties if row_filter else ()),
        *(order.path for order in options.orderby),
    ]
    if not paths:
        return entries, options
    _check_columns(call, site_list, paths)
    views = {id(entry): _view(call, site_list, entry) for entry in entries}
    if len(entries) > call.store.settings.threshold:
        _check_threshold(call, site_list, options, list(views.values()))
    matching = [
        entry for entry in entries if row_filter is None or row_filter.matches(views[id(entry)])
    ]
    for order in reversed(options.orderby):
        key = _sort_key(order.path)
        matching.sort(key=lambda entry: key(views[id(entry)]), reverse=order.descending)
    return matching, options


def _sort_key(path: str) -> Any:
    first, _, rest = path.partition("/")

    def key(view: Mapping[str, Any]) -> tuple[int, Any]:
        value = view[first].get(rest) if rest else view.get(first)
        if path == "id" or rest in ("id", "ID"):
            value = int(str(value))
        if value is None:
            return 0, ""
        if isinstance(value, (bool, int, float)):
            return 1, value
        return 2, str(value).casefold()

    return key


def _options(call: CollabCall, site_list: r.SiteList) -> tuple[Options, filters.Filter | None]:
    pairs = tuple(call.request.query)
    text = next((value for name, value in pairs if name.lower() == "$filter"), "")
    unquoted = _QUOTED.sub("''", text)
    unsupported = _UNSUPPORTED.search(unquoted)
    if unsupported is not None:
        raise QueryError(f"The operation '{unsupported[1] or unsupported[2]}' is not supported.")
    other_pairs = tuple((name, value) for name, value in pairs if name.lower() != "$filter")
    options = query_options.parse(
        other_pairs, list_item_views.SHAPE, expandable=list_item_views.EXPANDABLE, max_top=5000
    )
    if options.skip is not None:
        raise QueryError(
            "$skip is not supported on this API. Only URLs returned by the API can be used to page."
        )
    return options, filters.parse(
        _normalize_times(site_list, text), list_item_views.SHAPE
    ) if text.strip() else None


def _normalize_times(site_list: r.SiteList, text: str) -> str:
    """Convert the time literals of date columns to the stored format."""
    dates = {column.name for column in columns.all_columns(site_list) if column.kind == "dateTime"}

    def rewrite(match: re.Match[str]) -> str:
        literal = match[3] if match[3] is not None else match[4]
        if match[2] not in dates:
            return match[0]
        try:
            moment = read_instant(literal)
        except ValueError:
            raise QueryError(f"'{literal}' is not a valid date.") from None
        return f"{match[1]}'{moment.strftime('%Y-%m-%dT%H:%M:%SZ')}'"

    return _COMPARED.sub(rewrite, text)


def _check_columns(call: CollabCall, site_list: r.SiteList, paths: Sequence[str]) -> None:
    known = {column.name: column for column in columns.all_columns(site_list)}
    allows_unindexed = PREFER in call.request.headers.get("prefer", "").lower()
    for path in paths:
        name = _column_name(path)
        column = known.get(name) or known.get(name.removesuffix("LookupId"))
        if column is None:
            raise invalid_request(
                f"Column '{name}' does not exist. It may have been deleted by another user."
            )
        if not column.is_indexed and not allows_unindexed:
            raise invalid_request(
                f"Field '{name}' cannot be referenced in filter or orderby as it is not indexed. "
                "Provide the 'Prefer: HonorNonIndexedQueriesWarningMayFailRandomly' header to "
                "allow this, but be warned that such queries may fail on large lists."
            )


def _column_name(path: str) -> str:
    name = path.removeprefix("fields/")
    return _COLUMNS_OF_MEMBERS.get(name, name)


def _check_threshold(
    call: CollabCall, site_list: r.SiteList, options: Options, views: Sequence[Mapping[str, Any]]
) -> None:
    """Check that the first condition matches no more rows than the threshold."""
    indexed = {column.name for column in columns.all_columns(site_list) if column.is_indexed}
    text = next((value for name, value in call.request.query if name.lower() == "$filter"), "")
    if text.strip():
        first_condition = next(_conjuncts(text))
        clause = filters.parse(_normalize_times(site_list, first_condition), list_item_views.SHAPE)
        names = {_column_name(path).removesuffix("LookupId") for path in clause.properties}
        if names <= indexed:
            matches = sum(1 for view in views if clause.matches(view))
            if matches <= call.store.settings.threshold:
                return
    elif all(_column_name(order.path) in indexed for order in options.orderby):
        return
    status = call.store.settings.threshold_status
    raise GraphError(
        status,
        "activityLimitReached" if status == 429 else "invalidRequest",
        "The attempted operation is prohibited because it exceeds the list view threshold.",
        headers={"retry-after": "30"} if status == 429 else {},
    )


def _conjuncts(text: str) -> Any:
    """Split at top-level ``and``; a top-level ``or`` leaves the text whole."""
    depth, start, parts, quoted = 0, 0, [], False
    for position, character in enumerate(text):
        if character == "'":
            quoted = not quoted
        if quoted:
            continue
        depth += (character == "(") - (character == ")")
        if depth == 0 and text[position : position + 4] == " or ":
            return iter((text,))
        if depth == 0 and text[position : position + 5] == " and ":
            parts.append(text[start:position])
            start = position + 5
    return iter((*parts, text[start:]))


def _view(call: CollabCall, site_list: r.SiteList, entry: list_item_views.Entry) -> dict[str, Any]:
    fields = list_item_views.column_values(call.store, site_list, entry)
    return {
        "id": str(entry.number),
        "createdDateTime": entry.created,
        "lastModifiedDateTime": entry.modified,
        "fields": {**fields, "ID": entry.number},
    }
