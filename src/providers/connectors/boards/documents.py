"""
GraphQL documents for monday.com; they select only wanted fields.

Column values are selected by column id when some of them are hidden, else by type, else all:
docs/spec/upstream/monday.md#read-values.
"""

from collections.abc import Iterable, Mapping
from collections.abc import Set as AbstractSet
from types import MappingProxyType

from providers.item_visibility import DERIVED
from providers.ports.tasks import MAX_COMMENTS, ItemVisibility

_SETTINGS = "id title type settings_str archived"

# Attribute of `TaskBoard` -> selection.
_BOARD: Mapping[str, str] = MappingProxyType(
    {
        "name": "name",
        "description": "description",
        "workspace_id": "workspace_id",
        "workspace_name": "workspace{name}",
        "folder_id": "board_folder_id",
        "folder_name": "folder{name}",
        "web_url": "url",
        "groups": "groups{id title color archived deleted}",
        "columns": f"columns{{{_SETTINGS}}}",
        "tags": "tags{id name color}",
    }
)
# Attribute of `TaskItem` -> selection.
_ITEM: Mapping[str, str] = MappingProxyType(
    {"name": "name", "created_at": "created_at", "updated_at": "updated_at", "web_url": "url"}
)
# Derived field -> types of its source columns.
_TYPES: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "status": ("status",),
        "priority": ("status",),
        "assignees": ("people", "person", "team"),
        "due_date": ("date", "timeline"),
        "labels": ("tags", "dropdown"),
        "description": ("long_text",),
    }
)

BOARD_COLUMNS = f"query($b:[ID!]){{boards(ids:$b,limit:1,state:all){{id columns{{{_SETTINGS}}}}}}}"
# The same, and the users with an address.
BOARD_COLUMNS_AND_USERS = (
    "query($b:[ID!],$e:[String!]){boards(ids:$b,limit:1,state:all){id "
    f"columns{{{_SETTINGS}}}}} users(emails:$e){{id}}}}"
)
USER_NAMES = "query($u:[ID!],$n:Int){users(ids:$u,limit:$n){id name}}"
USERS = "query($u:[ID!],$n:Int){users(ids:$u,limit:$n){id email}}"
TARGET = (
    "query($i:[ID!],$n:Int){items(ids:$i,limit:$n){id state "
    f"board{{id columns{{{_SETTINGS}}}}} parent_item{{id board{{id}}}}}}}}"
)
PLACE = (
    "query($i:[ID!],$n:Int){items(ids:$i,limit:$n){id state board{id} parent_item{id board{id}}}}"
)
PROBE = "query{boards(limit:1){id}}"
CREATE = (
    "mutation($b:ID!,$g:String,$n:String!,$v:JSON){create_item(board_id:$b,group_id:$g,"
    "item_name:$n,column_values:$v,create_labels_if_missing:false){id}}"
)
CHANGE = (
    "mutation($b:ID!,$i:ID,$v:JSON!)"
    "{change_multiple_column_values(board_id:$b,item_id:$i,column_values:$v){id}}"
)
DELETE = "mutation($i:ID){delete_item(item_id:$i){id}}"
COMMENT = "mutation($i:ID,$t:String!){create_update(item_id:$i,body:$t){id}}"


def boards(projection: AbstractSet[str]) -> str:
    """Return the query for a page of boards; variables n, p, s (State)."""
    return (
        "query($n:Int,$p:Int,$s:State){boards(limit:$n,page:$p,state:$s,order_by:created_at)"
        f"{{{_board(projection)}}}}}"
    )


def boards_by_id(projection: AbstractSet[str]) -> str:
    """Return the query for boards by id; variables b, n."""
    return f"query($b:[ID!],$n:Int){{boards(ids:$b,limit:$n,state:all){{{_board(projection)}}}}}"


def first_page(values: "ColumnValueSelection", visibility: ItemVisibility, *, count: bool) -> str:
    """Return the query for the first page of items; variables b, n, q, and those of *values*."""
    total = " items_count" if count else ""
    return (
        f"query($b:[ID!],$n:Int!,$q:ItemsQuery{values.declared}){{boards(ids:$b,limit:1,state:all)"
        f"{{id state type{total} items_page(limit:$n,query_params:$q)"
        f"{{cursor items{{{_item(values, visibility, single=False)}}}}}}}}}"
    )


