"""`$select` for the wanted attributes of a message."""

from collections.abc import Set as AbstractSet
from functools import lru_cache

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
# For ordering, and for leaving out drafts, junk and trash.
_ALWAYS = ("id", "receivedDateTime", "isDraft", "parentFolderId")
_SELECTABLE = frozenset({*_MEMBERS, "attachments"})
_ATTACHMENTS = "attachments($select=id,name,contentType,size,isInline)"

Params = tuple[tuple[str, str], ...]


@lru_cache(maxsize=512)
def message(wanted: AbstractSet[str]) -> Params:
    """Return the options that select the wanted attributes of one message or of a list."""
    names = [name for attribute, names in _MEMBERS.items() if attribute in wanted for name in names]
    select = ("$select", ",".join(dict.fromkeys((*_ALWAYS, *names))))
    if "attachments" in wanted:
        return (select, ("$expand", _ATTACHMENTS))
    return (select,)


def selectable(wanted: AbstractSet[str]) -> frozenset[str]:
    """Return the attributes that are not always selected."""
    return _SELECTABLE & wanted
