"""
Changes to a stored message: what a PATCH may set, and where it is kept.

Source: wire report 1A.9.
"""

import re
from collections.abc import Mapping
from typing import Any

from sandbox.mail.store import StoredMail
from sandbox.provider_b.endpoint import Call
from sandbox.provider_b.outlook_mail import compose, rfc822
from sandbox.provider_b.outlook_mail.content import Content
from sandbox.provider_b.outlook_mail.messages import etag
from sandbox.provider_b.responses import Refusal

_IMPORTANCE_LINE = re.compile(rb"(?im)^(?:importance|x-priority):.*\r?\n")
_IN_STORE = frozenset(("isRead", "categories", "flag", "inferenceClassification"))
_ANY_TIME = _IN_STORE | {"importance"}


def check_settable(mail: StoredMail, wanted: Mapping[str, Any]) -> None:
    """
    Refuse members that cannot be set on this message.

    Raises:
        Refusal: A member is unknown, or only drafts have it changed.
    """
    if mail.folder != "drafts" and set(wanted) - _ANY_TIME:
        compose.changed(compose.Letter(), wanted)  # an unknown member is refused as such
        raise Refusal(400, "ErrorInvalidPropertySet", "The property can be set on drafts only.")


def state(wanted: Mapping[str, Any]) -> dict[str, Any]:
    """
    Read the members that the store keeps beside the raw message, as arguments of its update.

    Raises:
        Refusal: A value is of the wrong kind.
    """
    state: dict[str, Any] = {}
    if "isRead" in wanted:
        if not isinstance(wanted["isRead"], bool):
            raise _unreadable("isRead", "Edm.Boolean")
        state["is_read"] = wanted["isRead"]
    if "categories" in wanted:
        names = wanted["categories"]
        if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
            raise _unreadable("categories", "Collection(Edm.String)")
        state["labels"] = tuple(dict.fromkeys(names))
    if "flag" in wanted:
        flag = wanted["flag"]
        status = flag.get("flagStatus") if isinstance(flag, dict) else None
        if status not in ("notFlagged", "flagged", "complete"):
            raise _unreadable("flag", "microsoft.graph.followupFlag")
        state["is_starred"] = status == "flagged"
    return state


def _unreadable(name: str, kind: str) -> Refusal:
    return Refusal(
        400,
        "RequestBodyRead",
        f"Cannot convert the value of '{name}' to the expected type '{kind}'.",
    )


def check_tag(call: Call, mail: StoredMail) -> None:
    """
    Compare `If-Match` with the message's entity tag.

    Raises:
        Refusal: The message has changed since the caller read it.
    """
    given = call.request.headers.get("if-match", "*").strip()
    if given not in ("*", etag(mail)):
        raise Refusal(
            412,
            "ErrorIrresolvableConflict",
            "The send or update operation could not be performed because the change key passed in "
            "the request does not match the current change key for the item.",
        )


def rewritten(mail: StoredMail, content: Content, wanted: Mapping[str, Any]) -> bytes | None:
    """Return the raw message anew, None when no change goes into it."""
    if mail.folder == "drafts":
        inside = {name: wanted[name] for name in wanted if name not in _IN_STORE}
        if not inside:
            return None
        letter = compose.of_content(content)
        return rfc822.written(compose.changed(letter, inside))
    if "importance" not in wanted:
        return None
    level = compose.changed(compose.Letter(), {"importance": wanted["importance"]}).importance
    head, blank, body = mail.raw.partition(b"\r\n\r\n" if b"\r\n\r\n" in mail.raw else b"\n\n")
    head = _IMPORTANCE_LINE.sub(b"", head + b"\n").rstrip(b"\r\n")
    return b"Importance: " + level.encode() + b"\r\n" + head + blank + body
