"""Drafts of all mailboxes of a caller, by their prefixed ids (docs/spec/drafts.md)."""

from collections.abc import Awaitable, Callable, Sequence
from collections.abc import Set as AbstractSet

from providers import ids
from providers.failures import Missing, ProviderFailure, Stale
from providers.mail import delivery, merging
from providers.mail.merged_mailbox import MergedMailbox, Pair, bound
from providers.ports.drafts import DraftChange, DraftIdentity
from providers.ports.mail import CheckRecipients, MailPort, SendAttempt
from providers.records import mail as mail_records
from providers.write_previews import Change, Recipients, Subject, add_attachments, current_preview

_RECIPIENTS = ("to", "cc", "bcc")
_SHOWN = frozenset({"subject", "attachments"})
_CHANGED = (*_RECIPIENTS, "subject", "body", "importance")  # attributes of emails, mask words too


Compared = Callable[[int], AbstractSet[str]]


class DraftChanged(Stale):
    """
    A draft has another version than the caller has seen.

    Attributes:
        draft_id: Prefixed id; empty where the draft was not found again.
        email: The message in it with the compared members; None: there is nothing to compare.
    """

    def __init__(self, draft_id: str = "", email: mail_records.Email | None = None) -> None:
        super().__init__(status=412)
        self.draft_id = draft_id
        self.email = email


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
            [email.id for email in emails], lambda pair, natives: pair[1].drafts.identities(natives)
        )
        drafts = []
        for email in emails:
            identity = identities[email.id]
            if isinstance(identity, DraftIdentity):
                drafts.append(_record(identity, email))
            elif not isinstance(identity, Missing):
                raise identity
        return drafts

    async def get(self, draft_id: str, *, projection: AbstractSet[str]) -> mail_records.StoredDraft:
        """
        Read one draft.

        Raises:
            Missing: No mailbox has it.
        """

        async def read(pair: Pair, native: str) -> mail_records.StoredDraft:
            identity = await pair[1].drafts.locate(native)
            email = await pair[1].get(identity.message_id, projection=projection)
            return _record(identity, merging.shown(pair, [email], projection)[0])

        return await self._mailbox.first_holder(draft_id, read)

    async def trash(self, draft_id: str, version: str | None, compared: Compared) -> None:
        """
        Move a draft to the trash, recoverably.

        *compared* returns the attributes of a changed draft that are read, by the connection.

        Raises:
            Missing: There is no such draft.
            DraftChanged: Its version is not *version*.
            Impossible: The mailbox refused or failed.
            ReadOnlyMailbox: It is in a mailbox that may only be read.
        """
        seen = _Seen(draft_id, version, compared)

        async def trash(port: MailPort, native: str) -> DraftIdentity:
            identity = await seen.locate(port, native)
            await port.trash(identity.message_id)
            return identity

        await self._write(seen, trash)

    async def update(
        self,
        draft_id: str,
        change: DraftChange,
        version: str | None,
        check: CheckRecipients | None,
        compared: Compared,
    ) -> DraftIdentity:
        """
        Change the named members of a draft; return it with prefixed ids.

        *check* is called with the recipients that the draft will have; it raises when the caller
        may not write to one of them. None: the caller may.

        Raises:
            UnsafeMessage: A value cannot be written.
            Missing, DraftChanged, Impossible, ReadOnlyMailbox: As `trash`.
        """
        seen = _Seen(draft_id, version, compared)

        async def update(port: MailPort, native: str) -> DraftIdentity:
            identity = await seen.locate(port, native)
            if check is not None:
                check(await recipients_after(port, identity, change))
            await _describe(port, identity, change)
            return await port.drafts.update(identity, change)

        return await self._write(seen, update)

    async def send(
        self,
        draft_id: str,
        attempt: SendAttempt,
        version: str | None,
        on: Callable[[int], tuple[SendAttempt, CheckRecipients]],
        compared: Compared,
    ) -> mail_records.SentMessage:
        """
        Send a draft once, as it is; with `SendAttempt.hold` leave it to the person.

        *on* returns the *attempt* as a connection makes it, and the check of its recipients, which
        raises when the draft may not be sent to them.

        Raises:
            OutcomeUnknown: It may have been sent.
            Missing, DraftChanged, ReadOnlyMailbox: As `trash`.
        """
        seen = _Seen(draft_id, version, compared)

        async def send(pair: Pair, native: str) -> mail_records.SentMessage:
            info, port = pair
            attempt_there, check = on(info.id)
            own = bound(attempt_there, info)
            if own.draft_id is not None and not own.hold:
                delivery.note_resumed()
                return await port.drafts.send(native, own)
            identity = await seen.locate(port, native)
            email = await port.get(identity.message_id, projection=_sent_attributes())
            check([person for name in _RECIPIENTS for person in getattr(email, name) or ()])
            _describe_sent(identity, email)
            if own.hold:
                return mail_records.SentMessage(
                    email_id=identity.message_id, thread_id=email.thread_id, held=True
                )
            return await port.drafts.send(identity.id, own)

        with delivery.time_limit():
            return await self._run(seen, send, attempt)

    async def _write(
        self, seen: "_Seen", write: Callable[[MailPort, str], Awaitable[DraftIdentity]]
    ) -> DraftIdentity:
        identity: DraftIdentity | None = None

        async def run(pair: Pair, native: str) -> mail_records.SentMessage:
            nonlocal identity
            identity = await write(pair[1], native)
            return mail_records.SentMessage(email_id=identity.message_id, thread_id=identity.id)

        written = await self._run(seen, run)
        version = "" if identity is None else identity.version
        return DraftIdentity(written.thread_id or "", written.email_id or "", version)

    async def _run(
        self,
        seen: "_Seen",
        run: Callable[[Pair, str], Awaitable[mail_records.SentMessage]],
        attempt: SendAttempt | None = None,
    ) -> mail_records.SentMessage:
        async def compare(pair: Pair, native: str) -> mail_records.SentMessage:
            try:
                return await run(pair, native)
            except Stale as failure:
                raise await seen.changed(pair, native) from failure

        try:
            return await self._mailbox.write(seen.draft_id, compare, attempt=attempt, find=_locate)
        except Missing:
            if seen.is_found or seen.draft_id.partition(":")[2] != seen.version:
                raise
            # A draft whose id is its version, and that is gone, was changed.
            raise DraftChanged from None


