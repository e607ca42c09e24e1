"""
Port of one mailbox.

Reads take *wanted*: the attributes of the record that the caller selected and may see. A connector
requests nothing else from upstream, beyond what it needs to filter and to order. Every method
raises members of `providers.failures`, and the exceptions below where it says so.
"""

from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

import msgspec

from providers.records import mail as mail_records


class MailQuery(msgspec.Struct, frozen=True, kw_only=True):
    """
    A search over mail. All parts are ANDed; None restricts nothing.

    Attributes:
        text: The caller's `q`: words and "quoted phrases", each of which must be found.
        text_fields: The fields that *text* may match: a subset of `subject`, `body_preview`,
            `body`, `from_`, `to`, `cc`. Never empty when *text* is set.
        text_beyond: Whether *text* may also match other fields that upstream searches (names of
            attachments, bcc, labels). False when one of them is hidden.
        sender, recipient: A whole address is matched exactly, "@host" by domain, anything else
            as a substring of address or name. *recipient* also looks in cc.
        recipient_in_cc: False when cc is hidden: then *recipient* looks at `to` alone.
        subject: Substring, any case.
        label: Equal to one label, any case; TRASH, SPAM and DRAFT name those folders.
        unread: True restricts to unread mail; False restricts nothing.
        after, before: Strictly later, strictly earlier than the received time.
        has_attachment: True or False restrict; None does not.
        limit: Number of messages to return, 1 to 50.
    """

    text: str | None = None
    text_fields: AbstractSet[str] = frozenset()
    text_beyond: bool = True
    sender: str | None = None
    recipient: str | None = None
    recipient_in_cc: bool = True
    subject: str | None = None
    label: str | None = None
    unread: bool = False
    after: datetime | None = None
    before: datetime | None = None
    has_attachment: bool | None = None
    limit: int = 20


class MailPosition(msgspec.Struct, frozen=True):
    """
    Position of a reader in a mailbox: every message up to here has been consumed.

    Messages are ordered by received time, descending, then by id; `rank` is the sort key.

    Attributes:
        received_ms: Milliseconds since the epoch, UTC; 0 for a message without a received time,
            which therefore comes last.
        id: Native id of the last message consumed.
    """

    received_ms: int
    id: str

    @property
    def rank(self) -> tuple[int, str]:
        """Sort key: newest first, then by id."""
        return -self.received_ms, self.id


class MailSlice(msgspec.Struct, frozen=True, kw_only=True):
    """
    Matches of one mailbox after a position.

    Attributes:
        emails: Matching messages in order, at most the limit; perhaps `LazyRecords`.
        scanned_to: The point to which upstream was read when it lies beyond the last match,
            because the connector filtered messages out; else None.
        exhausted: Whether no match follows the returned ones.
        total: Number of matches after the position, the returned ones included, as far as known.
        total_exact: Whether *total* was counted rather than estimated by upstream.
    """

    emails: Sequence[mail_records.Email]
    scanned_to: MailPosition | None
    exhausted: bool
    total: int
    total_exact: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Draft:
    """
    A new, validated message.

    Attributes:
        body_type: "html" or "text".
        message_id: Message-ID without angle brackets; the same for every attempt of one intent,
            so that a message whose response was lost can be looked up.
        maybe_sent: Whether an earlier attempt with *message_id* may have sent the message; then
            it is looked up first.
    """

    to: tuple[mail_records.Participant, ...]
    cc: tuple[mail_records.Participant, ...] = ()
    bcc: tuple[mail_records.Participant, ...] = ()
    subject: str = ""
    body: str = ""
    body_type: str = "html"
    importance: str = "normal"
    message_id: str
    maybe_sent: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """
    A reply to a message.

    Attributes:
        quote: Whether to quote the original: docs/spec/email.md#quoting.
        hidden: Attributes of `Email` that the quotation must not reveal.
    """

    body: str
    body_type: str = "html"
    reply_all: bool = False
    quote: bool = True
    hidden: AbstractSet[str] = frozenset()
    message_id: str
    maybe_sent: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Forward:
    """
    A forward of a message.

    Attributes:
        body: The caller's text, before the original.
        hidden: Attributes of `Email` that the header block and the subject must not reveal.
    """

    to: tuple[mail_records.Participant, ...]
    cc: tuple[mail_records.Participant, ...] = ()
    body: str = ""
    body_type: str = "html"
    hidden: AbstractSet[str] = frozenset()
    message_id: str
    maybe_sent: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class MailChange:
    """Change of the read state, then of labels; *read* None keeps the read state."""

    read: bool | None = None
    add_labels: tuple[str, ...] = ()
    remove_labels: tuple[str, ...] = ()


class NoReplyRecipient(Exception):
    """A reply has no recipient but its sender (400): docs/spec/email.md#reply-recipients."""


class UnsafeMessage(Exception):
    """A header value would inject headers (400): docs/spec/email.md#header-safety."""


class ReadOnlyMailbox(Exception):
    """The message is in a mailbox whose connection has read scopes only (403)."""


class MailPort(Protocol):
    """
    One connected mailbox. Ids are native; `MergedMailbox` prefixes them.

    *wanted* names attributes of `Email`. The received time is always set, in whole milliseconds.
    """

    async def search(
        self, query: MailQuery, *, after: MailPosition | None, wanted: AbstractSet[str]
    ) -> MailSlice:
        """Return the matches of *query* after a position (None: from the newest)."""

    async def get(self, message_id: str, *, wanted: AbstractSet[str]) -> mail_records.Email:
        """
        Read one message, also a trashed one.

        Raises:
            Missing: Upstream does not know the id.
        """

    async def thread(self, thread_id: str, *, wanted: AbstractSet[str]) -> mail_records.Thread:
        """
        Read a conversation, oldest message first, without drafts and trashed messages.

        Raises:
            Missing: Upstream does not know the id, or no message is left.
        """

    async def send(self, draft: Draft) -> mail_records.SentMessage:
        """
        Send a new message once.

        Raises:
            OutcomeUnknown: It may have been sent, and looking it up did not settle that.
            UnsafeMessage: The message cannot be serialised safely.
        """

    async def reply(self, message_id: str, reply: Reply) -> mail_records.SentMessage:
        """
        Reply to a message once; see `send`.

        Raises:
            Missing: There is no such message.
            NoReplyRecipient: No recipient is left.
        """

    async def forward(self, message_id: str, forward: Forward) -> mail_records.SentMessage:
        """Forward a message once, attachments included; see `send`."""

    async def trash(self, message_id: str) -> None:
        """
        Move a message to the trash, recoverably.

        Raises:
            Missing: There is no such message, or it is in the trash already.
        """

    async def change(self, message_id: str, change: MailChange) -> mail_records.SentMessage:
        """
        Change the read state, then labels; return the message's ids.

        Raises:
            Missing: There is no such message, or it is in the trash.
        """

    async def probe(self) -> None:
        """Make one read, to test the connection."""
