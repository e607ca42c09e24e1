"""
Messages that are submitted once, or held once as drafts: docs/spec/upstream/imap.md#sending-once.

A server that has read the last line of a message delivers it, and SMTP has no look-up. So directly
before that line the Message-ID is committed, and the envelope has one recipient more: the account
itself. Its copy, found by the Message-ID, proves that the message was sent, and becomes the copy in
the Sent folder.
"""

import asyncio
import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from functools import partial
from typing import NamedTuple

from providers.connectors.imap import filing
from providers.connectors.imap.folders import Role
from providers.connectors.imap.message_ids import Location, MessageIds
from providers.connectors.imap.sign_in import Connection
from providers.dry_run import confirm_write
from providers.failures import (
    Broken,
    Missing,
    OutcomeUnknown,
    ProviderFailure,
    TimedOut,
    without_frames,
)
from providers.http.client import deadline
from providers.imap.session import Session
from providers.imap.submission import Envelope
from providers.mail import compose, delivery
from providers.mail.compose import OutgoingMessage, SerializedMessage
from providers.mail.deliver_once import WITHOUT_IDS, HeldDrafts, describe
from providers.ports.mail import CREATING, WITHDRAWN, SendAttempt
from providers.records import mail as mail_records

HANDED_OVER = "smtp:"  # then the Message-ID of what was perhaps handed over
COPY_DELAYS_SECONDS = (0.0, 0.05, 0.1, 0.2, 0.4, 0.8)  # until the account's own copy arrives

Compose = Callable[[], Awaitable[OutgoingMessage]]


@dataclass(frozen=True, slots=True)
class _Before:
    """
    The account before a submission.

    Attributes:
        sent: The folder of sent mail; None: there is none yet.
        inbox: None: the account does not see it.
        takes_copy: Whether the account may move its own copy from the inbox to the sent mail.
        inbox_from, sent_from: The least UIDs that new messages there can have.
    """

    sent: bytes | None
    inbox: bytes | None
    takes_copy: bool
    inbox_from: int = 1
    sent_from: int = 1


class _Draft(NamedTuple):
    id: str
    thread_id: str | None = None


