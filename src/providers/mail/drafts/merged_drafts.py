"""Drafts of all mailboxes of a caller, by their prefixed ids (docs/spec/drafts.md)."""

from collections.abc import Sequence
from collections.abc import Set as AbstractSet

from providers import ids
from providers.failures import Missing
from providers.mail import merging
from providers.mail.merged_mailbox import MergedMailbox
from providers.ports.drafts import DraftIdentity
from providers.ports.mail import MailPort
from providers.records import mail as mail_records


class MergedDrafts:
    """The drafts of a `MergedMailbox`."""

    def __init__(self, mailbox: MergedMailbox) -> None:
        self._mailbox = mailbox

    async def of_messages(
        self, emails: Sequence[mail_records.Email]
    ) -> list[mail_records.StoredDraft]:
        """
        Return messages as drafts, without those that are none by now.

        Raises:
            ProviderFailure: A mailbox failed.
        """
        identities = await self._mailbox.first_holders(
            [email.id for email in emails],
            lambda port, natives: port.drafts.identities(natives),
            lambda _, identity: identity,
        )
        drafts = []
        for email in emails:
            identity = identities[email.id]
            if isinstance(identity, DraftIdentity):
                drafts.append(_record(identity, email))
            elif not isinstance(identity, Missing):
                raise identity
        return drafts

    async def get(self, draft_id: str, *, wanted: AbstractSet[str]) -> mail_records.StoredDraft:
        """
        Read one draft.

        Raises:
            Missing: No mailbox has it.
        """

        async def read(port: MailPort, native: str) -> tuple[DraftIdentity, mail_records.Email]:
            identity = await port.drafts.locate(native)
            return identity, await port.get(identity.message_id, wanted=wanted)

        provider, (identity, email) = await self._mailbox.first_holder(draft_id, read)
        return _record(identity, merging.with_prefixed_ids((email,), provider, wanted)[0])


def _record(identity: DraftIdentity, email: mail_records.Email) -> mail_records.StoredDraft:
    return mail_records.StoredDraft(
        id=ids.join_mail_id(email.provider, identity.id), version=identity.version, email=email
    )
