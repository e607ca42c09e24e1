"""What is asked about: a documented call, or a document."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """
    A call of a documented path.

    Attributes:
        path: Percent-encoded, without the query.
        query: As it stands behind the question mark.
        body: As it would be sent; of an upload nothing is needed.
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