class Submitter(HeldDrafts[OutgoingMessage, _Draft]):
    """Submits the messages of one account, or leaves them for a person to send."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    async def deliver_once(self, attempt: SendAttempt, write: Compose) -> mail_records.SentMessage:
        """Send what *write* composes, or hold it as a draft, once; see the two methods."""
        draft = attempt.draft_id or ""
        if draft.startswith(HANDED_OVER):
            return await self.look_up_earlier(draft.removeprefix(HANDED_OVER), write)

        async def composed() -> OutgoingMessage:
            with before_sending():
                return await write()

        return await (self.hold_once if attempt.hold else self._send_once)(attempt, composed)

    # -- sending

    async def _send_once(self, attempt: SendAttempt, write: Compose) -> mail_records.SentMessage:
        """
        Send what *write* composes; a draft that an earlier attempt held is removed then.

        Returns:
            The ids of the copy in the Sent folder; without ids when the server reports none,
            and when a person has sent or deleted the draft.

        Raises:
            OutcomeUnknown: It may have been sent.
            TakenOver: Another attempt has begun, and sends the message.
            ProviderFailure: It was not sent.
        """
        if attempt.draft_id in {WITHDRAWN, CREATING}:
            raise OutcomeUnknown
        if attempt.draft_id is not None and not await self._exists(attempt.draft_id):
            return WITHOUT_IDS
        message = await write()
        serialized = compose.serialize(message)
        transmitted = compose.serialize(replace(message, bcc=())) if message.bcc else serialized
        sent = await self.submit(attempt, message, serialized, transmitted)
        if attempt.draft_id is not None:
            with suppress(ProviderFailure):
                await self.delete(attempt.draft_id)
        return sent

    async def submit(
        self,
        attempt: SendAttempt,
        message: OutgoingMessage,
        serialized: SerializedMessage,
        transmitted: SerializedMessage,
    ) -> mail_records.SentMessage:
        """Submit *transmitted* to the recipients of *message*, and file *serialized*."""
        handed_over = False

        async def mark() -> None:
            nonlocal handed_over
            await attempt.store(HANDED_OVER + message.message_id)
            handed_over = True

        with before_sending():
            before = await self._connection.read(_state)
        envelope = _envelope(message, transmitted, takes_copy=before.takes_copy)
        await confirm_write(self._connection.id)
        try:
            with delivery.time_for_look_ups():
                has_own_copy = await self._hand_over(envelope, transmitted, mark)
        except ProviderFailure as problem:
            failure = without_frames(problem)
            if not handed_over:
                raise delivery.not_sent(failure) from failure
            if not delivery.is_ambiguous(failure):
                await attempt.store(None)
                raise delivery.not_sent(failure) from failure
            filed = await delivery.poll(lambda: self._find_copy(message, before))
            if filed is None:
                raise OutcomeUnknown from failure
            return self._ids(filed, message)
        to_itself = not envelope.copy_to and envelope.sender in envelope.recipients
        with suppress(ProviderFailure):  # it was sent, with or without a copy
            location = await self._file(
                message, serialized, before, awaits=has_own_copy or to_itself, to_itself=to_itself
            )
            return self._ids(location, message)
        return WITHOUT_IDS

    async def _hand_over(
        self, envelope: Envelope, message: SerializedMessage, mark: Callable[[], Awaitable[None]]
    ) -> bool:
        """Submit a message; return whether the account itself gets a copy."""
        ends = deadline.get()
        if ends is None:
            ends = time.monotonic() + delivery.SEND_SECONDS - delivery.LOOKUP_SECONDS
        submission = await self._connection.submission(ends=ends)
        try:
            has_own_copy = await submission.offer(envelope)
            await submission.hand_over(message.chunks(), mark)
            return has_own_copy
        finally:
            submission.close()

    # -- the copy

    async def _file(
        self,
        message: OutgoingMessage,
        serialized: SerializedMessage,
        before: _Before,
        *,
        awaits: bool,
        to_itself: bool,
    ) -> Location | None:
        """Have one copy in the Sent folder; the account's own copy becomes it where it can."""
        arrived: Location | None = None
        for pause in COPY_DELAYS_SECONDS if awaits else ():
            await asyncio.sleep(pause)
            arrived = await self._connection.read(partial(_find_arrived, message, before))
            if arrived is not None:
                break

        async def work(session: Session) -> Location | None:
            folder = await _sent_folder(session, before)
            sent = await filing.find(session, folder, message.message_id, from_uid=before.sent_from)
            if sent is None and arrived is not None and not message.bcc:
                return await _adopt(session, arrived, folder, keep=to_itself)
            if sent is None:
                sent = await filing.append(session, folder, serialized, "(\\Seen)")
            if arrived is not None and not to_itself:
                await filing.open_synchronized(session, arrived)
                await filing.expunge(session, arrived.uid)
            return sent

        return await self._connection.write(work)

    async def _find_copy(self, message: OutgoingMessage, before: _Before) -> Location | None:
        """Return the copy of a message that was perhaps sent, in the Sent folder by then."""

        async def work(session: Session) -> Location | None:
            folder = await _sent_folder(session, before)
            sent = await filing.find(session, folder, message.message_id, from_uid=before.sent_from)
            if sent is not None:
                return sent
            arrived = await _find_arrived(message, before, session)
            if arrived is None:
                return None
            keep = message.sender in {person.email for person in message.to}
            return await _adopt(session, arrived, folder, keep=keep) or arrived

        return await self._connection.write(work)

    async def look_up_earlier(
        self, message_id: str, write: Compose | None = None
    ) -> mail_records.SentMessage:
        """
        Return the ids of a message that an earlier attempt perhaps sent.

        Raises:
            OutcomeUnknown: There is no copy of it.
        """

        async def work(session: Session) -> Location | None:
            folders = await filing.folders(session)
            sent = await filing.for_role(session, folders, Role.SENT)
            inbox = folders.of(Role.INBOX)
            names = [sent, *(() if inbox is None else (inbox.name,))]
            names += [
                folder.name
                for folder in folders.all
                if folder.role not in _NO_PROOF_OF_SENDING and folder.name not in names
            ]
            for name in names:
                location = await filing.find(session, name, message_id)
                if location is not None and inbox is not None and name == inbox.name:
                    return await _adopt(session, location, sent, keep=False) or location
                if location is not None:
                    return location
            return None

        location = await self._connection.write(work)
        if location is None:
            raise OutcomeUnknown
        delivery.note_resumed()
        if write is not None:
            await describe(write)
        return mail_records.SentMessage(email_id=self._connection.ids.message_id(location))

    # -- holding

    async def create(self, new: OutgoingMessage, message_id: str) -> _Draft:
        serialized = compose.serialize(new)
        await confirm_write(self._connection.id)

        async def work(session: Session) -> Location | None:
            drafts = await filing.for_role(session, await filing.folders(session), Role.DRAFTS)
            await filing.require_rights(session, drafts, "i")
            return await filing.append(session, drafts, serialized, "(\\Draft \\Seen)")

        location = await self._connection.write(work)
        draft = await self.find(message_id) if location is None else self._draft(location)
        if draft is None:
            raise Broken  # it is there, and is looked up again
        return draft

    async def complete(self, draft: _Draft, new: OutgoingMessage, message_id: str) -> _Draft:
        """Name the thread, which only the message itself tells."""
        del message_id
        return draft._replace(thread_id=self._ids(None, new).thread_id)

    async def find(self, message_id: str) -> _Draft | None:
        location = await self._connection.write(lambda session: _find_draft(session, message_id))
        return location and self._draft(location)

    async def read(self, draft_id: str) -> _Draft:
        if not await self._exists(draft_id):
            raise Missing
        return _Draft(draft_id)

    async def delete(self, draft_id: str) -> None:
        async def work(session: Session) -> None:
            location = self._connection.ids.location(draft_id)
            await filing.open_synchronized(session, location)
            await filing.expunge(session, location.uid)

        await self._connection.write(work)

    def held_message(self, draft: _Draft) -> mail_records.SentMessage:
        return mail_records.SentMessage(email_id=draft.id, thread_id=draft.thread_id, held=True)

    def _draft(self, location: Location) -> _Draft:
        return _Draft(self._connection.ids.message_id(location))

    async def _exists(self, draft: str) -> bool:
        """Return whether a draft is still there, by its native id."""

        async def work(session: Session) -> bool:
            try:
                location = self._connection.ids.location(draft)
                await filing.open_synchronized(session, location)
            except Missing:
                return False
            return location.uid in await session.fetch(str(location.uid), "UID FLAGS")

        return await self._connection.read(work)

    def _ids(self, location: Location | None, message: OutgoingMessage) -> mail_records.SentMessage:
        ids: MessageIds = self._connection.ids
        roots = (*message.references, message.in_reply_to, message.message_id)
        root = next(filter(None, roots))
        return mail_records.SentMessage(
            email_id=None if location is None else ids.message_id(location),
            thread_id=ids.thread_id(root.encode("ascii")),
        )


