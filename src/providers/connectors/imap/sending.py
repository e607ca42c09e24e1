"""Composition of new messages, replies and forwards: docs/spec/upstream/imap.md#sending."""

import time
from collections.abc import Sequence
from contextlib import suppress
from functools import partial

from providers.connectors.imap import filing, mapping, reading
from providers.connectors.imap.message_ids import Location
from providers.connectors.imap.sign_in import Connection
from providers.connectors.imap.submitting import HANDED_OVER, Submitter, before_sending
from providers.dry_run import confirm_write
from providers.failures import Missing, NotAccepted, OutcomeUnknown, ProviderFailure, Refused
from providers.imap import parsing
from providers.imap.parsing import Row
from providers.imap.session import Session
from providers.imap.submission import RecipientsRefused
from providers.mail import compose, delivery, encoded_words, outgoing, quoting, reply_headers
from providers.mail.compose import OutgoingMessage, SerializedMessage
from providers.mail.deliver_once import WITHOUT_IDS
from providers.mail.drafts import editing
from providers.mail.reply_headers import derive_recipients
from providers.ports.mail import Draft, Forward, Reply, SendAttempt
from providers.records import mail as mail_records

MAX_FORWARDED = 36_700_160  # bytes of an original, as on provider A
_CHUNK_BYTES = 1024 * 1024
PENDING = "$SubmitPending"  # RFC 5550, 2.10: of a draft that is being sent
_CLAIM_SECONDS = 2 * delivery.SEND_SECONDS  # longer than any send lasts
_ALWAYS = ("MESSAGE-ID", "IN-REPLY-TO", "REFERENCES", "REPLY-TO", "SUBJECT", "FROM")

Headers = dict[str, str]


