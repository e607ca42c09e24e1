"""
Signed links to attachments, which need no credentials: docs/spec/email.md#attachment-links.

A link is sealed, so that nothing in it is readable. It names the token that made it: following it
is the REST call of that token, with all of its checks, limits and records. So a link ends with its
token, with a rotation of the token, and with whatever the token may not do any more.
"""

from collections.abc import Callable
from datetime import datetime
from typing import TYPE_CHECKING
from urllib.parse import quote

import msgspec
from starlette.types import ASGIApp, Receive, Scope, Send

from gateway.secrets.keyring import Keyring
from gateway.store.timestamps import ClockMs, from_ms, now_ms
from policy.caller import Caller
from policy.refusals import NotFound

if TYPE_CHECKING:
    from gateway.http.entry import RequestEntry

PREFIX = "/api/access/attachments/"
LIFETIME_MS = 5 * 60 * 1000
_MAX_LINK = 8192  # characters
_CONTEXT = b"attachment link"
_KEY = "gateway.attachment_link"
# All that a download needs: the part, and by a proxy the address. A preference would show what is
# sealed: `Prefer: graphql` answers with the ids.
_PASSED_HEADERS = frozenset({b"range", b"if-range", b"x-forwarded-for"})


class AttachmentLink(msgspec.Struct, frozen=True, array_like=True):
    """
    Target of a link, and the token that made it.

    Attributes:
        key_id: The displayable start of the token when the link was made.
        expires_ms: Milliseconds since the epoch.
    """

    token_id: int
    key_id: str
    email_id: str
    attachment_id: str
    expires_ms: int

    @property
    def path(self) -> str:
        """The path of the REST call, percent-encoded."""
        email_id, attachment_id = quote(self.email_id, safe=""), quote(self.attachment_id, safe="")
        return f"/api/access/email/messages/{email_id}/attachments/{attachment_id}"


class InvalidLink(ValueError):
    """Not a link of this gateway, or expired."""


class AttachmentLinks(msgspec.Struct, frozen=True):
    """Makes and opens links. One per process."""

    keyring: Keyring
    base_url: str
    clock: ClockMs = now_ms

    def of(self, caller: Caller) -> Callable[[str, str], tuple[str, datetime]]:
        """Return the maker of *caller*'s links; see `graph.context.Context.attachment_link`."""

        def make(email_id: str, attachment_id: str) -> tuple[str, datetime]:
            expires_ms = self.clock() + LIFETIME_MS
            link = AttachmentLink(
                caller.token_id, caller.key_id, email_id, attachment_id, expires_ms
            )
            sealed = self.keyring.seal(msgspec.msgpack.encode(link), context=_CONTEXT)
            return f"{self.base_url}{PREFIX}{sealed}", from_ms(expires_ms)

        return make

    def open(self, text: str) -> AttachmentLink:
        """
        Open the last path segment of a link.

        Raises:
            InvalidLink: Not made by this gateway, damaged, or expired.
        """
        if len(text) > _MAX_LINK or not text.isascii():
            raise InvalidLink
        try:
            payload = self.keyring.unseal(text, context=_CONTEXT)
            link = msgspec.msgpack.decode(payload, type=AttachmentLink)
        except (ValueError, msgspec.MsgspecError):
            raise InvalidLink from None
        if self.clock() >= link.expires_ms:
            raise InvalidLink
        return link


def link_of(scope: Scope) -> AttachmentLink | None:
    """Return the link that a request follows; None for a request with its own credentials."""
    link = scope.get(_KEY)
    return link if isinstance(link, AttachmentLink) else None


def follow_links(entry: "RequestEntry", table: ASGIApp) -> ASGIApp:
    """Build the application below `PREFIX`: it passes the call of each link to *table*."""

    async def follow(scope: Scope, receive: Receive, send: Send) -> None:
        try:
            link = entry.attachment_links.open(scope["path"].removeprefix(PREFIX))
        except InvalidLink:
            await entry.charge_unauthenticated(scope)
            raise NotFound("This link is not valid or has expired.") from None
        scope.setdefault("state", {})["route"] = PREFIX + "{link}"
        call = {
            **scope,
            "raw_path": link.path.encode(),
            "path": link.path,
            "query_string": b"",
            "headers": [header for header in scope["headers"] if header[0] in _PASSED_HEADERS],
        }
        await table({**call, "state": {}, _KEY: link}, receive, send)

    return follow