@contextmanager
def before_sending() -> Iterator[None]:
    """Let a server that hangs be one that was not reached: the message may be sent again."""
    try:
        yield
    except TimedOut as failure:
        raise delivery.not_sent(failure) from failure


_NO_PROOF_OF_SENDING = frozenset({Role.DRAFTS, Role.ALL})


async def _state(session: Session) -> _Before:
    folders = await filing.folders(session)
    inbox, sent = folders.of(Role.INBOX), folders.of(Role.SENT)
    return _Before(
        sent=None if sent is None else sent.name,
        inbox=None if inbox is None else inbox.name,
        takes_copy=await filing.may_move_copy(session, inbox, sent),
        inbox_from=1 if inbox is None else inbox.uid_next,
        sent_from=1 if sent is None else sent.uid_next,
    )


async def _find_arrived(
    message: OutgoingMessage, before: _Before, session: Session
) -> Location | None:
    if before.inbox is None:
        return None
    return await filing.find(session, before.inbox, message.message_id, from_uid=before.inbox_from)


async def _sent_folder(session: Session, before: _Before) -> bytes:
    if before.sent is not None:
        return before.sent
    return await filing.for_role(session, await filing.folders(session), Role.SENT)


async def _adopt(
    session: Session, arrived: Location, sent: bytes, *, keep: bool
) -> Location | None:
    """Make the account's own copy the one in the Sent folder; *keep*: it stays in the inbox too."""
    await filing.open_synchronized(session, arrived)
    if keep:
        location = await filing.copy(session, arrived.uid, sent)
        if location is not None:
            await filing.mark_read(session, location)
        return location
    await session.command(f"UID STORE {arrived.uid} +FLAGS.SILENT (\\Seen)")
    return await filing.move(session, arrived.uid, sent)


async def _find_draft(session: Session, message_id: str) -> Location | None:
    drafts = (await filing.folders(session)).of(Role.DRAFTS)
    return None if drafts is None else await filing.find(session, drafts.name, message_id)


def _envelope(
    message: OutgoingMessage, transmitted: SerializedMessage, *, takes_copy: bool
) -> Envelope:
    people = (*message.to, *message.cc, *message.bcc)
    recipients = list(dict.fromkeys(compose.written_address(person.email) for person in people))
    sender = compose.written_address(message.sender)
    own = [name for name in recipients if name.casefold() == sender.casefold()]
    return Envelope(
        sender=own[0] if own else sender,
        recipients=recipients,
        copy_to="" if own or not takes_copy else sender,
        size=transmitted.size,
        is_8bit=any(
            not piece.isascii() for piece in transmitted.pieces if isinstance(piece, bytes)
        ),
    )
