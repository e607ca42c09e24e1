"""The mail port of one account on an IMAP server."""

import re
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from contextlib import asynccontextmanager
from typing import TypeVar

from providers.connectors.imap import (
    attachments,
    changing,
    filing,
    mapping,
    reading,
    searching,
    thread_roots,
    threads,
)
from providers.connectors.imap.account_memory import AccountMemory
from providers.connectors.imap.changes.source import ImapChanges
from providers.connectors.imap.folders import Folder, Role, read_folders
from providers.connectors.imap.message_ids import Location, MessageIds
from providers.connectors.imap.sending import Sender, read_whole
from providers.connectors.imap.sign_in import Connection, ImapAccess, read_access
from providers.dry_run import confirm_write
from providers.failures import Missing, ProviderFailure, Stale
from providers.imap.session import Session
from providers.imap.submission import CONNECT_SECONDS
from providers.mail import delivery
from providers.mail.compose import SerializedMessage
from providers.mail.drafts import editing
from providers.mail.scanning import MAX_PAGES
from providers.ports.changes import ChangePort
from providers.ports.connection import ConnectionInfo
from providers.ports.drafts import DraftChange, DraftIdentity
from providers.ports.mail import (
    AttachmentContent,
    AttachmentFile,
    Draft,
    Forward,
    MailChange,
    MailPosition,
    MailQuery,
    MailSlice,
    Reply,
    SendAttempt,
)
from providers.ports.opening import Opening
from providers.records import mail as mail_records

T = TypeVar("T")
_SECTION = re.compile(r"[1-9][0-9]{0,3}", re.ASCII)


def open_port(opening: Opening) -> "ImapMailbox":
    """Open the account of a connection; makes no call."""
    return ImapMailbox(opening.info, read_access(opening), opening.memory(AccountMemory))


class ImapMailbox:
    """Mailbox of one connection; implements `providers.ports.mail.MailPort`."""

    def __init__(self, info: ConnectionInfo, access: ImapAccess, memory: AccountMemory) -> None:
        """*memory* belongs to the caller, one per connection, and outlives this object."""
        self._info = info
        self._access = access
        self._memory = memory

    @property
    def drafts(self) -> "ImapDrafts":
        return ImapDrafts(self._connection)

    @property
    def changes(self) -> ChangePort:
        return ImapChanges(self._connection)

    async def search(
        self, query: MailQuery, *, after: MailPosition | None, projection: AbstractSet[str]
    ) -> MailSlice:
        return await self._search(query, after, projection, MAX_PAGES)

    async def first_page(self, query: MailQuery, *, projection: AbstractSet[str]) -> MailSlice:
        return await self._search(query, None, projection, 1)

    async def get(self, message_id: str, *, projection: AbstractSet[str]) -> mail_records.Email:
        messages = await self.get_many([message_id], projection=projection)
        if message_id not in messages:
            raise Missing
        return messages[message_id]

    async def get_many(
        self, message_ids: Sequence[str], *, projection: AbstractSet[str]
    ) -> Mapping[str, mail_records.Email]:
        connection = await self._connection()
        named = (_location(connection.ids, name) for name in message_ids)
        locations = [location for location in named if location is not None]
        if not locations:  # the server is not asked
            return {}

        async def run(session: Session) -> Mapping[str, mail_records.Email]:
            ids = connection.ids
            folders = await _folders(session) if "labels" in projection else {}
            messages = await reading.read_messages(
                session, locations, projection, ids, folders=folders
            )
            if "thread_id" in projection:
                await thread_roots.settle(session, messages.values(), self._memory, ids)
            emails = await mapping.emails_in_turns(list(messages.values()), projection)
            return dict(zip(messages, emails, strict=True))

        return await connection.read(run)

    async def thread(self, thread_id: str, *, projection: AbstractSet[str]) -> mail_records.Thread:
        conversations = await self.threads([thread_id], projection=projection)
        if thread_id not in conversations:
            raise Missing
        return conversations[thread_id]

    async def threads(
        self, thread_ids: Sequence[str], *, projection: AbstractSet[str]
    ) -> Mapping[str, mail_records.Thread]:
        connection = await self._connection()
        roots = threads.roots(thread_ids, connection.ids)
        if not roots:  # the server is not asked
            return {}
        return await connection.read(
            lambda session: threads.read(session, roots, projection, connection.ids)
        )

    async def attachment(self, message_id: str, attachment_id: str) -> AttachmentFile:
        owner, _, section = attachment_id.partition(".")
        if owner != message_id or not section:
            raise Missing

        connection = await self._connection()
        location = connection.ids.location(message_id)
        attachment_part = await connection.read(
            lambda session: attachments.find(session, location, section)
        )

        @asynccontextmanager
        async def opened() -> AsyncIterator[AttachmentContent]:
            size = await attachments.content_size(self._read, attachment_part)
            yield AttachmentContent(size, attachments.chunks(self._read, attachment_part))

        return AttachmentFile(mapping.attachment(message_id, attachment_part.part), opened)

    async def send(self, draft: Draft) -> mail_records.SentMessage:
        return await Sender(await self._connection()).send(draft)

    async def reply(self, message_id: str, reply: Reply) -> mail_records.SentMessage:
        return await Sender(await self._connection()).reply(message_id, reply)

    async def forward(self, message_id: str, forward: Forward) -> mail_records.SentMessage:
        return await Sender(await self._connection()).forward(message_id, forward)

    async def trash(self, message_id: str) -> None:
        connection = await self._connection()
        location = connection.ids.location(message_id)
        await _write(
            connection, lambda session: changing.trash(session, location, connection=connection.id)
        )

    async def change(self, message_id: str, change: MailChange) -> mail_records.SentMessage:
        connection = await self._connection()
        location = connection.ids.location(message_id)
        return await _write(
            connection,
            lambda session: changing.change(
                session, connection.ids, location, change, connection=connection.id
            ),
        )

    async def probe(self) -> None:
        """Open the inbox, and log in at the server for outgoing mail."""

        async def run(session: Session, _: MessageIds) -> None:
            await reading.open_folder(session, session.root.inbox if session.root else b"INBOX")

        await self._read(run)
        connection = await self._connection()
        if connection.sign_in.submission is not None:
            ends = time.monotonic() + CONNECT_SECONDS
            (await connection.submission(ends=ends)).close()

    async def _search(
        self,
        query: MailQuery,
        after: MailPosition | None,
        projection: AbstractSet[str],
        most_pages: int,
    ) -> MailSlice:
        async def run(session: Session, ids: MessageIds) -> MailSlice:
            return await searching.run(
                session,
                self._memory,
                ids,
                query=query,
                after=after,
                projection=projection,
                most_pages=most_pages,
            )

        return await self._read(run)

    async def _connection(self) -> Connection:
        sign_in = await self._access()
        shared = self._info.shared_on is not None
        return Connection(self._info.id, self._info.account_email, sign_in, self._memory, shared)

    async def _read(self, work: Callable[[Session, MessageIds], Awaitable[T]]) -> T:
        """Run *work*, which changes nothing, with a session of the account."""
        connection = await self._connection()
        return await connection.read(lambda session: work(session, connection.ids))


