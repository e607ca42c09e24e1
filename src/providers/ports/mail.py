"""
Port of one mailbox.

Reads take *projection*: the attributes of the record that the caller selected and may see. A
connector requests nothing else from upstream, beyond what it needs to filter and to order. Every
method raises members of `providers.failures`, and the exceptions below where it says so.
"""

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from datetime import datetime
from typing import Protocol

import msgspec

from providers.failures import ProviderFailure
from providers.ports.changes import ChangePort
from providers.ports.drafts import DraftPort
from providers.records import mail as mail_records


class MailQuery(msgspec.Struct, frozen=True, kw_only=True):
    """
    A search over mail. All parts are ANDed; None restricts nothing.

    Attributes:
        text: The caller's `q`: words and "quoted phrases", each of which must be found.
        text_fields: The fields that *text* may match: a subset of `subject`, `body_preview`,
            `body`, `from_`, `to`, `cc`. Never empty when *text* is set.
        text_beyond: Whether *text* may match attachments, bcc and labels too: none is hidden.
        sender, recipient: A whole address is matched exactly, "@host" by domain, anything else
            as the beginning of the address or of a word of the name. *recipient* also looks in cc.
            Where upstream finds whole words only, whole words are found.
        participant: As *sender* or *recipient*; of whole addresses with commas, one must match.
        recipient_in_cc: False when cc is hidden: then recipients are looked for in `to` alone.
        subject: Words that stand in the subject one after another, the last perhaps incomplete.
        label: Equal to one label, any case; TRASH, SPAM and DRAFT name those folders.
        unread: True restricts to unread mail; False restricts nothing.
        after, before: Strictly later, strictly earlier than the received time.
        has_attachment: True or False restrict; None does not.
        limit: Number of messages to return, 1 to 50.
        may_be_short: Whether a few messages less will do where they would cost one more call.
    """

    text: str | None = None
    text_fields: AbstractSet[str] = frozenset()
    text_beyond: bool = True
    sender: str | None = None
    recipient: str | None = None
    participant: str | None = None
    recipient_in_cc: bool = True
    subject: str | None = None
    label: str | None = None
    unread: bool = False
    after: datetime | None = None
    before: datetime | None = None
    has_attachment: bool | None = None
    limit: int = 20
    may_be_short: bool = False


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
        emails: Matching messages in order, at most the limit.
        scanned_to: The point to which upstream was read, if beyond the last match; else None.
        exhausted: Whether no match follows the returned ones.
        total: Number of matches after the position, the returned ones included, as far as known.
        total_exact: Whether *total* was counted rather than estimated by upstream.
        doubt: Why a message among *emails* is shown in part; None: all are whole.
        hidden: Attributes that are left out of *emails*.
    """

    emails: Sequence[mail_records.Email]
    scanned_to: MailPosition | None
    exhausted: bool
    total: int
    total_exact: bool
    doubt: ProviderFailure | None = None
    hidden: AbstractSet[str] = frozenset()


WITHDRAWN = ""  # in place of a draft's id, while the draft is being deleted
CREATING = "?"  # in place of it, while a draft that is to be held is being created

CheckRecipients = Callable[[Sequence[mail_records.Participant]], None]
StoreDraft = Callable[[str | None], Awaitable[None]]


@dataclass(frozen=True, slots=True, kw_only=True)
class SendAttempt:
    """
    One of the attempts to send a message once: docs/spec/email.md#sending-once.

    Attributes:
        message_id: Message-ID of a new draft, without angle brackets; another one in each attempt,
            but the same one in all when *hold* is set. Without a domain until `MergedMailbox` adds
            that of the sending account.
        earlier_ids: Message-IDs of the attempts before this one, when they differ. While `draft_id`
            is None, none of their drafts was sent or will be: what they left is deleted.
        hold: Whether the draft is left for a person to send: docs/spec/email.md#draft-mode.
        held_id: The *message_id* of the attempts of a message that is held; "" if it is the same.
        maybe_sent: Whether an earlier attempt may have reached the provider.
        draft_id: The draft that an earlier attempt stored; None: there is none, and what an earlier
            attempt may have drafted was not sent. `WITHDRAWN`: the attempt broke off while it
            deleted its draft, so whether that was sent is unknown. `CREATING`: an attempt broke off
            while it created the draft.
        store_draft: Commits `draft_id` for later attempts. It raises when another attempt has
            begun (`write_fence.TakenOver`), or when the commit may have failed. None: there is no
            later attempt.
    """

    message_id: str
    earlier_ids: tuple[str, ...] = ()
    hold: bool = False
    held_id: str = ""
    maybe_sent: bool = False
    draft_id: str | None = None
    store_draft: StoreDraft | None = field(default=None, compare=False, repr=False)

    async def store(self, draft_id: str | None) -> None:
        """Commit the id of the draft that is sent from now on; see `store_draft`."""
        if self.store_draft is not None:
            await self.store_draft(draft_id)


@dataclass(frozen=True, slots=True, kw_only=True)
class OutgoingFile:
    """
    A validated attachment to send.

    Attributes:
        media_type: Neither a message nor a multipart.
        content: The bytes, or where they are stored.
    """

    name: str
    media_type: str
    content: "bytes | StoredContent" = field(repr=False)

    @property
    def size(self) -> int:
        """The number of bytes."""
        return len(self.content) if isinstance(self.content, bytes) else self.content.size

    async def read(self) -> bytes:
        """Return the bytes as a whole; for small files."""
        if isinstance(self.content, bytes):
            return self.content
        return b"".join([chunk async for chunk in self.content.chunks()])


class StoredContent(msgspec.Struct, frozen=True):
    """
    The bytes of a file that are read when they are sent.

    Attributes:
        handle: Identifies the bytes, which never change.
        size: Bytes.
        chunks: Returns the bytes from the start; they raise `Missing` when they are gone.
    """

    handle: str
    size: int
    chunks: Callable[[], AsyncIterator[bytes]]


class Draft(msgspec.Struct, frozen=True, kw_only=True):
    """
    A new, validated message.

    Attributes:
        body_type: "html" or "text".
    """

    to: tuple[mail_records.Participant, ...]
    cc: tuple[mail_records.Participant, ...] = ()
    bcc: tuple[mail_records.Participant, ...] = ()
    subject: str = ""
    body: str = ""
    body_type: str = "html"
    importance: str = "normal"
    files: tuple[OutgoingFile, ...] = ()
    attempt: SendAttempt


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """
    A reply to a message.

    Attributes:
        quote: Whether to quote the original: docs/spec/email.md#quoting.
        hidden: Attributes of `Email` that the quotation must not reveal.
        to_is_hidden: Whether the recipients must not reveal the original To.
        check_recipients: Called with the derived recipients, To and Cc, before anything is written.
            It raises when the caller may not write to one of them; None: the caller may.
    """

    body: str
    body_type: str = "html"
    reply_all: bool = False
    quote: bool = True
    hidden: AbstractSet[str] = frozenset()
    to_is_hidden: bool = False
    check_recipients: CheckRecipients | None = field(default=None, compare=False, repr=False)
    files: tuple[OutgoingFile, ...] = ()
    attempt: SendAttempt


class Forward(msgspec.Struct, frozen=True, kw_only=True):
    """
    A forward of a message.

    Attributes:
        body: The caller's text, before the original.
        hidden: Attributes of `Email` that the header block and the subject must not reveal.
        files: Those of the caller; the attachments of the original are forwarded besides.
    """

    to: tuple[mail_records.Participant, ...]
    cc: tuple[mail_records.Participant, ...] = ()
    body: str = ""
    body_type: str = "html"
    hidden: AbstractSet[str] = frozenset()
    files: tuple[OutgoingFile, ...] = ()
    attempt: SendAttempt


class MailChange(msgspec.Struct, frozen=True, kw_only=True):
    """Change of the read state, then of labels; *read* None keeps the read state."""

    read: bool | None = None
    add_labels: tuple[str, ...] = ()
    remove_labels: tuple[str, ...] = ()


class AttachmentContent(msgspec.Struct, frozen=True):
    """
    The bytes of an attachment as they arrive.

    *size* is None when the provider does not tell. *chunks* are read once and raise as the port.
    """

    size: int | None
    chunks: AsyncIterator[bytes]


class AttachmentFile(msgspec.Struct, frozen=True):
    """
    An attachment that exists.

    Attributes:
        attachment: What is known of it without its bytes.
        open: Requests the bytes; enter, read and leave in one task, as with `Upstream.stream`.
            Entering raises members of `providers.failures`.
    """

    attachment: mail_records.Attachment
    open: Callable[[], AbstractAsyncContextManager[AttachmentContent]]


class NoReplyRecipient(Exception):
    """A reply has no recipient but its sender (400): docs/spec/email.md#reply-recipients."""


