"""The mailbox of an account with settings of its own (docs/spec/tokens.md#rights-per-account)."""

from collections.abc import Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from contextlib import contextmanager

from msgspec.structs import replace

from graph import effects
from graph.emails import admission, filters, previews, sending
from graph.masking import masks
from policy.caller import Caller
from policy.refusals import Refusal
from policy.vocabulary import EMAIL_READS, EmailField, EmailOp, Surface
from providers.failures import Missing
from providers.mail.merging import without
from providers.ports import mail
from providers.ports.changes import ChangePort
from providers.ports.drafts import DraftPort
from providers.records import mail as records
from providers.write_previews import current_preview

NOTHING = mail.MailSlice(emails=(), scanned_to=None, exhausted=True, total=0, total_exact=True)


class AccountMailbox(mail.MailPort):
    """
    A mailbox behind the grant of its account.

    What the account hides is not read. A call that the account refuses is not made: the mailbox
    then holds nothing, as far as that call goes.

    Attributes:
        port: The mailbox.
        account: The caller as this connection alone narrows it.
        hidden: The attributes of `Email` that the account hides.
        reads: The operations of which one lets the caller see what a write is derived from.
        replies, forwards: The operations that a reply and a forward need.
    """

    reads: tuple[EmailOp, ...] = EMAIL_READS
    replies: tuple[EmailOp, ...] = (EmailOp.REPLY_TO_EMAIL,)
    forwards: tuple[EmailOp, ...] = (EmailOp.FORWARD_EMAIL,)

    def __init__(self, port: mail.MailPort, account: Caller) -> None:
        self.port = port
        self.account = account
        self.hidden = masks.hidden_attributes("Email", account.grant)

    async def search(
        self,
        query: mail.MailQuery,
        *,
        after: mail.MailPosition | None,
        projection: AbstractSet[str],
    ) -> mail.MailSlice:
        try:
            self.account.admit(Surface.EMAIL, EmailOp.SEARCH_EMAILS)
            narrowed = filters.narrowed(query, self.account)
        except Refusal:
            return NOTHING
        answer = await self.port.search(narrowed, after=after, projection=projection - self.hidden)
        return replace(answer, hidden=self.hidden)

    async def first_page(
        self, query: mail.MailQuery, *, projection: AbstractSet[str]
    ) -> mail.MailSlice:
        fields = frozenset(query.text_fields - self.hidden)
        if not (fields and self.account.allows(EmailOp.SEARCH_EMAILS)):
            return NOTHING
        page = await self.port.first_page(
            replace(query, text_fields=fields), projection=projection - self.hidden
        )
        return replace(page, hidden=self.hidden)

    @property
    def drafts(self) -> DraftPort:
        raise Missing

    @property
    def changes(self) -> ChangePort | None:
        return self.port.changes

    async def get(self, message_id: str, *, projection: AbstractSet[str]) -> records.Email:
        self.ask(EmailOp.VIEW_EMAIL)
        return self.shown(await self.port.get(message_id, projection=projection - self.hidden))

    async def get_many(
        self, message_ids: Sequence[str], *, projection: AbstractSet[str]
    ) -> Mapping[str, records.Email]:
        self.ask(EmailOp.VIEW_EMAIL)
        messages = await self.port.get_many(message_ids, projection=projection - self.hidden)
        return {name: self.shown(message) for name, message in messages.items()}

    async def thread(self, thread_id: str, *, projection: AbstractSet[str]) -> records.Thread:
        self.ask(EmailOp.VIEW_THREAD)
        return self._shown_thread(
            await self.port.thread(thread_id, projection=projection - self.hidden)
        )

    async def threads(
        self, thread_ids: Sequence[str], *, projection: AbstractSet[str]
    ) -> Mapping[str, records.Thread]:
        self.ask(EmailOp.VIEW_THREAD)
        threads = await self.port.threads(thread_ids, projection=projection - self.hidden)
        return {name: self._shown_thread(thread) for name, thread in threads.items()}

    async def attachment(self, message_id: str, attachment_id: str) -> mail.AttachmentFile:
        self.ask(EmailOp.VIEW_EMAIL)
        if self.account.hides(EmailField.ATTACHMENTS):
            raise Missing
        return await self.port.attachment(message_id, attachment_id)

    async def send(self, draft: mail.Draft) -> records.SentMessage:
        admission.require_send(self.account, draft)
        self.describe(draft.attempt)
        return await self.port.send(
            replace(draft, attempt=sending.attempt_of(self.account, draft.attempt))
        )

    async def reply(self, message_id: str, reply: mail.Reply) -> records.SentMessage:
        with refused_as_missing():
            admission.require_reply(
                self.account, reply_all=reply.reply_all, operations=self.replies
            )
        self.describe(reply.attempt)
        return await self.port.reply(message_id, sending.limited_reply(reply, self.account))

    async def forward(self, message_id: str, forward: mail.Forward) -> records.SentMessage:
        with refused_as_missing():
            admission.require_forward(self.account, forward, self.forwards)
        self.describe(forward.attempt)
        return await self.port.forward(message_id, sending.limited_forward(forward, self.account))

    async def trash(self, message_id: str) -> None:
        self.ask(EmailOp.DELETE_EMAIL)
        self.describe()
        await self.port.trash(message_id)

    async def change(self, message_id: str, change: mail.MailChange) -> records.SentMessage:
        self.ask(*admission.operations_of(change))
        self.describe()
        return await self.port.change(message_id, change)

    async def probe(self) -> None:
        await self.port.probe()

    def ask(self, *operations: EmailOp) -> None:
        if not all(map(self.account.allows, operations)):
            raise Missing

    def shown(self, message: records.Email) -> records.Email:
        return without(message, self.hidden)

    def _shown_thread(self, thread: records.Thread) -> records.Thread:
        return replace(thread, messages=tuple(map(self.shown, thread.messages)))

    def describe(self, attempt: mail.SendAttempt | None = None) -> None:
        """Add to the preview what the account hides, and that it holds the message."""
        preview = current_preview()
        if preview is not None:
            preview.hidden |= effects.hidden_words(Surface.EMAIL, self.account, self.reads)
            if attempt is not None and self.account.holds_mail and not attempt.hold:
                previews.describe_hold(preview)


@contextmanager
def refused_as_missing() -> Iterator[None]:
    """Raise Missing for a refusal by the account: for this call, its mailbox holds nothing."""
    try:
        yield
    except Refusal:
        raise Missing from None