class ImapDrafts:
    """
    Drafts of one connection; implements `providers.ports.drafts.DraftPort`.

    A message never changes, so that its id is that of the draft, and the version.
    """

    def __init__(self, connect: Callable[[], Awaitable[Connection]]) -> None:
        self._connect = connect

    async def identities(self, message_ids: Sequence[str]) -> Mapping[str, DraftIdentity]:
        return {name: DraftIdentity(name, name, version=name) for name in message_ids}

    async def locate(self, draft_id: str) -> DraftIdentity:
        connection = await self._connect()
        location = connection.ids.location(draft_id)

        async def run(session: Session) -> None:
            folder = (await filing.folders(session)).named(location.folder)
            if folder is None or folder.role is not Role.DRAFTS:
                raise Missing
            await reading.fetch_message(session, location, "UID FLAGS")

        await connection.read(run)
        return DraftIdentity(draft_id, draft_id, version=draft_id)

    async def update(self, identity: DraftIdentity, change: DraftChange) -> DraftIdentity:
        connection = await self._connect()
        location = connection.ids.location(identity.id)
        removed = [_path(name, identity) for name in change.removed]
        try:
            raw = await connection.read(lambda session: read_whole(session, location))
        except Missing as failure:  # it was there when it was located
            raise Stale(status=412) from failure
        edited = SerializedMessage((await editing.edit(raw, change, removed),))
        await confirm_write(connection.id)
        new = await connection.write(
            lambda session: filing.replace_draft(session, location, edited)
        )
        name = connection.ids.message_id(new)
        return DraftIdentity(name, name, version=name)

    async def send(self, draft_id: str, attempt: SendAttempt) -> mail_records.SentMessage:
        return await Sender(await self._connect()).send_draft(draft_id, attempt)


def _path(attachment_id: str, identity: DraftIdentity) -> editing.Path:
    """Return where an attachment is in the message, by its id."""
    owner, _, section = attachment_id.partition(".")
    places = section.split(".")
    if owner != identity.id or not all(map(_SECTION.fullmatch, places)):
        raise Missing
    return tuple(int(place) - 1 for place in places)


async def _write(connection: Connection, work: Callable[[Session], Awaitable[T]]) -> T:
    """Run a change or deletion with a session of the account."""
    try:
        return await connection.write(work)
    except ProviderFailure as failure:
        raise delivery.failure_of_change(failure) from failure


def _location(ids: MessageIds, native: str) -> Location | None:
    try:
        return ids.location(native)
    except Missing:
        return None


async def _folders(session: Session) -> Mapping[bytes, Folder]:
    return {folder.name: folder for folder in await read_folders(session)}
