"""The body of an explain request, parsed into a question: a REST call, or a GraphQL document."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, TypeAlias
from urllib.parse import urlencode

import orjson
from pydantic import Field, ValidationError, ValidatorFunctionWrapHandler, WrapValidator

from gateway.operations.inputs import Input
from gateway.operations.validation import invalid

METHODS = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS")
PATHS = ("/api/access/", "/api/saved/", "/internal/api/access/")
MAX_PATH = 8192
MAX_DIGEST = 255
Scalar = str | bool | int | float
Query = str | dict[str, Scalar | list[Scalar] | None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """
    A call of a documented REST path.

    Attributes:
        path: Percent-encoded, without the query.
        query: Percent-encoded, without the question mark.
        body: As it would be sent; may be empty for an upload.
        dry_run, expected_effect: See docs/spec/dry-run.md.
    """

    method: str
    path: str
    query: str = ""
    body: bytes = b""
    dry_run: bool = False
    expected_effect: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Document:
    """A request to /graphql."""

    text: str
    variables: Mapping[str, Any]
    operation: str | None = None
    dry_run: bool = False
    expected_effect: str | None = None


Question: TypeAlias = Call | Document


def _one_error(value: object, read: ValidatorFunctionWrapHandler) -> Query | None:
    """Validate a query; one error instead of one for each alternative of the union."""
    try:
        query: Query | None = read(value)
    except ValidationError:
        raise ValueError("must be a text, or an object of texts, numbers and booleans") from None
    return query


class ExplainRequest(Input):
    """A call (`method`, `path`, …), or a document (`document`, `variables`)."""

    method: str | None = None
    path: Annotated[str, Field(max_length=MAX_PATH)] | None = None
    query: Annotated[Query | None, WrapValidator(_one_error)] = None
    body: Any = None
    document: str | None = None
    variables: dict[str, Any] = Field(default_factory=dict)
    operation_name: str | None = None
    address: Annotated[str, Field(max_length=64)] | None = None
    dry_run: bool = False
    if_effect: Annotated[str, Field(max_length=MAX_DIGEST)] | None = None

    def question(self) -> Question:
        """
        Return the call or the document.

        Raises:
            InvalidInput: `VALIDATION_ERROR`: it is neither a call nor a document, or both.
        """
        is_call = self.method is not None or self.path is not None
        if is_call == (self.document is not None):
            raise invalid("$", "must have either method and path, or a document")
        if self.document is not None:
            return Document(
                text=self.document,
                variables=self.variables,
                operation=self.operation_name,
                dry_run=self.dry_run,
                expected_effect=self.if_effect,
            )
        if self.method is None or self.method.upper() not in METHODS:
            raise invalid("method", f"must be one of {', '.join(METHODS)}")
        path, _, query = (self.path or "").partition("?")
        if not path.startswith(PATHS) or not path.isascii():
            raise invalid("path", f"must be percent-encoded and start with {PATHS[0]}")
        return Call(
            method=self.method.upper(),
            path=path,
            query="&".join(filter(None, (query, _encoded(self.query)))),
            body=b"" if self.body is None else orjson.dumps(self.body),
            dry_run=self.dry_run,
            expected_effect=self.if_effect,
        )


def _encoded(query: Query | None) -> str:
    if query is None or isinstance(query, str):
        return query or ""
    pairs = [
        (name, _text(item))
        for name, value in query.items()
        for item in (value if isinstance(value, list) else [value])
        if item is not None
    ]
    return urlencode(pairs)


def _text(value: Scalar) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
