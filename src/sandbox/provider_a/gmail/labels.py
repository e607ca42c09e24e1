"""
Gmail labels: the label ids of a message, from its folder, flags and names, and back.

See docs/spec/upstream/gmail.md#labels and docs/spec/upstream/gmail.md#modify.
"""

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from types import MappingProxyType
from typing import Any

from sandbox.mail.ids import PROVIDER_A
from sandbox.mail.store import Label, MailStore, StoredMail

FOLDER_LABELS = MappingProxyType(
    {"inbox": "INBOX", "sent": "SENT", "drafts": "DRAFT", "trash": "TRASH", "spam": "SPAM"}
)
# The first of these among the labels of a message is its folder.
_FOLDER_ORDER = ("trash", "spam", "drafts", "inbox", "sent")
_CATEGORIES = ("PERSONAL", "SOCIAL", "PROMOTIONS", "UPDATES", "FORUMS")
SYSTEM_LABELS = (
    "CHAT",
    "SENT",
    "INBOX",
    "IMPORTANT",
    "TRASH",
    "DRAFT",
    "SPAM",
    *(f"CATEGORY_{name}" for name in _CATEGORIES),
    "STARRED",
    "UNREAD",
)
_SYSTEM = frozenset(SYSTEM_LABELS)
_READ_ONLY_LABELS = frozenset({"SENT", "DRAFT", "CHAT"})
MAX_CHANGED_LABELS = 100  # label ids that one call adds, and that it removes


class BadLabels(ValueError):
    """A list of label ids that is rejected with 400."""


@dataclass(frozen=True, slots=True)
class UserLabels:
    """
    The user labels.

    Attributes:
        ids: Label name to id.
        names: Label id to name.
    """

    ids: Mapping[str, str]
    names: Mapping[str, str]


def user_labels(mails: MailStore) -> UserLabels:
    """Return the user labels of the mailbox."""
    return _index_labels(mails.user_labels(PROVIDER_A))


@lru_cache(maxsize=8)
def _index_labels(labels: tuple[Label, ...]) -> UserLabels:
    return UserLabels(
        ids={label.name: label.id for label in labels},
        names={label.id: label.name for label in labels},
    )


def label_ids(mail: StoredMail, mails: MailStore) -> list[str]:
    """Return a message's label ids: folder, flags, system labels, user labels."""
    ids = []
    if mail.folder in FOLDER_LABELS:
        ids.append(FOLDER_LABELS[mail.folder])
    if not mail.is_read:
        ids.append("UNREAD")
    if mail.is_starred:
        ids.append("STARRED")
    ids.extend(name for name in mail.labels if name in _SYSTEM and name not in ids)
    user = [name for name in mail.labels if name not in _SYSTEM]
    if user:
        ids_by_name = user_labels(mails).ids
        ids.extend(ids_by_name.get(name) or mails.add_label(PROVIDER_A, name).id for name in user)
    return ids


def change(
    mails: MailStore, mail: StoredMail, *, add: Collection[str], remove: Collection[str]
) -> StoredMail:
    """
    Add label ids to a message and remove others; the caller has run `check`.

    TRASH and SPAM remove INBOX; removing them does not restore it.
    """
    before = label_ids(mail, mails)
    after = [label_id for label_id in before if label_id not in remove]
    after.extend(label_id for label_id in add if label_id not in after)
    if {"TRASH", "SPAM"} & set(add):
        after = [label_id for label_id in after if label_id != "INBOX"]
    if after == before:
        return mail
    names = user_labels(mails).names
    folder = next((name for name in _FOLDER_ORDER if FOLDER_LABELS[name] in after), "archive")
    implied = {"UNREAD", "STARRED", FOLDER_LABELS.get(folder)}
    return mails.update(
        PROVIDER_A,
        mail.id,
        folder=folder,
        is_read="UNREAD" not in after,
        is_starred="STARRED" in after,
        labels=[names.get(label_id, label_id) for label_id in after if label_id not in implied],
    )


def check(mails: MailStore, *groups: Any, internal: bool = False) -> tuple[tuple[str, ...], ...]:
    """
    Return the lists of label ids that a client sent, as tuples; None is an empty list.

    *internal* allows SENT and DRAFT (``messages.insert``).

    Raises:
        BadLabels: A group is no list of known ids, is too long, or has a read-only label.
    """
    known = user_labels(mails).names
    read = []
    for group in groups:
        ids = group or []
        if not isinstance(ids, list) or not all(isinstance(label_id, str) for label_id in ids):
            raise BadLabels("Invalid value at 'labelIds'")
        if len(ids) > MAX_CHANGED_LABELS:
            raise BadLabels(f"Too many labels: at most {MAX_CHANGED_LABELS}")
        for label_id in ids:
            if label_id in _READ_ONLY_LABELS and not internal:
                raise BadLabels(f"Invalid label: {label_id}")
            if label_id not in _SYSTEM and label_id not in known:
                raise BadLabels(f"Invalid label: {label_id}")
        read.append(tuple(ids))
    return tuple(read)


def stored_state(mails: MailStore, ids: Sequence[str]) -> dict[str, Any]:
    """Return folder, flags and names for these label ids, as arguments of `MailStore.add`."""
    names = user_labels(mails).names
    folder = next((name for name in _FOLDER_ORDER if FOLDER_LABELS[name] in ids), "archive")
    implied = {"UNREAD", "STARRED", FOLDER_LABELS.get(folder)}
    return {
        "folder": folder,
        "is_read": "UNREAD" not in ids,
        "is_starred": "STARRED" in ids,
        "labels": tuple(
            names.get(label_id, label_id) for label_id in ids if label_id not in implied
        ),
    }


def normalize_name(name: str) -> str:
    """Return the search form of a label's name: ``Clients/Big One`` is ``clients-big-one``."""
    return re.sub(r"[\s/&]", "-", name.casefold())


def resource(label_id: str, name: str, counts: Mapping[str, int] | None = None) -> dict[str, Any]:
    """Return the label resource, with *counts* of messages and threads if given."""
    record: dict[str, Any] = {"id": label_id, "name": name}
    if label_id in _SYSTEM:
        hidden = label_id in {"CHAT", "UNREAD"}
        record["messageListVisibility"] = "hide" if hidden else "show"
        record["labelListVisibility"] = "labelHide" if hidden else "labelShow"
        record["type"] = "system"
    else:
        record["messageListVisibility"] = "show"
        record["labelListVisibility"] = "labelShow"
        record["type"] = "user"
    return {**record, **(counts or {})}
