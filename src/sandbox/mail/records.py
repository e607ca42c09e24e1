"""What the mail store keeps: messages, labels, accounts."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

from sandbox.mail import ids as mail_ids

FOLDERS = ("inbox", "sent", "drafts", "trash", "spam", "archive")

NEW_THREAD = ""  # as a thread_id: start a thread, whatever the headers refer to


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredMail:
    """
    One message of one mailbox.

    Attributes:
        mailbox: "provider-a" or "provider-b".
        id: What the wire calls it. On provider B it changes when the message is moved.
        immutable_id: Never changes; equal to *id* on provider A.
        received_ms: Milliseconds since the epoch, UTC.
        folder: One of `FOLDERS`.
        labels: Names of user labels (A) or categories (B). On provider A also the system labels
            that the folder does not tell, such as "IMPORTANT" or the "SENT" of a trashed mail.
        change: Counts up over the whole store with every change of anything: an ETag.
        born: The *change* at which the message came to be.
    """

    seq: int
    mailbox: str
    id: str
    immutable_id: str
    thread_id: str
    raw: bytes = field(repr=False)
    received_ms: int
    folder: str
    labels: tuple[str, ...]
    is_read: bool
    is_starred: bool
    born: int
    change: int


@dataclass(frozen=True, slots=True, kw_only=True)
class NewMail:
    """A message to be added; see `MailStore.add` for the members."""

    raw: bytes
    folder: str = "inbox"
    labels: tuple[str, ...] = ()
    is_read: bool = False
    is_starred: bool = False
    received_ms: int | None = None
    thread_id: str | None = None


@dataclass(frozen=True, slots=True)
class Label:
    """A user label (A) or category (B)."""

    id: str
    name: str


@dataclass(frozen=True, slots=True)
class Account:
    """Whose mailbox it is."""

    email: str
    name: str


DEFAULT_ACCOUNTS: Mapping[str, Account] = MappingProxyType(
    {
        mail_ids.PROVIDER_A: Account("me@provider-a.example", "Provider A Account"),
        mail_ids.PROVIDER_B: Account("me@provider-b.example", "Provider B Account"),
    }
)