async def _locate(port: MailPort, native: str) -> DraftIdentity:
    return await port.drafts.locate(native)


class _Seen:
    """A draft that a write is about, in the version that the caller has seen; None: any."""

    def __init__(self, draft_id: str, version: str | None, compared: Compared) -> None:
        self.draft_id = draft_id
        self.version = version
        self.is_found = False
        self._compared = compared

    async def locate(self, port: MailPort, native: str) -> DraftIdentity:
        """Find the draft in a mailbox; raise `Stale` if it has another version."""
        identity = await port.drafts.locate(native)
        self.is_found = True
        if self.version not in {None, identity.version}:
            raise Stale
        return identity

    async def changed(self, pair: Pair, native: str) -> DraftChanged:
        """Return the failure of a draft that was changed, as it is now."""
        info, port = pair
        fields = self._compared(info.id)
        if not fields:
            return DraftChanged()
        try:
            identity = await port.drafts.locate(native)
            email = await port.get(identity.message_id, projection=fields)
        except ProviderFailure:  # nothing was written; only what has changed is not known
            return DraftChanged()
        return DraftChanged(ids.join_mail_id(info.provider, identity.id), email)


async def recipients_after(
    port: MailPort, identity: DraftIdentity, change: DraftChange
) -> list[mail_records.Participant]:
    """Return the recipients of a draft as *change* will leave them."""
    left = frozenset(name for name in _RECIPIENTS if getattr(change, name) is None)
    email = await port.get(identity.message_id, projection=left) if left else None
    groups = (getattr(email if name in left else change, name) for name in _RECIPIENTS)
    return [person for group in groups for person in group or ()]


def _sent_attributes() -> frozenset[str]:
    """Return the attributes of a draft that a send checks, and those that its preview shows."""
    preview = current_preview()
    shown = frozenset() if preview is None else _SHOWN - preview.hidden
    return frozenset({*_RECIPIENTS, "thread_id", *shown})


def _describe_sent(identity: DraftIdentity, email: mail_records.Email) -> None:
    """Describe to a dry run what is sent and to whom."""
    preview = current_preview()
    if preview is None:
        return
    to, cc, bcc = (getattr(email, name) or () for name in _RECIPIENTS)
    preview.recipients = Recipients(to=to, cc=cc, bcc=bcc, derived_from=_RECIPIENTS)
    if email.subject is not None:
        preview.subject = Subject(text=email.subject, derived=True)
    preview.basis += (identity.version,)
    add_attachments((file.name, file.size) for file in email.attachments or ())


async def _describe(port: MailPort, identity: DraftIdentity, change: DraftChange) -> None:
    """Describe a change to a dry run, with the old values that its caller may see."""
    preview = current_preview()
    if preview is None:
        return
    named = frozenset(name for name in _CHANGED if getattr(change, name) is not None)
    shown = named - preview.hidden
    email = await port.get(identity.message_id, projection=shown) if shown else None
    preview.changes = tuple(
        Change(
            field=name,
            before=getattr(email, name) if name in shown else None,
            after=getattr(change, name),
            masked_by=name,
        )
        for name in _CHANGED
        if name in named
    )
    preview.basis += (identity.version,)


def _record(identity: DraftIdentity, email: mail_records.Email) -> mail_records.StoredDraft:
    return mail_records.StoredDraft(
        id=ids.join_mail_id(email.provider, identity.id), version=identity.version, email=email
    )