def next_page(values: "ColumnValueSelection", visibility: ItemVisibility, *, count: bool) -> str:
    """Return the query for the page of a cursor; variables c, n, with *count* also b."""
    total, declared = "", ""
    if count:
        total, declared = " boards(ids:$b,limit:1,state:all){id items_count}", ",$b:[ID!]"
    return (
        f"query($c:String!,$n:Int!{declared}{values.declared}){{next_items_page(cursor:$c,limit:$n)"
        f"{{cursor items{{{_item(values, visibility, single=False)}}}}}{total}}}"
    )


FIRST_IDS = (
    "query($b:[ID!],$n:Int!,$q:ItemsQuery){boards(ids:$b,limit:1,state:all)"
    "{id items_page(limit:$n,query_params:$q){cursor items{id}}}}"
)
NEXT_IDS = "query($c:String!,$n:Int!){next_items_page(cursor:$c,limit:$n){cursor items{id}}}"


def items_by_id(values: "ColumnValueSelection", visibility: ItemVisibility) -> str:
    """Return the query for items by id; variables i, n, and those of *values*."""
    return (
        f"query($i:[ID!],$n:Int{values.declared}){{items(ids:$i,limit:$n)"
        f"{{{_item(values, visibility, single=True)}}}}}"
    )


def changes(count: int) -> str:
    """Return the mutation that sets columns one by one as a0, a1 …; variables b, i, v0, v1 …"""
    declared = "".join(f",$v{number}:JSON!" for number in range(count))
    calls = " ".join(
        f"a{number}:change_multiple_column_values(board_id:$b,item_id:$i,column_values:$v{number})"
        "{id}"
        for number in range(count)
    )
    return f"mutation($b:ID!,$i:ID{declared}){{{calls}}}"


class ColumnValueSelection:
    """
    Selection of the column values of items and of their sub-items.

    Attributes:
        declared: Declarations of its variables, for the head of the document.
        variables: Values of those variables.
        own: Selection within an item.
        below: Selection within a sub-item.
    """

    def __init__(
        self,
        visibility: ItemVisibility,
        *,
        own: Iterable[str] | None = None,
        below: Iterable[str] | None = None,
    ) -> None:
        """*own* and *below* are the ids of the visible columns; None: all."""
        self.variables: dict[str, object] = {}
        self.declared = ""
        self._visibility = visibility
        self.own = self._select("o", own)
        self.below = self._select("u", below) if "sub_items" in visibility.projection else ""

    def _select(self, variable: str, ids: Iterable[str] | None) -> str:
        every_type = "column_values" in self._visibility.projection
        types = {name for field in self._visibility.projection & DERIVED for name in _TYPES[field]}
        if not every_type and not types:
            return ""
        arguments = []
        if ids is not None:
            self.declared += f",${variable}:[String!]"
            self.variables[variable] = list(ids)
            arguments.append(f"ids:${variable}")
        if not every_type:
            arguments.append(f"types:[{','.join(sorted(types))}]")
        restriction = f"({','.join(arguments)})" if arguments else ""
        return f" column_values{restriction}{{{self._value_fields()}}}"

    def _value_fields(self) -> str:
        fields = (
            "id type text value column{id title type}"
            " ...on DropdownValue{values{label}} ...on TagsValue{tags{name}}"
        )
        if "column_values" not in self._visibility.projection:
            return fields
        fields += " ...on FormulaValue{display_value}"
        if self._visibility.boards is None:  # these columns show values of other boards
            fields += (
                " ...on MirrorValue{display_value} ...on BoardRelationValue{display_value}"
                " ...on DependencyValue{display_value}"
            )
        return fields


def _board(projection: AbstractSet[str]) -> str:
    return " ".join(
        ["id state type", *(text for name, text in _BOARD.items() if name in projection)]
    )


def _item(values: ColumnValueSelection, visibility: ItemVisibility, *, single: bool) -> str:
    fields = _own_fields(visibility.projection) + values.own
    if single:
        fields += " board{id} parent_item{id board{id}}"
        if "comments" in visibility.projection:
            fields += (
                f" updates(limit:{MAX_COMMENTS}){{id body text_body created_at creator{{id name}}}}"
            )
    if "sub_items" in visibility.projection:
        fields += f" subitems{{{_own_fields(visibility.projection)}{values.below}}}"
    return fields


def _own_fields(projection: AbstractSet[str]) -> str:
    fields = ["id state", *(text for name, text in _ITEM.items() if name in projection)]
    if projection & {"group_id", "group_name"}:
        fields.append("group{id title}" if "group_name" in projection else "group{id}")
    return " ".join(fields)
