"""Responses of upstreams: whole, or with a body that is still arriving."""

from collections.abc import AsyncIterator, Mapping
from typing import TypeVar

import msgspec

from providers.failures import Broken

T = TypeVar("T")


class Response(msgspec.Struct, frozen=True):
    """
    A response that was read to its end.

    Attributes:
        headers: Names in lower case; the last value of a repeated name.
        body: Decompressed.
    """

    status: int
    headers: Mapping[str, str]
    body: bytes

    def decode(self, shape: type[T]) -> T:
        """
        Decode the JSON body to *shape* (a msgspec Struct, ``dict[str, object]``, …).

        Raises:
            Broken: The body is not JSON in UTF-8, is nested too deep, or has another shape.
        """
        try:
            return msgspec.json.decode(self.body, type=shape)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            raise Broken from None


class StreamedResponse(msgspec.Struct, frozen=True):
    """
    A response whose body is read as it arrives.

    Attributes:
        headers: Names in lower case.
        chunks: The decompressed body, to be read once. Raises members of `providers.failures`.
    """

    status: int
    headers: Mapping[str, str]
    chunks: AsyncIterator[bytes]
