"""
Generated requests: fitting ones, large ones and wrong ones, of REST, management and GraphQL.

A generated body is wrong most of the time, and refused before it costs anything. So half of the
bodies are drawn from `_FITTING`: bodies that are accepted, as large as the limits allow.
"""

import base64
from collections.abc import Mapping
from typing import Any
from urllib.parse import quote

import graphql
import orjson
from hypothesis import strategies as st

from graph import schema
from graph.documents.operations import Graph
from rest_compat.binding import INPUT
from rest_compat.documents import document
from rest_compat.table import ENDPOINTS
from rest_compat.table import Endpoint as Row

GRAPH = Graph(schema.build())
MEBIBYTE = 1024 * 1024
# Bytes of a body; an upload may be longer, and is read and stored piece by piece.
LIMITS = {"json": 256 * 1024, "mail": 4 * MEBIBYTE, "upload": MEBIBYTE}
UNITS = [
    *"*a\"'()-:|,@/\\. <&;%\0\né\U0001f600",
    "a ", "a,", "a@b.example ", "a@b,", '"a" ', "a:b ", "(a ", "a) ", "a or ", "a and ", "not ",
    "a eq 1 and ", "a desc,", "<!--", "<a>", "&amp;", "2026-11-20", "-a ", "a*", "10", "[]", "{}",
]  # fmt: skip
WHOLE_NUMBERS = st.integers(-(2**63), 2**63)


def input_type(row: Row) -> graphql.GraphQLInputType | None:
    """Return the GraphQL type of a row's JSON body, or None."""
    if row.body == "upload":
        return None
    types = [
        graphql.type_from_ast(GRAPH.schema, variable.type)
        for definition in graphql.parse(document(row.document)).definitions
        if isinstance(definition, graphql.OperationDefinitionNode)
        for variable in definition.variable_definitions or ()
        if variable.variable.name.value == INPUT
    ]
    return types[0] if types else None


WITH_BODY = [row for row in ENDPOINTS if input_type(row) is not None]


