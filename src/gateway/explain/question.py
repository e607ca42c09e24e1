"""Questions: a documented REST call, or a GraphQL document."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """
    A call of a documented REST path.

    Attributes:
        path: Percent-encoded, without the query.
        query: Percent-encoded, without the question mark.
        body: As it would be sent; may be empty for an upload.
    """

    method: str
    path: str
    query: str = ""
    body: bytes = b""


@dataclass(frozen=True, slots=True, kw_only=True)
class Document:
    """A request to /graphql."""

    text: str
    variables: Mapping[str, Any]
    operation: str | None = None


Question: TypeAlias = Call | Document
