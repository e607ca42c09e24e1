"""
Members that a PATCH sets on a stored message, in the store or in the raw message.

See docs/spec/upstream/outlook-mail.md#modify.
"""

import re
from collections.abc import Mapping
from typing import Any

from sandbox.mail.store import StoredMail
from sandbox.provider_b.endpoint import UserCall
from sandbox.provider_b.outlook_mail import compose, rfc822
from sandbox.provider_b.outlook_mail.content import Content
from sandbox.provider_b.outlook_mail.messages import etag
from sandbox.provider_b.responses import GraphError

_IMPORTANCE_LINE = re.compile(rb"(?im)^(?:importance|x-priority):.*\r?\n")
_STORED_MEMBERS = frozenset(("isRead", "categories", "flag", "inferenceClassification"))
_ALWAYS_SETTABLE = _STORED_MEMBERS | {"importance"}


def check_settable(mail: StoredMail, wanted: Mapping[str, Any]) -> None:
    """
    Check that the members can be set on this message.

    Raises:
        GraphError: A member is unknown, or can be set on drafts only.
    """
    if mail.folder != "drafts" and set(wanted) - _ALWAYS_SETTABLE:
        compose.apply_members(compose.ComposedMessage(), wanted)  # raises for an unknown member
        raise GraphError(400, "ErrorInvalidPropertySet", "The property can be set on drafts only.")


def read_stored_members(wanted: Mapping[str, Any]) -> dict[str, Any]:
    """
    Return the members that the store keeps beside the raw message, as arguments of its update.

    Raises:
        GraphError: A value has the wrong type.
    """
    read_stored_members: dict[str, Any] = {}
    if "isRead" in wanted:
        if not isinstance(wanted["isRead"], bool):
            raise _unreadable("isRead", "Edm.Boolean")
        read_stored_members["is_read"] = wanted["isRead"]
    if "categories" in wanted:
        names = wanted["categories"]
        if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
            raise _unreadable("categories", "Collection(Edm.String)")
        read_stored_members["labels"] = tuple(dict.fromkeys(names))
    if "flag" in wanted:
        flag = wanted["flag"]
        status = flag.get("flagStatus") if isinstance(flag, dict) else None
        if status not in ("notFlagged", "flagged", "complete"):
            raise _unreadable("flag", "microsoft.graph.followupFlag")
        read_stored_members["is_starred"] = status == "flagged"
    return read_stored_members


def _unreadable(name: str, kind: str) -> GraphError:
    return GraphError(
        400,
        "RequestBodyRead",
        f"Cannot convert the value of '{name}' to the expected type '{kind}'.",
    )


def check_etag(call: UserCall, mail: StoredMail) -> None:
    """
    Compare `If-Match` with the message's entity tag.

    Raises:
        GraphError: The message has changed since the caller read it.
    """
    expected = call.request.headers.get("if-match", "*").strip()
    if expected not in ("*", etag(mail)):
        raise GraphError(
            412,
            "ErrorIrresolvableConflict",
            "The send or update operation could not be performed because the change key passed in "
            "the request does not match the current change key for the item.",
        )


def rewrite_raw(mail: StoredMail, content: Content, wanted: Mapping[str, Any]) -> bytes | None:
    """Return the changed raw message; None when no member changes it."""
    if mail.folder == "drafts":
        inside = {name: wanted[name] for name in wanted if name not in _STORED_MEMBERS}
        if not inside:
            return None
        composed = compose.from_content(content)
        return rfc822.to_bytes(compose.apply_members(composed, inside))
    if "importance" not in wanted:
        return None
    level = compose.apply_members(
        compose.ComposedMessage(), {"importance": wanted["importance"]}
    ).importance
    head, blank, body = mail.raw.partition(b"\r\n\r\n" if b"\r\n\r\n" in mail.raw else b"\n\n")
    head = _IMPORTANCE_LINE.sub(b"", head + b"\n").rstrip(b"\r\n")
    return b"Importance: " + level.encode() + b"\r\n" + head + blank + body