def repeated(longest: int) -> st.SearchStrategy[str]:
    """Return texts of a start, a repeated unit and an end."""
    times = st.sampled_from([1, 20, 200, 498, 900, 2000, 8000, longest]) | st.integers(0, longest)
    return st.builds(
        lambda start, unit, count, end: (start + unit * (count // len(unit)) + end)[:longest],
        st.sampled_from(["", "a", '"', "(", "*", "<"]),
        st.sampled_from(UNITS),
        times,
        st.sampled_from(["", "~", '"', ")", "z"]),
    )


def json_values(longest: int) -> st.SearchStrategy[Any]:
    """Return wide, long and deep values, with texts of at most *longest* characters."""
    leaves = repeated(min(longest, 100_000)) | WHOLE_NUMBERS | st.none()
    many = st.sampled_from([1, 90, 100, 190, 200, 5000])
    wide = st.builds(lambda leaf, n: {f"a{at}": leaf for at in range(n)}, leaves, many)
    lists = st.builds(lambda leaf, n: [leaf] * n, leaves, many)
    deep = st.builds(lambda leaf, n: orjson.loads("[" * n + "1" + "]" * n), leaves, st.just(50))
    known = st.builds(
        lambda leaf, names: dict.fromkeys(names, leaf),
        leaves | wide | lists | deep,
        st.lists(st.sampled_from(["Title", "State", "name", "owner", "a"]), min_size=1),
    )
    return wide | lists | deep | known


def _values(kind: Any, longest: int) -> st.SearchStrategy[Any]:
    """Return JSON values for an input type: fitting ones, large ones, and wrong ones."""
    kind = graphql.get_nullable_type(kind)
    if graphql.is_list_type(kind):
        sizes = st.sampled_from([1, 49, 50, 499, 500, 501, 5000])
        return st.builds(lambda item, count: [item] * count, _values(kind.of_type, 300), sizes)
    if graphql.is_input_object_type(kind):
        members = {name: _values(field.type, longest) for name, field in kind.fields.items()}
        return st.fixed_dictionaries({}, optional=members)
    if graphql.is_enum_type(kind):
        return st.sampled_from([*kind.values, "x"])
    if kind.name == "JSON":
        return json_values(longest)
    return {"Boolean": st.booleans(), "Int": WHOLE_NUMBERS, "Long": WHOLE_NUMBERS}.get(
        kind.name, repeated(longest)
    )


# -- bodies that are accepted ---------------------------------------------------------------------


def _plain(longest: int) -> st.SearchStrategy[str]:
    """Return texts without control characters; none is blank."""
    units = [unit for unit in UNITS if unit.isprintable()]
    return st.builds(
        lambda unit, length: ("a" + unit * (length // len(unit)))[:longest],
        st.sampled_from(units),
        st.sampled_from([1, longest]) | st.integers(1, longest),
    )


def _participants(most: int) -> st.SearchStrategy[list[dict[str, str]]]:
    return st.builds(
        lambda count, name: [
            {"email": f"a{number}@b.example", "name": name} for number in range(count)
        ],
        st.sampled_from([1, most]) | st.integers(1, most),
        st.sampled_from(["", "Ana Müller", "\U0001f600" * 30, '"\\, ' * 20, "a" * 998]),
    )


def _attachments() -> st.SearchStrategy[list[dict[str, str]]]:
    return st.builds(
        lambda count, name: (
            [
                {
                    "name": name,
                    "contentBase64": base64.b64encode(b"a" * (2_900_000 // count)).decode(),
                }
            ]
            * count
        ),
        st.sampled_from([1, 50]),
        st.sampled_from(["a.txt", "é" * 255, '"; ' * 80]),
    )


def _texts() -> st.SearchStrategy[str]:
    """Return texts of mails, of at most 4,000,000 bytes as JSON."""
    return st.builds(
        lambda unit, share: unit * int(share * 4_000_000 / (len(orjson.dumps(unit)) - 2)),
        st.sampled_from([unit for unit in UNITS if unit != "\0"]),
        st.sampled_from([1e-6, 0.1, 1.0]),
    )


def _mail(**members: st.SearchStrategy[Any]) -> st.SearchStrategy[dict[str, Any]]:
    kind = {"bodyType": st.sampled_from(["text", "html"])}
    long = st.fixed_dictionaries({**members, "body": _texts()}, optional=kind)
    short = {**members, "body": st.just("<p>Hello</p>"), "attachments": _attachments()}
    return long | st.fixed_dictionaries(short, optional=kind)


def _columns(most: int) -> st.SearchStrategy[dict[str, Any]]:
    return st.builds(
        lambda text, count: {f"a{number}": text for number in range(count)},
        _plain(1000),
        st.sampled_from([1, most]),
    )


_TO = {"to": _participants(500)}
_FIELDS = st.fixed_dictionaries({"fields": st.fixed_dictionaries({"Title": _plain(255)})})
_ROLES = st.sampled_from(["reader", "writer"])
_FITTING: Mapping[str, st.SearchStrategy[dict[str, Any]]] = {
    "email/send_email": _mail(**_TO, subject=_plain(998)) | _mail(
        to=_participants(166), cc=_participants(166), bcc=_participants(166), subject=_plain(998)
    ),
    "email/reply_to_email": _mail(replyAll=st.booleans()),
    "email/forward_email": _mail(**_TO),
    "email/modify_email": st.fixed_dictionaries(
        {"markAsRead": st.booleans(), "addLabels": st.sampled_from([["Home"], ["Home"] * 50])}
    ),
    "tasks/create_task_item": st.fixed_dictionaries(
        {"name": _plain(255)}, optional={"fields": _columns(190)}
    ),
    "tasks/update_task_item": st.builds(
        lambda name, columns: {"fields": {"name": name, **columns}}, _plain(255), _columns(190)
    ),
    "tasks/add_task_comment": st.fixed_dictionaries({"body": _plain(20_000)}),
    "collab/create_folder": st.builds(
        lambda number, text: {"name": f"Folder {number}", "description": text},
        st.integers(0, 2**60), _plain(1000),
    ),
    "collab/rename_file": st.builds(
        lambda number: {"newName": f"{number}.pdf"}, st.integers(0, 2**60)
    ),
    "collab/share_file": st.fixed_dictionaries(
        {"type": st.just("user"), "role": _ROLES, "emailAddress": st.just("bob@x.example"),
         "message": _plain(2000)}
    ),
    "collab/update_file_permission": st.fixed_dictionaries({"role": _ROLES}),
    "collab/create_list_item": _FIELDS,
    "collab/update_list_item": _FIELDS,
}  # fmt: skip


def _body(row: Row) -> st.SearchStrategy[bytes]:
    limit = LIMITS[row.body]
    if row.body == "upload":
        return st.builds(
            lambda unit, size: unit * (size // len(unit)),
            st.sampled_from([b"a", b"\0", b"\r\n--", "é".encode()]),
            st.sampled_from([0, 100_000, limit]),
        )
    kind = input_type(row)
    if kind is None:
        return st.just(b"")
    anything = _values(kind, limit - 1000)
    fitting = _FITTING.get(row.document, anything)
    return (anything | fitting).map(lambda value: orjson.dumps(value)[: limit + 10])


# -- whole requests -------------------------------------------------------------------------------

_FITTING_PARAMETERS: Mapping[str, list[str]] = {
    "Int": ["1", "50", "1000"],
    "Boolean": ["true", "false"],
    "DateTime": ["2026-11-20", "2026-11-20T12:00:00+01:00"],
}
_REQUIRED = {"q": ["keel"], "email": ["home.example"], "fileName": ["a.txt", "b.pdf"]}


def _encoded(text: str, most: int, **options: str) -> str:
    return quote(text, errors="replace", **options)[:most].rsplit("%", 1)[0]


@st.composite
def requests(draw: st.DrawFn, row: Row) -> tuple[dict[str, str], str, dict[str, str], bytes]:
    """
    Draw (path parameters, query, headers, body) of a request to *row*.

    `{folderId}` in the query stands for the id of a folder.
    """
    types = {
        variable.name: str(graphql.get_nullable_type(variable.type))
        for variable in GRAPH.prepare(document(row.document)).variables
        if f"{{{variable.name}}}" not in row.path and variable.name != INPUT
    }
    query = {name: draw(st.sampled_from(_REQUIRED[name])) for name in types if name in _REQUIRED}
    for name in draw(st.lists(st.sampled_from([*types, "colour"]), max_size=3, unique=True)):
        fitting = _FITTING_PARAMETERS.get(types.get(name, ""))
        query[name] = draw(st.sampled_from(fitting) if fitting else repeated(8000))
    pairs = [f"{name}={_encoded(text, 24_000)}" for name, text in query.items()]
    if row.body == "upload" and "folderId" in types:
        pairs = ["folderId={folderId}", *(pair for pair in pairs if "folderId" not in pair)]
    if draw(st.sampled_from([False] * 9 + [True])):
        pairs += [f"x{number}=1" for number in range(draw(st.sampled_from([90, 99, 200])))]
    ids = {}
    for name in draw(st.sampled_from([[], [], [], ["emailId", "fileId", "siteId", "itemId"]])):
        ids[name] = _encoded(draw(repeated(2000)), 9000, safe="")
    headers = {}
    for name in draw(st.lists(st.sampled_from(["prefer", "if-match", "accept"]), max_size=1)):
        text = draw(repeated(8000)).encode("ascii", "replace").decode()
        headers[name] = "".join(char if " " <= char <= "~" else "?" for char in text)
    return ids, "&".join(pairs), headers, draw(_body(row))


_NAMES = st.sampled_from(
    ["name", "settings", "operatorId", "resourceIds", "email", "credentials", "rules", "ruleType",
     "pattern", "action", "path", "method", "query", "kind", "provider", "selectedSiteIds", "a"]
)  # fmt: skip


@st.composite
def management_bodies(draw: st.DrawFn) -> bytes:
    """Draw a JSON body of the management API."""
    leaves = json_values(5000) | repeated(100_000) | WHOLE_NUMBERS | st.none()
    values = leaves | st.dictionaries(_NAMES, leaves, max_size=4)
    body = draw(st.dictionaries(_NAMES, values, max_size=6))
    return orjson.dumps(body)[: LIMITS["json"]]


_SELECTIONS = [
    "id ", "emails{id} ", "emails{from{email}} ", "from{name} to{email} ", "hasMore ", "...A ",
    "...on Email{id} ", "#:id ", "#:__typename ", "...F# ", "id@include(if:true) ", "id(a:1) ",
    "__schema{types{name}} ", '#:__type(name:"Email"){fields{name}} ', "subject\n",
]  # fmt: skip
_FRAMES = [
    "{@}", "{emails{@}}", "{emails{emails{@}}}", "{accessToken{@}}", "{__schema{@}}",
    "query($a:Int){@}", "mutation{@}", "{emails{emails{@}}} fragment A on Email{id}",
]  # fmt: skip


@st.composite
def documents(draw: st.DrawFn) -> str:
    """Draw a GraphQL document, which need not be valid."""
    selections = "".join(
        "".join(selection.replace("#", f"a{number}") for number in range(count))
        for selection, count in draw(
            st.lists(
                st.tuples(st.sampled_from(_SELECTIONS), st.integers(1, 400)), min_size=1, max_size=3
            )
        )
    )
    text = draw(st.sampled_from(_FRAMES)).replace("@", selections)
    count = draw(st.sampled_from([0, 10, 50, 100, 218]))
    kind = draw(st.sampled_from(["Query", "Email", "EmailPage"]))
    below = draw(st.sampled_from(["id", "hasMore", "...F1", "emails{id}", "from{email name}"]))
    text += "".join(f" fragment Fa{number} on {kind}{{{below}}}" for number in range(count))
    return text[:60_000]
