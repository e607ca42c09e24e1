"""Headers of requests; those of a connection are the same nearly every time, and made once."""

from collections.abc import Mapping
from typing import NamedTuple

import httpx

from providers.bounded_map import BoundedMap
from providers.http.messages import Fields

_KEPT = 8  # sets of headers per connection; a connector sends few different ones

_Key = tuple[bytes, tuple[tuple[str, str], ...]]


class Prepared(NamedTuple):
    """Headers, and how they are sent: as `messages.Request`."""

    fields: Fields
    lines: bytes


class RequestHeaders:
    """The headers of one connection's requests."""

    def __init__(self, user_agent: str) -> None:
        self._user_agent = user_agent
        self._cache: BoundedMap[_Key, tuple[str | None, Prepared]] = BoundedMap(_KEPT)

    def complete(
        self, host: bytes, headers: Mapping[str, str], authorization: str | None
    ) -> Prepared:
        """Return all headers of a request to *host* but for those of its body."""
        key = (host, tuple(headers.items()))
        cached = self._cache.get(key)
        if cached is None or cached[0] != authorization:
            complete = {
                "Host": host.decode("ascii"),
                "accept": "application/json",
                "accept-encoding": "gzip",
                "user-agent": self._user_agent,
                **headers,
            }
            if authorization is not None:
                complete["authorization"] = authorization
            fields = httpx.Headers(complete).raw
            cached = self._cache[key] = authorization, Prepared(fields, serialized(fields))
        return cached[1]


def serialized(fields: Fields) -> bytes:
    """
    Return headers as they are sent, without the last line break.

    Raises:
        httpx.LocalProtocolError: One holds a line break or a NUL.
    """
    lines = b"\r\n".join([b"%b: %b" % field for field in fields])
    breaks = max(0, len(fields) - 1)
    if lines.count(b"\n") != breaks or lines.count(b"\r") != breaks or b"\0" in lines:
        raise httpx.LocalProtocolError("A header holds a line break.")
    return lines
