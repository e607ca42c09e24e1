"""What an upstream answered: a whole answer, or one whose body is still coming."""

from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass
from typing import TypeVar

import msgspec

from providers.failures import Broken

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Response:
    """
    A whole answer.

    Attributes:
        headers: Lower-case names; of a repeated name the last value.
        body: Decompressed.
    """

    status: int
    headers: Mapping[str, str]
    body: bytes

    def decode(self, shape: type[T]) -> T:
        """
        Read the body as JSON of the given shape (a msgspec Struct, ``dict[str, object]``, …).

        Raises:
            Broken: The body is not JSON, not UTF-8, nested too deep, or of another shape.
        """
        try:
            return msgspec.json.decode(self.body, type=shape)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            raise Broken from None


@dataclass(frozen=True, slots=True)
class StreamedResponse:
    """
    An answer whose body is read while it comes.

    Attributes:
        headers: Lower-case names.
        chunks: The body, decompressed, to be read once. Raises members of `providers.failures`.
    """

    status: int
    headers: Mapping[str, str]
    chunks: AsyncIterator[bytes]
