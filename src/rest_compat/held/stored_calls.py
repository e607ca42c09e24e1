"""Calls that are made again later, when a person has released their write, and their responses."""

from typing import Any

import msgspec
import orjson

from rest_compat.responses import RestResponse

MAX_RESULT = 1024 * 1024  # bytes of a kept response; docs/spec/held-writes.md#result


class StoredCall(msgspec.Struct, frozen=True, array_like=True):
    """
    A call that can be made again later, without its caller.

    Attributes:
        method, path, query, headers, body: Of the request to a row or a saved document; only
            *headers* and *body* of a request to `POST /graphql`, whose *path* is empty.
    """

    body: bytes
    headers: tuple[tuple[bytes, bytes], ...] = ()
    method: str = "POST"
    path: bytes = b""
    query: bytes = b""


class HeldContent(msgspec.Struct, frozen=True, array_like=True):
    """
    A held write.

    Attributes:
        effect, arguments: What a person sees, JSON; the bytes of an upload are left out.
        approved: The digest that the write is released with; see `graph.effects.ShownWrite`.
        visibility: Digest of what the token could see then.
    """

    call: StoredCall
    effect: bytes
    arguments: bytes
    approved: bytes
    visibility: bytes

    @property
    def shown(self) -> dict[str, Any]:
        """The effect."""
        effect: dict[str, Any] = orjson.loads(self.effect)
        return effect

    @property
    def digest(self) -> str:
        """The digest for `If-Effect`."""
        return str(self.shown["digest"])


class HeldOutcome(msgspec.Struct, frozen=True, array_like=True):
    """
    The response of a released call.

    Attributes:
        status: Of the outcome; GraphQL reports failures under the *sent_status* 200.
        is_whole: Whether the body was small enough to be kept.
        visibility: As above, when it ran.
    """

    status: int
    sent_status: int
    is_whole: bool
    body: bytes
    content_type: str
    headers: tuple[tuple[str, str], ...]
    kept_result: bytes
    visibility: bytes

    @property
    def response(self) -> RestResponse:
        """The response as the call would have had it."""
        return RestResponse(
            status=self.sent_status,
            body=self.body,
            content_type=self.content_type,
            headers=self.headers,
        )

    @property
    def members(self) -> dict[str, Any] | None:
        """The body; None where it is no object."""
        try:
            body = orjson.loads(self.body)
        except orjson.JSONDecodeError:
            return None  # a 204
        return body if isinstance(body, dict) else None


def camel(name: str) -> str:
    """Return the API name of an attribute."""
    head, *tail = name.split("_")
    return head + "".join(map(str.title, tail))


def outcome_of(
    reply: RestResponse, status: int, *, kept_result: bytes, visibility: bytes
) -> HeldOutcome:
    """Return what is kept of *reply*, whose outcome is *status*; a large body is left out."""
    is_whole = len(reply.body) <= MAX_RESULT
    return HeldOutcome(
        status,
        reply.status,
        is_whole,
        reply.body if is_whole else b"",
        reply.content_type,
        reply.headers,
        kept_result,
        visibility,
    )


def end_of(reply: RestResponse, *, is_document: bool) -> tuple[int, str | None, str]:
    """Return status, code and message of a response, also of a repeated one, from its body."""
    if not is_document and reply.status < 400:
        return reply.status, None, ""
    body = orjson.loads(reply.body)
    if not is_document:
        return reply.status, body.get("error"), str(body.get("message", ""))
    for error in body.get("errors", ()):
        if len(error.get("path", ())) <= 1:
            extensions = error["extensions"]
            return extensions["httpStatus"], extensions["code"], error["message"]
    return reply.status, None, ""
