"""Responses of upstreams: whole, or with a body that is still arriving."""

from collections.abc import AsyncIterator, Mapping
from typing import Any, TypeVar

import msgspec

from providers.failures import Broken
from providers.turns import turn_after_decoding

T = TypeVar("T")
_MAX_COMMAS = 50_000  # of a body whose nulls are left out; some twenty milliseconds


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
            Broken: As `decode_json`.
        """
        return decode_json(self.body, shape)

    async def decoded(self, shape: type[T]) -> T:
        """Do as `decode`; the event loop has its turn after a long body, before it is mapped."""
        decoded = self.decode(shape)
        await turn_after_decoding(self.body)
        return decoded


def decode_json(body: bytes | msgspec.Raw, shape: type[T]) -> T:
    """
    Decode JSON to *shape*; where a null does not fit, nulls are members and items that are absent.

    Members of the body itself, such as the list of a page, must fit as they are.

    Raises:
        Broken: The body is not JSON in UTF-8, is nested too deep, or has another shape.
    """
    try:
        return msgspec.json.decode(body, type=shape)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        content = bytes(body)
        if b"null" not in content or content.count(b",") > _MAX_COMMAS:
            raise Broken from None
    try:
        members = msgspec.json.decode(content, type=dict[str, Any])
        present = {name: _without_nulls(value) for name, value in members.items()}
        return msgspec.json.decode(msgspec.json.encode(present), type=shape)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        raise Broken from None


def _without_nulls(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _without_nulls(item) for name, item in value.items() if item is not None}
    if isinstance(value, list):
        return [_without_nulls(item) for item in value if item is not None]
    return value


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
