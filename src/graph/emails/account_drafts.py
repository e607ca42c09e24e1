"""The drafts of an account with settings of its own (docs/spec/tokens.md#rights-per-account)."""

from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet

from msgspec.structs import replace

from graph.emails import admission, sending
from graph.emails.account_mailbox import NOTHING, AccountMailbox, refused_as_missing
from policy.caller import Caller
from policy.vocabulary import EmailOp
from providers.mail.drafts.merged_drafts import recipients_after
from providers.mail.merged_mailbox import MergedMailbox
from providers.ports import mail
from providers.ports.connection import ConnectionInfo
from providers.ports.drafts import DraftChange, DraftIdentity, DraftPort
from providers.records import mail as records


class AccountOfDrafts(AccountMailbox):
    """An `AccountMailbox` for one call about drafts, whose operation the account must allow."""

    reads = (EmailOp.VIEW_DRAFTS,)
    replies = forwards = admission.OF_DRAFTS

    def __init__(self, port: mail.MailPort, account: Caller, operation: EmailOp) -> None:
        super().__init__(port, account)
        self._operation = operation

    async def search(
        self,
        query: mail.MailQuery,
        *,
        after: mail.MailPosition | None,
        projection: AbstractSet[str],
    ) -> mail.MailSlice:
        if not self.account.allows(self._operation):
            return NOTHING
        page = await self.port.search(query, after=after, projection=projection - self.hidden)
        return replace(page, hidden=self.hidden)

    async def get(self, message_id: str, *, projection: AbstractSet[str]) -> records.Email:
        self.ask(self._operation)
        if self._operation is EmailOp.SEND_EMAIL:  # its recipients are checked, and shown as masked
            self.describe()
            return await self.port.get(message_id, projection=projection)
        return self.shown(await self.port.get(message_id, projection=projection - self.hidden))

    async def send(self, draft: mail.Draft) -> records.SentMessage:
        admission.require_send(self.account, draft, self._operation)
        self.describe(draft.attempt)
        return await self.port.send(draft)

    async def trash(self, message_id: str) -> None:
        self.ask(self._operation)
        self.describe()
        await self.port.trash(message_id)

    @property
    def drafts(self) -> DraftPort:
        self.ask(self._operation)
        return _AccountDrafts(self)


class _AccountDrafts(DraftPort):
    """The drafts of an `AccountOfDrafts`."""

    def __init__(self, mailbox: AccountOfDrafts) -> None:
        self._mailbox = mailbox

    async def identities(self, message_ids: Sequence[str]) -> Mapping[str, DraftIdentity]:
        return await self._mailbox.port.drafts.identities(message_ids)

    async def locate(self, draft_id: str) -> DraftIdentity:
        return await self._mailbox.port.drafts.locate(draft_id)

    async def update(self, identity: DraftIdentity, change: DraftChange) -> DraftIdentity:
        account, port = self._mailbox.account, self._mailbox.port
        with refused_as_missing():
            admission.require_draft_change(account, change)
        if account.limits_recipients:
            sending.require_people(account, await recipients_after(port, identity, change))
        self._mailbox.describe()
        return await port.drafts.update(identity, change)

    async def send(self, draft_id: str, attempt: mail.SendAttempt) -> records.SentMessage:
        with refused_as_missing():
            admission.require_sent_draft(self._mailbox.account)
        return await self._mailbox.port.drafts.send(draft_id, attempt)


def narrow_mail(mailbox: MergedMailbox, caller: Caller, operation: EmailOp | None) -> MergedMailbox:
    """
    Return *mailbox* as the settings of each account narrow it.

    *operation*: what calls about drafts need of an account; None: for all other calls.
    """

    def behind(info: ConnectionInfo, port: mail.MailPort) -> mail.MailPort:
        account = caller.on(info.id)
        if operation is None:
            return AccountMailbox(port, account)
        return AccountOfDrafts(port, account, operation)

    return mailbox.behind(behind)
