"""
Conversations over all folders.

A thread is named by the Message-ID that it begins with: the first one in References, else in
In-Reply-To, else the message's own. So one search in each folder finds its messages.
"""

from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet

from providers.connectors.imap import mapping, reading
from providers.connectors.imap.folder_index import search
from providers.connectors.imap.folders import Role, default_folders, read_folders
from providers.connectors.imap.mapping import FetchedMessage
from providers.connectors.imap.message_ids import MessageIds
from providers.failures import Missing
from providers.imap.session import Session, astring
from providers.records import mail as mail_records

MAX_IN_THREAD = 1000
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
    session: Session, roots: Mapping[str, bytes], wanted: AbstractSet[str], ids: MessageIds
) -> Mapping[str, mail_records.Thread]:
    """Return the threads that exist by native id, of one at least; see `MailPort.threads`."""
    tests = [
        ("HEADER", name, astring(b"<" + root + b">"))
        for root in roots.values()
        for name in _HEADERS
    ]
    criteria = ["OR"] * (len(tests) - 1) + [part for test in tests for part in test]
    by_thread: dict[str, list[FetchedMessage]] = {thread_id: [] for thread_id in roots}
    folders = await read_folders(session)
    searched = default_folders(folders) + [each for each in folders if each.role is Role.JUNK]
    for folder in searched:
        if not folder.messages:
            continue
        await reading.open_folder(session, folder.name)
        uids = sorted(await search(session, criteria))[-MAX_IN_THREAD:]
        if not uids:
            continue
        messages = await reading.read(session, folder, uids, wanted | {"thread_id"}, ids)
        for message in messages.values():
            is_draft = folder.is_store and "\\draft" in message.flags
            if message.thread_id in by_thread and not is_draft:
                by_thread[message.thread_id].append(message)
    return {
        thread_id: _thread(thread_id, messages, wanted)
        for thread_id, messages in by_thread.items()
        if messages
    }


def _thread(
    thread_id: str, messages: list[FetchedMessage], wanted: AbstractSet[str]
) -> mail_records.Thread:
    messages.sort(key=lambda message: (message.received_at, message.id))
    emails = mapping.emails(messages[-MAX_IN_THREAD:], wanted)
    return mail_records.Thread(id=thread_id, provider=mapping.PROVIDER, messages=tuple(emails))
