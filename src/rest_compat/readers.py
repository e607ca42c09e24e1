"""
Who reads a request body: JSON into `$input` for nearly every row, others by name.

A reader first receives (after the gates, before the ledger) and then gives the variable's value,
so that a replay never parses, and a body that streams can hand over a handle instead.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Protocol

from rest_compat.body import parse, read_body
from rest_compat.inputs import coerce_input
from rest_compat.ports import Variable
from rest_compat.request import RestRequest
from rest_compat.uploads import UploadReader


class Body(Protocol):
    """A request body that was received."""

    @property
    def fingerprint(self) -> bytes:
        """What is the same for the same body: its bytes, or what is told of them beforehand."""

    @property
    def digest(self) -> bytes:
        """SHA-256 of bytes that the fingerprint leaves out; empty: none, or not all were read."""

    async def finish(self) -> None:
        """
        Read what is left.

        Raises:
            Problem: 408, 413.
            ClientGone: The client hung up.
        """

    @property
    def broken(self) -> Exception | None:
        """Why the body stopped coming while it was used; None when nothing is wrong."""

    def value(self, *, strict: bool) -> Any:
        """
        Return the value of the variable that the body fills.

        Raises:
            Problem: 400: the body is wrong; with *strict* also when it has unknown members.
        """


class BodyReader(Protocol):
    """Receives bodies of one kind."""

    async def receive(self, call: RestRequest, variable: Variable) -> Body:
        """
        Receive the body that fills *variable*.

        Raises:
            Problem: 408, 413.
            ClientGone: The client hung up.
        """


@dataclass(frozen=True, slots=True)
class JsonBody:
    """The bytes of a JSON body."""

    fingerprint: bytes
    variable: Variable
    broken: Exception | None = None
    digest: bytes = b""

    async def finish(self) -> None:
        """Return: all was read."""

    def value(self, *, strict: bool) -> Any:
        """Parse, and check against the variable's type; see `Body`."""
        return coerce_input(parse(self.fingerprint), self.variable.type, strict=strict)


class JsonReader:
    """Reads the whole body into memory, at most 4 MiB."""

    async def receive(self, call: RestRequest, variable: Variable) -> JsonBody:
        """Receive; see `BodyReader`."""
        declared = call.header("content-length")
        return JsonBody(await read_body(call.receive, declared=declared), variable)


READERS: Mapping[str, BodyReader] = MappingProxyType(
    {"json": JsonReader(), "upload": UploadReader()}
)