class Sender:
    """Sender of one account."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._submitter = Submitter(connection)

    async def send(self, draft: Draft) -> mail_records.SentMessage:
        """Send a new message once."""
        message = outgoing.new_message(draft, self._connection.email)

        async def write() -> OutgoingMessage:
            return message

        try:
            return await self._submitter.deliver_once(draft.attempt, write)
        except RecipientsRefused as refusal:
            raise _with_positions(refusal, (*draft.to, *draft.cc, *draft.bcc)) from refusal

    async def reply(self, message_id: str, reply: Reply) -> mail_records.SentMessage:
        """Reply to a message once, within its thread."""
        location = self._connection.ids.location(message_id)
        if reply.check_recipients is not None and reply.attempt.draft_id is not None:
            headers = await self._headers(location, reply)
            derive_recipients(reply_headers.people(headers), self._own_addresses(), reply)
        write = partial(self._reply, location, reply)
        return await self._submitter.deliver_once(reply.attempt, write)

    async def forward(self, message_id: str, forward: Forward) -> mail_records.SentMessage:
        """Forward a message with its attachments once, in a new thread."""
        location = self._connection.ids.location(message_id)
        write = partial(self._forward, location, forward)
        try:
            return await self._submitter.deliver_once(forward.attempt, write)
        except RecipientsRefused as refusal:
            raise _with_positions(refusal, (*forward.to, *forward.cc)) from refusal

    async def send_draft(self, draft_id: str, attempt: SendAttempt) -> mail_records.SentMessage:
        """Send a draft once, as it is, and remove it from the Drafts folder."""
        location = self._connection.ids.location(draft_id)
        earlier = (attempt.draft_id or "").removeprefix(HANDED_OVER)
        if earlier:
            sent = await self._submitter.look_up_earlier(earlier)
        else:
            with before_sending():
                raw = await self._connection.read(lambda session: read_whole(session, location))
            message, filed, transmitted = editing.for_submission(
                raw, self._connection.email, attempt.message_id
            )
            await confirm_write(self._connection.id)
            if not await self._claim(location):
                return WITHOUT_IDS
            try:
                sent = await self._submitter.submit(
                    attempt, message, SerializedMessage((filed,)), SerializedMessage((transmitted,))
                )
            except OutcomeUnknown:
                raise
            except ProviderFailure:
                await self._release(location)
                raise
        with suppress(ProviderFailure):
            await self._submitter.delete(draft_id)
        return sent

    async def _claim(self, location: Location) -> bool:
        """
        Mark a draft as one that is being sent; False: another call has sent it.

        Raises:
            OutcomeUnknown: Another call sends it, or has broken off within `_CLAIM_SECONDS`.
        """

        async def take(session: Session) -> bool:
            await filing.open_synchronized(session, location)
            await filing.require_rights(session, location.folder, "te")  # else it stays a draft
            permanent = session.selected and session.selected.permanent_flags
            if permanent is not None and not {"\\*", PENDING} & set(permanent):
                return True  # nothing can be told
            return await filing.set_once(session, location.uid, PENDING)

        claims = self._connection.memory.claims
        if await self._connection.write(take):
            return True
        since = claims.setdefault(location, time.monotonic())
        if time.monotonic() - since > _CLAIM_SECONDS:
            del claims[location]
            return True

        async def look() -> bool | None:
            try:
                await self._connection.read(
                    lambda session: reading.fetch_message(session, location, "UID FLAGS")
                )
            except Missing:
                return True
            return None

        if await delivery.poll(look):
            return False
        raise OutcomeUnknown

    async def _release(self, location: Location) -> None:
        async def work(session: Session) -> None:
            await filing.open_synchronized(session, location)
            await session.command(f"UID STORE {location.uid} -FLAGS.SILENT ({PENDING})")

        with suppress(ProviderFailure):  # another call takes over in a while
            await self._connection.write(work)

    async def _reply(self, location: Location, reply: Reply) -> OutgoingMessage:
        headers = await self._headers(location, reply)
        people = reply_headers.people(headers)
        return outgoing.reply_message(
            headers,
            reply,
            sender=self._connection.email,
            recipients=derive_recipients(people, self._own_addresses(), reply),
            quoted=await self._quoted(location, reply) if reply.quote else None,
        )

    async def _forward(self, location: Location, forward: Forward) -> OutgoingMessage:
        raw = await self._connection.read(lambda session: read_whole(session, location))
        return await outgoing.forward_message(
            raw, forward, sender=self._connection.email, provider=mapping.PROVIDER
        )

    # -- originals

    def _own_addresses(self) -> frozenset[str]:
        """Return the addresses of the account that are known, folded."""
        own = {self._connection.email.casefold()}
        if not self._connection.shared:
            own.add(self._connection.sign_in.account.username.casefold())
        return frozenset(own)

    async def _headers(self, location: Location, reply: Reply) -> Headers:
        """Read those headers of the original that a reply needs and may show."""
        names = list(_ALWAYS)
        if not reply.to_is_hidden:
            names.append("TO")
        if reply.reply_all:
            names.append("CC")
        section = f"HEADER.FIELDS ({' '.join(sorted(names))})"

        async def work(session: Session) -> Headers:
            row = await reading.fetch_message(session, location, f"UID BODY.PEEK[{section}]")
            block = row.get(f"BODY[{section}]")
            if not isinstance(block, bytes):
                raise Missing
            headers = mapping.parse_headers(block)
            return {**headers, "subject": encoded_words.decode(headers.get("subject", ""))}

        return await self._connection.read(work)

    async def _quoted(self, location: Location, reply: Reply) -> mail_records.Email:
        projection = quoting.QUOTED_ATTRIBUTES - reply.hidden

        async def work(session: Session) -> mail_records.Email:
            ids = self._connection.ids
            messages = await reading.read_messages(session, [location], projection, ids, folders={})
            if not messages:
                raise Missing
            return mapping.emails(list(messages.values()), projection)[0]

        return await self._connection.read(work)


async def read_whole(session: Session, location: Location) -> bytes:
    """
    Read a message as it is stored.

    Raises:
        Missing: There is none.
        Refused: It is too large to be forwarded.
    """
    row = await reading.fetch_message(session, location, "UID RFC822.SIZE")
    if parsing.number(row.get("RFC822.SIZE")) > MAX_FORWARDED:
        raise Refused("The message is too large to be forwarded.", status=413)
    pieces: list[bytes] = []
    while True:
        offset = sum(map(len, pieces))
        item = f"UID BODY.PEEK[]<{offset}.{_CHUNK_BYTES}>"
        rows = await session.fetch(str(location.uid), item)
        piece = rows.get(location.uid, Row()).get("BODY[]")
        if not isinstance(piece, bytes):
            raise Missing
        pieces.append(piece)
        if len(piece) < _CHUNK_BYTES:
            return b"".join(pieces)


def _with_positions(
    refusal: RecipientsRefused, people: Sequence[mail_records.Participant]
) -> NotAccepted:
    """Return the refusal with the positions of the recipients in the order of the request."""
    unique = list(dict.fromkeys(compose.written_address(person.email) for person in people))
    written = [compose.written_address(person.email) for person in people]
    positions = [written.index(unique[index]) + 1 for index in refusal.indexes]
    listed = ", ".join(map(str, positions[:10]))
    noun = "recipient" if len(positions) == 1 else "recipients"
    reason = ": the mailbox is full" if refusal.is_full else ""
    return NotAccepted(
        f"The mail server does not accept {noun} {listed} of {len(people)}, counted over to, cc "
        f"and bcc{reason}. Nothing was sent."
    )
