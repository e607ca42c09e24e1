"""
Readers of request bodies: JSON into `$input` for nearly every row, others by name.

A reader first receives the body (after the gates, before the ledger); the body is parsed when its
value is needed. So a replay never parses, and a streamed body can pass itself on as a handle.
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Protocol

import msgspec

from graph.documents.operation import Variable
from rest_compat.body import MAX_BODY, parse, read_body
from rest_compat.inputs import coerce_input
from rest_compat.request import RestRequest
from rest_compat.uploads import UploadReader


class Body(Protocol):
    """
    A request body that was received.

    Attributes:
        fingerprint: Equal for equal bodies: the bytes, or what is known before they are read.
        digest: SHA-256 of bytes that the fingerprint leaves out; empty when there are none, or
            not all were read.
        parameters: Texts of query parameters that the body brings; the query wins.
        read_error: Why the body stopped coming while it was used; None so far.
    """

    @property
    def fingerprint(self) -> bytes: ...
    @property
    def digest(self) -> bytes: ...
    @property
    def parameters(self) -> Mapping[str, str]: ...
    @property
    def read_error(self) -> Exception | None: ...

    async def drain(self) -> None:
        """
        Read the rest.

        Raises:
            Refusal: 408, 413.
            ClientGone: The client hung up.
        """

    def value(self) -> Any:
        """
        Return the value of the variable that the body fills.

        Raises:
            Refusal: 400: the body is wrong, or has unknown members.
        """


class BodyReader(Protocol):
    """Receives request bodies of one content type."""

    async def receive(self, request: RestRequest, variable: Variable) -> Body:
        """
        Receive the body that fills *variable*.

        Raises:
            Refusal: 408, 413.
            ClientGone: The client hung up.
        """


class JsonBody(msgspec.Struct, frozen=True):
    """A JSON body, held in memory."""

    fingerprint: bytes
    variable: Variable
    read_error: Exception | None = None
    digest: bytes = b""
    parameters: Mapping[str, str] = msgspec.field(default_factory=dict)

    async def drain(self) -> None:
        """Do nothing: the whole body was read."""

    def value(self) -> Any:
        return coerce_input(parse(self.fingerprint), self.variable.type)


class JsonReader(msgspec.Struct, frozen=True):
    """Reads the whole body into memory, at most *limit* bytes."""

    limit: int

    async def receive(self, request: RestRequest, variable: Variable) -> JsonBody:
        declared = request.header("content-length")
        body = await read_body(request.receive, declared=declared, limit=self.limit)
        return JsonBody(body, variable)


# Bytes; only the text of a mail is a reason for more (docs/spec/limits.md#sizes).
MAX_SHORT_BODY = 256 * 1024

READERS: Mapping[str, BodyReader] = MappingProxyType(
    {"json": JsonReader(MAX_SHORT_BODY), "mail": JsonReader(MAX_BODY), "upload": UploadReader()}
)