class HiddenReplyRecipients(Exception):
    """A reply would go to the hidden `to` of the original (403)."""


class UnsafeMessage(Exception):
    """
    A header value would inject headers (400): docs/spec/email.md#header-safety.

    *address* is the one that cannot be written; None when it is another value.
    """

    def __init__(self, address: str | None = None) -> None:
        super().__init__()
        self.address = address


class ReadOnlyMailbox(Exception):
    """The message is in a mailbox whose connection has read scopes only (403)."""


class MailPort(Protocol):
    """
    One connected mailbox. Ids are native; `MergedMailbox` prefixes them.

    *projection* names attributes of `Email`. The received time is always set, in whole
    milliseconds.
    """

    @property
    def drafts(self) -> DraftPort:
        """The drafts of the mailbox."""

    @property
    def changes(self) -> ChangePort | None:
        """The history of the mailbox; None where upstream cannot tell what has changed."""

    async def search(
        self, query: MailQuery, *, after: MailPosition | None, projection: AbstractSet[str]
    ) -> MailSlice:
        """Return the matches of *query* after a position (None: from the newest)."""

    async def first_page(self, query: MailQuery, *, projection: AbstractSet[str]) -> MailSlice:
        """Return what upstream's first page holds of *query*; not every message must match it."""

    async def get(self, message_id: str, *, projection: AbstractSet[str]) -> mail_records.Email:
        """Read one message, also a trashed one. Raises `Missing`: upstream does not know the id."""

    async def get_many(
        self, message_ids: Sequence[str], *, projection: AbstractSet[str]
    ) -> Mapping[str, mail_records.Email]:
        """Read messages as `get`, in few calls; those that upstream does not know are left out."""

    async def thread(self, thread_id: str, *, projection: AbstractSet[str]) -> mail_records.Thread:
        """
        Read a conversation, oldest message first, without drafts and trashed messages.

        Raises:
            Missing: Upstream does not know the id, or no message is left.
        """

    async def threads(
        self, thread_ids: Sequence[str], *, projection: AbstractSet[str]
    ) -> Mapping[str, mail_records.Thread]:
        """Read conversations as `thread`, in few calls; those that are missing are left out."""

    async def attachment(self, message_id: str, attachment_id: str) -> AttachmentFile:
        """Find an attachment; its bytes are not requested yet. Raises `Missing` as `get`."""

    async def send(self, draft: Draft) -> mail_records.SentMessage:
        """
        Send a new message once; with `SendAttempt.hold` leave it as a draft once.

        Raises:
            OutcomeUnknown: It may have been sent, and looking it up did not settle that.
            UnsafeMessage: The message cannot be serialized safely.
        """

    async def reply(self, message_id: str, reply: Reply) -> mail_records.SentMessage:
        """
        Reply to a message once; see `send`.

        Raises:
            Missing: There is no such message.
            NoReplyRecipient: No recipient is left.
            HiddenReplyRecipients: The original is the account's own and its `to` is hidden.
        """

    async def forward(self, message_id: str, forward: Forward) -> mail_records.SentMessage:
        """Forward a message once, attachments included; see `send`."""

    async def trash(self, message_id: str) -> None:
        """
        Move a message to the trash, recoverably.

        Raises:
            Missing: There is no such message.
            Impossible: It is in the trash already, or the mailbox refused or failed.
        """

    async def change(self, message_id: str, change: MailChange) -> mail_records.SentMessage:
        """Change the read state, then labels; return the message's ids. Raises as `trash`."""

    async def probe(self) -> None:
        """Make one read, to test the connection."""
