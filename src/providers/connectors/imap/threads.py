"""
Conversations over all folders.

A thread is named by the Message-ID that it begins with: the first one in References, else that of
the parent in In-Reply-To, else the message's own. So one search in each folder finds its messages,
and others those that name their parent alone.
"""

from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet

from providers.connectors.imap import mapping, reading, thread_roots
from providers.connectors.imap.folder_index import search
from providers.connectors.imap.folders import Folder, Role, default_folders, read_folders
from providers.connectors.imap.mapping import FetchedMessage
from providers.connectors.imap.message_ids import Location, MessageIds
from providers.failures import Missing
from providers.imap.session import Session, astring
from providers.records import mail as mail_records

MAX_IN_THREAD = 1000
MAX_SOUGHT = 100  # messages whose answers are looked for by one search
_HEADERS = ("REFERENCES", "IN-REPLY-TO", "MESSAGE-ID")


def roots(thread_ids: Sequence[str], ids: MessageIds) -> dict[str, bytes]:
    """Return the Message-IDs that threads begin with by native id; other ids are left out."""
    known = {}
    for thread_id in thread_ids:
        try:
            known[thread_id] = ids.thread_root(thread_id)
        except Missing:
            continue
    return known


async def read(
    session: Session, roots: Mapping[str, bytes], projection: AbstractSet[str], ids: MessageIds
) -> Mapping[str, mail_records.Thread]:
    """Return the threads that exist by native id, of one at least; see `MailPort.threads`."""
    by_thread: dict[str, list[FetchedMessage]] = {thread_id: [] for thread_id in roots}
    folders = await read_folders(session)
    searched = default_folders(folders) + [each for each in folders if each.role is Role.JUNK]
    messages: dict[str, FetchedMessage] = {}
    headers: Sequence[str] = _HEADERS
    sought = list(roots.values())
    answered: set[bytes] = set()
    for _ in range(thread_roots.MAX_LEVELS):
        for folder in searched if sought else ():
            if folder.messages:
                await reading.open_folder(session, folder.name)
                matching = sorted(await search(session, _criteria(sought, headers)))
                locations = (
                    Location(folder.name, folder.uid_validity, uid)
                    for uid in matching[-MAX_IN_THREAD:]
                )
                uids = [each.uid for each in locations if ids.message_id(each) not in messages]
                messages |= await _read_folder(session, folder, uids, projection, ids)
        known = {message_id for message in messages.values() for message_id in _own_id(message)}
        # Answers that name their parent alone do not name the root.
        sought = sorted(known.difference(sought, roots.values()) - answered)[:MAX_SOUGHT]
        answered |= set(sought)
        headers = ("IN-REPLY-TO",)
    thread_roots.settle_among(messages.values(), ids)
    for message in messages.values():
        if message.thread_id in by_thread:
            by_thread[message.thread_id].append(message)
    return {
        thread_id: _thread(thread_id, messages, projection)
        for thread_id, messages in by_thread.items()
        if messages
    }


def _criteria(message_ids: Sequence[bytes], headers: Sequence[str]) -> list[str | bytes]:
    tests = [
        ("HEADER", name, astring(message_id)) for message_id in message_ids for name in headers
    ]
    return ["OR"] * (len(tests) - 1) + [part for test in tests for part in test]


def _own_id(message: FetchedMessage) -> list[bytes]:
    own = mapping.message_ids(message.headers.get("message-id", ""))[:1]
    return [message_id for message_id in own if message_id.isascii()]


async def _read_folder(
    session: Session,
    folder: Folder,
    uids: Sequence[int],
    projection: AbstractSet[str],
    ids: MessageIds,
) -> dict[str, FetchedMessage]:
    """Read messages of the open folder by native id; drafts are left out."""
    if not uids:
        return {}
    messages = await reading.read(session, folder, uids, projection | {"thread_id"}, ids)
    return {
        message.id: message
        for message in messages.values()
        if not (folder.is_store and "\\draft" in message.flags)
    }


def _thread(
    thread_id: str, messages: list[FetchedMessage], projection: AbstractSet[str]
) -> mail_records.Thread:
    messages.sort(key=lambda message: (message.received_at, message.id))
    emails = mapping.emails(messages[-MAX_IN_THREAD:], projection)
    return mail_records.Thread(id=thread_id, provider=mapping.PROVIDER, messages=tuple(emails))
