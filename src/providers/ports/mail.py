"""
What the graph asks of the outside world: one Protocol per surface.

Reads take *wanted*: the record attributes (see `records`) that the caller selected and may see. A
connector asks upstream for nothing that is not wanted, beyond what it needs to filter and to order.
Every method raises members of `providers.failures` and nothing else.
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
        text_fields: Where *text* may look: a subset of `subject`, `body_preview`, `body`,
            `from_`, `to`, `cc`. Never empty when *text* is given.
        text_beyond: Whether a hit may also lie where upstream looks besides those fields
            (names of attachments, bcc, labels). False when any of these is hidden.
        sender, recipient: A whole address is matched exactly, "@host" by domain, anything else
            as a substring of address or name. *recipient* also looks in cc.
        recipient_in_cc: False when cc is hidden: then *recipient* looks at `to` alone.
        subject: Substring, any case.
        label: Equal to one label, any case; TRASH, SPAM and DRAFT name those folders.
        unread: True restricts to unread mail; False restricts nothing.
        after, before: Strictly later, strictly earlier than the received time.
        has_attachment: True or False restrict; None does not.
        limit: How many messages to return, 1 to 50.
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
    Where in the order of a mailbox a reader stands: everything up to here has been consumed.

    The order is received time descending, then id ascending; `rank` sorts a position that way.

    Attributes:
        received_ms: Milliseconds since the epoch, UTC. A message without a received time counts
            as 0, so it comes last.
        id: The native id of the last message consumed.
    """

    received_ms: int
    id: str

    @property
    def rank(self) -> tuple[int, str]:
        """What to sort by: newest first, then by id."""
        return -self.received_ms, self.id


class MailSlice(msgspec.Struct, frozen=True, kw_only=True):
    """
    What one mailbox has after a position.

    Attributes:
        emails: Matching messages in order, at most the limit asked for; a connector may
            make them as they are read (`providers.mail.lazy_records`).
        scanned_to: How far upstream was read, when that is further than the last match (a filter
            that upstream cannot apply may consume messages without a match). None when nothing
            beyond the last match was read.
        exhausted: Whether nothing lies after what is returned here.
        total: How many messages match after the position asked for, as far as is known; the
            ones returned here count.
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
    A new message as the caller wrote it, already validated.

    Attributes:
        body_type: "html" or "text".
        message_id: The Message-ID to send under, without angle brackets; the same for every try
            of one intent, so that a send whose answer was lost can be found again.
        maybe_sent: Whether an earlier try under the same *message_id* may have gone out; then it
            is looked up before anything is sent.
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
    An answer to a message.

    Attributes:
        quote: Whether the original may be quoted (decisions 5.2).
        hidden: Attributes of `records.Email` that no quotation may tell.
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
    A message passed on.

    Attributes:
        body: Put before the original.
        hidden: Attributes of `records.Email` that the header block and the subject may not tell.
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
    """Read state first, then labels; *read* None leaves the read state alone."""

    read: bool | None = None
    add_labels: tuple[str, ...] = ()
    remove_labels: tuple[str, ...] = ()


class NoReplyRecipient(Exception):
    """A reply would have no recipient but the sending account itself (400, decisions 16)."""


class UnsafeMessage(Exception):
    """The serialised message would not say what the caller meant (400, decisions 16)."""


class ReadOnlyMailbox(Exception):
    """The message is in a mailbox whose connection has read scopes only (403, decisions 1)."""


class MailPort(Protocol):
    """
    One connected mailbox. Ids in and out are native; `MergedMailbox` prefixes them.

    `wanted` names attributes of `records.Email`. Records carry native ids in `id` and `thread_id`,
    and always the received time, in whole milliseconds.
    """

    async def search(
        self, query: MailQuery, *, after: MailPosition | None, wanted: AbstractSet[str]
    ) -> MailSlice:
        """Return what matches *query* after the position *after* (None: from the newest)."""

    async def get(self, message_id: str, *, wanted: AbstractSet[str]) -> mail_records.Email:
        """
        Read one message, also a trashed one.

        Raises:
            Missing: Upstream does not know the id.
        """

    async def thread(self, thread_id: str, *, wanted: AbstractSet[str]) -> mail_records.Thread:
        """
        Read a conversation, oldest first, without drafts and trashed messages.

        Raises:
            Missing: Upstream does not know the id, or nothing is left of the thread.
        """

    async def send(self, draft: Draft) -> mail_records.SentMessage:
        """
        Send a new message once.

        Raises:
            OutcomeUnknown: It may have gone out, and looking it up did not settle it.
            UnsafeMessage: The message cannot be written down safely.
        """

    async def reply(self, message_id: str, reply: Reply) -> mail_records.SentMessage:
        """
        Answer a message once; see `send`.

        Raises:
            Missing: The original is not there.
            NobodyToReplyTo: No recipient is left.
        """

    async def forward(self, message_id: str, forward: Forward) -> mail_records.SentMessage:
        """Pass a message on once, attachments included; see `send`."""

    async def trash(self, message_id: str) -> None:
        """
        Move a message to the trash, recoverably.

        Raises:
            Missing: Not there, or in the trash already.
        """

    async def change(self, message_id: str, change: MailChange) -> mail_records.SentMessage:
        """
        Change read state, then labels; return the message's ids.

        Raises:
            Missing: Not there, or in the trash.
        """

    async def probe(self) -> None:
        """Make one harmless read, to see whether the connection works."""
