"""One saved document, and the conventions that bind its variables to a call."""

import re
from collections.abc import Iterator, Sequence
from types import MappingProxyType

import graphql
import msgspec

from graph.documents.operation import Variable
from graph.documents.saved_operation import SavedOperation
from rest_compat.binding import INPUT
from rest_compat.table import NOTHING, Endpoint, RateBucket

PREFIX = "/api/saved"
MAX_PATH = 200  # characters; docs/spec/limits.md#sizes
MAX_SEGMENTS = 8  # after the prefix; docs/spec/limits.md#sizes

_LITERAL = re.compile(r"[A-Za-z0-9._~-]+")
_PARAMETER = re.compile(r"\{[_A-Za-z][_0-9A-Za-z]*\}")
IF_MATCH = MappingProxyType({"if-match": "ifMatch"})


class SavedDocument(msgspec.Struct, frozen=True, kw_only=True):
    """
    A saved document without its text.

    Attributes:
        path: From the root, parameters in braces: "/api/saved/mail/{emailId}".
        status: Of a success.
        digest: SHA-256 of the text, in hexadecimal digits.
    """

    id: int
    name: str
    method: str
    path: str
    status: int
    digest: str


def path_parameters(path: str) -> list[str]:
    """Return the names of the parameters of a path, in order."""
    return [segment[1:-1] for segment in path.split("/") if segment.startswith("{")]


def path_problem(path: str) -> str | None:
    """Return what is wrong with *path*, as the end of a sentence; None: nothing is."""
    if not path.startswith(f"{PREFIX}/") or len(path) > MAX_PATH:
        return f"must start with {PREFIX}/ and have at most {MAX_PATH} characters"
    segments = path.removeprefix(f"{PREFIX}/").split("/")
    if len(segments) > MAX_SEGMENTS:
        return f"must have at most {MAX_SEGMENTS} segments after {PREFIX}"
    for segment in segments:
        is_name = _LITERAL.fullmatch(segment) and segment.strip(".")
        if not is_name and not _PARAMETER.fullmatch(segment):
            return "must have segments of letters, digits and ._~-, or a variable in braces"
    parameters = path_parameters(path)
    if len(set(parameters)) < len(parameters):
        return "must name each variable once"
    return None


def binding_problems(
    method: str, path: str, kind: str, variables: Sequence[Variable]
) -> Iterator[tuple[str, str]]:
    """
    Yield the members that do not fit a document of *kind* with *variables*, and why.

    The variables are bound as those of the documented calls: the path, the header `If-Match` and
    the query fill the variable of the same name, a JSON body fills `$input`.
    """
    if (kind == "query") != (method == "GET"):
        expected = "GET" if kind == "query" else "POST, PATCH or DELETE"
        yield "method", f"must be {expected}, because the document is a {kind}"
    by_name = {variable.name: variable for variable in variables}
    for name in path_parameters(path):
        if name not in by_name or name == INPUT:
            yield "path", f"names {{{name}}}, which is not a variable that a path can fill"
    if method == "GET" and INPUT in by_name:
        yield "document", "has the variable $input, which a GET without a body cannot fill"
    for variable in variables:
        if variable.name != INPUT and not _is_leaf(variable.type):
            yield "document", f"has the variable ${variable.name}, whose type a text cannot fill"


def _is_leaf(type_: graphql.GraphQLInputType) -> bool:
    return graphql.is_leaf_type(graphql.get_nullable_type(type_))


def endpoint_of(
    document: SavedDocument, operation: SavedOperation, row: Endpoint | None
) -> Endpoint:
    """
    Return the call of *document* as a row of the table.

    *row* is the documented call with the same root field, whose body it takes.
    """
    names = {variable.name for variable in operation.variables}
    charges = operation.charges
    windows = next(iter(charges))
    return Endpoint(
        method=document.method,
        path=document.path,
        prefix=PREFIX,
        document=document.name,
        surface=operation.surface,
        bucket=RateBucket(windows=windows, costs=tuple(charges.items())),
        status=document.status,
        headers=IF_MATCH if "ifMatch" in names else NOTHING,
        body="mail" if row is not None and row.body == "mail" else "json",
    )
