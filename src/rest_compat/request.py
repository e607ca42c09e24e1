"""HTTP request as sent: path segments, query and headers, parsed without normalization."""

from functools import cached_property
from typing import Any
from urllib.parse import parse_qsl, quote, unquote

import msgspec
from starlette.types import Message, Receive, Scope

from policy.vocabulary import Code, sentence_about
from rest_compat.errors import problem


def raw_path(scope: Scope) -> str:
    """Return the path as sent: percent-encoded, without the query."""
    raw: bytes | None = scope.get("raw_path")
    if raw is None:
        return quote(scope["path"])
    return raw.split(b"?", 1)[0].decode("latin-1")


def path_segments(scope: Scope) -> tuple[str, ...]:
    """
    Return the path's segments, decoded one by one: `%2F` stays inside its segment.

    Bytes that are not UTF-8 become U+FFFD, which no id contains.
    """
    raw: bytes | None = scope.get("raw_path")
    encoded = raw.decode("latin-1") if raw is not None and b"?" not in raw else raw_path(scope)
    parts = encoded.split("/")[1:]
    return tuple(map(unquote, parts)) if "%" in encoded else tuple(parts)


class RestRequest(msgspec.Struct, frozen=True, dict=True):
    """
    A request as the endpoints read it.

    Only `raw_path` and the headers are read, never a URL built from `Host`, which the client
    controls (CVE-2026-48710).
    """

    scope: Scope
    receive: Receive

    @property
    def method(self) -> str:
        return str(self.scope["method"])

    @property
    def path(self) -> str:
        """See `raw_path`."""
        return raw_path(self.scope)

    @property
    def segments(self) -> tuple[str, ...]:
        """See `path_segments`."""
        return path_segments(self.scope)

    def header_values(self, name: str) -> list[str]:
        """Return all values of a header, by its lower-case name, in the order sent."""
        key = name.encode("latin-1")
        values = []
        for header, value in self.scope["headers"]:  # a comprehension costs a function more
            if header == key:
                values.append(value.decode("latin-1"))
        return values

    def header(self, name: str) -> str | None:
        """Return the first value of a header, or None."""
        values = self.header_values(name)
        return values[0] if values else None

    @cached_property
    def query(self) -> dict[str, tuple[str, ...]]:
        """
        Every value of the query by its name; empty values count as absent.

        Raises:
            Refusal: 400: the query is not UTF-8, has a NUL, or too many parameters.
        """
        parameters: dict[str, tuple[str, ...]] = {}
        if not self.scope["query_string"]:
            return parameters
        try:
            pairs = parse_qsl(
                self.scope["query_string"].decode("ascii"),
                errors="strict",
                max_num_fields=MAX_PARAMETERS,
            )
        except ValueError:
            raise problem(
                Code.INVALID_PARAMETER,
                f"The query is not percent-encoded UTF-8 of at most {MAX_PARAMETERS} parameters.",
            ) from None
        for name, value in pairs:
            if "\0" in value:
                raise invalid_parameter(name, "must not contain the character U+0000")
            parameters[name] = (*parameters.get(name, ()), value)
        return parameters


def made_request(
    method: str,
    path: bytes,
    query: bytes,
    headers: list[tuple[bytes, bytes]],
    body: bytes,
    **members: Any,
) -> RestRequest:
    """Make a request that no client sends; *path* is encoded, *members* are added to its scope."""
    scope: Scope = {
        "type": "http",
        "http_version": "1.1",
        "method": method,
        "path": unquote(path.decode("latin-1")),
        "raw_path": path,
        "query_string": query,
        "headers": [*headers, (b"content-length", str(len(body)).encode())],
        "client": None,
        "state": {},
        **members,
    }

    async def receive() -> Message:
        return {"type": "http.request", "body": body, "more_body": False}

    return RestRequest(scope, receive)


# The specification sets no limit; the longest documented parameter list has 12.
MAX_PARAMETERS = 100


def invalid_parameter(name: str, reason: str, *, code: Code = Code.INVALID_PARAMETER) -> Exception:
    """Build the 400 for a bad parameter, which `details` names; *reason* ends the sentence."""
    return problem(code, sentence_about(name, reason), details=[(name, f"It {reason}.")])
