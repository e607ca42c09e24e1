"""
OData query options: `$select`, `$expand`, `$filter`, `$orderby`, paging and counting.

`parse` reads `Options` and rejects what upstream rejects; `sort_records`, `select_members` and
`next_link` apply them to JSON records. Each workload decides which options it combines.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar
from urllib.parse import quote

from sandbox.provider_b.odata import filters
from sandbox.provider_b.odata.schema import Kind, QueryError, Record, Shape

R = TypeVar("R", bound=Record)
Pairs = Sequence[tuple[str, str]]

KNOWN = frozenset(
    ("$select", "$expand", "$filter", "$orderby", "$top", "$skip", "$count", "$search")
)
PAGING = frozenset(("$skiptoken", "$deltatoken", "$format"))
_ORDER = re.compile(r"^\s*([A-Za-z_][\w/]*)(?:\s+(asc|desc))?\s*$", re.ASCII)
_MEMBER = re.compile(r"^[A-Za-z_][\w./]*$", re.ASCII)


@dataclass(frozen=True, slots=True, kw_only=True)
class Order:
    """One term of `$orderby`."""

    path: str
    descending: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """
    The query options of a request; None and empty mean an absent option.

    Attributes:
        select: Property paths; a type cast (`microsoft.graph.fileAttachment/contentId`) is kept.
        expand: Navigation property to its nested options.
        filter: The parsed `$filter`.
        search: The text of `$search`.
        skip_token: The text of `$skiptoken`.
    """

    select: tuple[str, ...] = ()
    expand: Mapping[str, "Options"]
    filter: filters.Filter | None = None
    orderby: tuple[Order, ...] = ()
    top: int | None = None
    skip: int | None = None
    count: bool = False
    search: str | None = None
    skip_token: str | None = None


def parse(
    pairs: Iterable[tuple[str, str]],
    shape: Shape,
    *,
    expandable: Mapping[str, Shape],
    max_top: int | None = None,
) -> Options:
    """
    Parse the options of a request; names without ``$`` are custom parameters and ignored.

    Args:
        pairs: Names and values of the query.
        shape: The type of the records.
        expandable: The navigation properties that can be expanded, with their types.
        max_top: The largest `$top` allowed.

    Raises:
        QueryError: An option is unknown, repeated, malformed, or names an unknown property.
    """
    values = _by_name(pairs)
    return Options(
        select=_select(values.get("$select"), shape, expandable),
        expand=_expand(values.get("$expand"), shape, expandable),
        filter=filters.parse(values["$filter"], shape) if values.get("$filter") else None,
        orderby=_orderby(values.get("$orderby"), shape),
        top=_number("$top", values.get("$top"), most=max_top),
        skip=_number("$skip", values.get("$skip")),
        count=_flag("$count", values.get("$count")),
        search=values.get("$search"),
        skip_token=values.get("$skiptoken"),
    )


def filter_and_sort(records: Iterable[R], options: Options) -> list[R]:
    """Return the records that match the filter, in the order of `$orderby`."""
    matching = list(records)
    if options.filter is not None:
        matching = [record for record in matching if options.filter.matches(record)]
    return sort_records(matching, options.orderby)


def cut_page(records: Sequence[R], options: Options, *, top: int | None) -> Sequence[R]:
    """Return the page from `$skip` on; *top* is the size without `$top`, None for all."""
    start, size = options.skip or 0, top if options.top is None else options.top
    return records[start : None if size is None else start + size]


def sort_records(records: Iterable[R], orders: Sequence[Order]) -> list[R]:
    """Sort *records*; nulls are first when ascending, strings compare without case."""
    result = list(records)
    for order in reversed(orders):
        result.sort(key=_sort_key(order.path), reverse=order.descending)
    return result


def select_members(
    record: Mapping[str, Any], select: Sequence[str], *, always: Sequence[str] = ("id",)
) -> dict[str, Any]:
    """
    Keep the selected members of *record*, in the record's order.

    Annotations (``@odata.etag``) and the members in *always* are kept too. An empty selection
    keeps everything. A path selects its first member.
    """
    if not select or "*" in select:
        return dict(record)
    names = {_selected_member(path) for path in select} | set(always)
    return {key: value for key, value in record.items() if key in names or key.startswith("@")}


def next_link(url: str, pairs: Pairs, **replaced: str | int) -> str:
    """
    Return the link to the next page: *url* with the parameters, some of them replaced.

    Args:
        url: The absolute URL of the request, without its query.
        pairs: The parameters of the request.
        replaced: New values by option name without ``$``: ``skip=20``, ``skiptoken="…"``.
    """
    fresh = {f"${name}": str(value) for name, value in replaced.items()}
    parameters = [(name, value) for name, value in pairs if name.lower() not in fresh]
    parameters += fresh.items()
    query = "&".join(
        f"{quote(name, safe='$')}={quote(value, safe='')}" for name, value in parameters
    )
    return f"{url}?{query}"


def split(text: str, mark: str) -> Iterator[str]:
    """Split at *mark* outside of parentheses and quotes; the parts are stripped."""
    depth, quoted, start = 0, False, 0
    for at, letter in enumerate(text):
        if letter == "'":
            quoted = not quoted
        elif not quoted:
            depth += (letter == "(") - (letter == ")")
            if letter == mark and depth == 0:
                yield text[start:at].strip()
                start = at + 1
    yield text[start:].strip()


def _by_name(pairs: Iterable[tuple[str, str]]) -> dict[str, str]:
    values: dict[str, str] = {}
    for name, value in pairs:
        if not name.startswith("$"):
            continue
        option = name.lower()
        if option not in KNOWN and option not in PAGING:
            raise QueryError(f"The query parameter '{name}' is not supported.")
        if option in values:
            raise QueryError(
                f"Query option '{name}' was specified more than once, but it must be specified "
                "at most once."
            )
        values[option] = value
    return values


def _select(text: str | None, shape: Shape, expandable: Mapping[str, Shape]) -> tuple[str, ...]:
    if text is None:
        return ()
    names = tuple(split(text, ","))
    for name in names:
        if name == "*":
            continue
        if not _MEMBER.match(name):
            raise QueryError(f"Term '{text}' is not valid in a $select or $expand expression.")
        if name not in expandable and "." not in name:
            _check_path(name, shape)
    return names


def _expand(text: str | None, shape: Shape, expandable: Mapping[str, Shape]) -> dict[str, Options]:
    expansions: dict[str, Options] = {}
    for term in split(text, ",") if text else ():
        name, paren, rest = term.partition("(")
        name = name.strip()
        if name not in expandable:
            shape.member(name)
            raise QueryError(
                f"Property '{name}' on type '{shape.name}' is not a navigation property or "
                "complex property. Only navigation properties can be expanded."
            )
        if paren and not rest.endswith(")"):
            raise QueryError(f"Term '{term}' is not valid in a $select or $expand expression.")
        inner = [_pair(option) for option in split(rest[:-1], ";")] if rest[:-1].strip() else []
        inside = expandable[name]
        expansions[name] = parse(inner, inside, expandable=inside.parts)
    return expansions


def _pair(option: str) -> tuple[str, str]:
    name, equals, value = option.partition("=")
    if not equals:
        raise QueryError(f"Term '{option}' is not valid in a $select or $expand expression.")
    name = name.strip()
    return (name if name.startswith("$") else f"${name}"), value.strip()


def _orderby(text: str | None, shape: Shape) -> tuple[Order, ...]:
    if text is None:
        return ()
    return tuple(_order(term, shape) for term in split(text, ","))


def _order(term: str, shape: Shape) -> Order:
    match = _ORDER.match(term)
    if match is None:
        raise QueryError(f"Syntax error in the $orderby expression '{term}'.")
    _check_path(match[1], shape)
    return Order(path=match[1], descending=match[2] == "desc")


def _check_path(path: str, shape: Shape) -> None:
    at: Kind | Shape = shape
    for step in path.split("/"):
        if isinstance(at, Shape):
            at = at.member(step)
        elif at is not Kind.UNKNOWN:
            raise QueryError(f"Could not find a property named '{step}' on type '{at}'.")


def _number(name: str, text: str | None, *, most: int | None = None) -> int | None:
    if text is None:
        return None
    if not re.fullmatch(r"\d{1,9}", text, re.ASCII):
        raise QueryError(
            f"Invalid value '{text}' for {name} query option found. The {name} query option "
            "requires a non-negative integer value."
        )
    value = int(text)
    if most is not None and not 1 <= value <= most:
        raise QueryError(
            f"The limit of '{most}' for {name} query has been exceeded. The value from the "
            f"incoming request is '{value}'."
        )
    return value


def _flag(name: str, text: str | None) -> bool:
    if text is None:
        return False
    if text.lower() not in ("true", "false"):
        raise QueryError(
            f"Invalid value '{text}' for {name} query option found. Valid values are "
            "'true' or 'false'."
        )
    return text.lower() == "true"


def _selected_member(path: str) -> str:
    """Return the member that *path* selects: its first step that is no type cast."""
    steps = [step for step in path.split("/") if "." not in step]
    return steps[0] if steps else path


def _sort_key(path: str) -> Callable[[Record], tuple[bool, Any]]:
    first, *steps = path.split("/")

    def key(record: Record) -> tuple[bool, Any]:
        value = record.get(first)
        for step in steps:
            value = value.get(step) if isinstance(value, Mapping) else None
        if value is None:
            return False, ""
        return True, value.casefold() if isinstance(value, str) else value

    return key
