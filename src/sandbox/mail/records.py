"""Records of the mail store: messages, labels and accounts."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

from sandbox.mail import ids as mail_ids

FOLDERS = ("inbox", "sent", "drafts", "trash", "spam", "archive")

NEW_THREAD = ""  # a thread_id that starts a thread, whatever the headers refer to


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredMail:
    """
    One message of one mailbox.

    Attributes:
        mailbox: One of `mail_ids.ALL_MAILBOXES`.
        seq: Number of the message over all mailboxes.
        id: Its id in the API. On provider B a move changes it, on provider A an edit of a draft.
        immutable_id: Never changes; on provider A the first *id*, as in the id of a draft.
        received_ms: Milliseconds since the epoch, UTC.
        folder: One of `FOLDERS`.
        labels: Names of user labels (A) or categories (B). On provider A also system labels that
            do not follow from the folder: "IMPORTANT", or "SENT" of a message in the trash.
        created_change: The change number at which the message was added.
        change: Number of its latest change. Every change in the store has a number, in order.
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
    created_change: int
    change: int


@dataclass(frozen=True, slots=True, kw_only=True)
class NewMail:
    """A message to add; `MailStore.add` describes the members."""

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
    """
    The owner of a mailbox.

    Attributes:
        email: The primary address.
        sign_in_name: The user principal name; "" when it is the primary address.
        aliases: Further addresses at which the mailbox receives mail.
    """

    email: str
    name: str
    sign_in_name: str = ""
    aliases: tuple[str, ...] = ()

    @property
    def principal_name(self) -> str:
        return self.sign_in_name or self.email

    def has_address(self, address: str) -> bool:
        """Whether *address* names this account, in any case of letters."""
        own = (self.email, self.principal_name, *self.aliases)
        return address.casefold() in {name.casefold() for name in own}


DEFAULT_ACCOUNTS: Mapping[str, Account] = MappingProxyType(
    {
        mail_ids.PROVIDER_A: Account("me@provider-a.example", "Provider A Account"),
        mail_ids.PROVIDER_B: Account("me@provider-b.example", "Provider B Account"),
        mail_ids.SHARED_B: Account("team@provider-b.example", "Team"),
    }
)
