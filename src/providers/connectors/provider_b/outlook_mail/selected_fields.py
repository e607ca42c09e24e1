"""`$select` for the wanted attributes of a message."""

from collections.abc import Set as AbstractSet
from functools import lru_cache

from providers.http.urls import SharedParams

_MEMBERS = {
    "thread_id": ("conversationId",),
    "subject": ("subject",),
    "from_": ("from", "sender"),
    "to": ("toRecipients",),
    "cc": ("ccRecipients",),
    "bcc": ("bccRecipients",),
    "body_preview": ("bodyPreview",),
    "body": ("body",),
    "body_type": ("body",),
    "sent_at": ("sentDateTime",),
    "is_read": ("isRead",),
    "has_attachments": ("hasAttachments",),
    "labels": ("categories",),
    "importance": ("importance",),
}
# Not selected of the hundreds of messages that a search looks through.
LARGE = frozenset({"body", "body_type", "attachments"})
# For ordering, and for leaving out drafts, junk and trash.
_ALWAYS = ("id", "receivedDateTime", "isDraft", "parentFolderId")
_SELECTABLE = frozenset({*_MEMBERS, "attachments"})
_ATTACHMENTS = "attachments($select=id,name,contentType,size,isInline)"

Params = tuple[tuple[str, str], ...]


@lru_cache(maxsize=512)
def message(projection: AbstractSet[str]) -> Params:
    """Return the options that select the wanted attributes of one message or of a list."""
    select = ("$select", ",".join(_selected(projection)))
    if "attachments" in projection:
        return SharedParams((select, ("$expand", _ATTACHMENTS)))
    return SharedParams((select,))


def members(projection: AbstractSet[str]) -> frozenset[str]:
    """Return the members of a message that `message` selects."""
    attachments = ("attachments",) if "attachments" in projection else ()
    return frozenset((*_selected(projection), *attachments))


def _selected(projection: AbstractSet[str]) -> list[str]:
    names = [
        name for attribute, names in _MEMBERS.items() if attribute in projection for name in names
    ]
    return list(dict.fromkeys((*_ALWAYS, *names)))


def selectable(projection: AbstractSet[str]) -> frozenset[str]:
    """Return the attributes that are not always selected."""
    return _SELECTABLE & projection
