"""
Threads of messages that name their parent alone, in In-Reply-To: docs/spec/upstream/imap.md#ids.

Their parents are looked for, and the parents of those, until one tells the root.
"""

import time
from collections.abc import Iterable, Iterator
from contextlib import suppress

from providers.bounded_map import BoundedMap
from providers.connectors.imap import mapping, reading
from providers.connectors.imap.account_memory import AccountMemory, ThreadLink
from providers.connectors.imap.folder_index import search
from providers.connectors.imap.folders import default_folders, read_folders
from providers.connectors.imap.mapping import FetchedMessage
from providers.connectors.imap.message_ids import MessageIds
from providers.failures import Missing
from providers.imap import sequence_sets
from providers.imap.session import Session, astring

MAX_LEVELS = 5  # parents above a message that are looked for
MAX_PARENTS = 50  # looked for by one search
MAX_FOLDERS = 10
ABSENT_SECONDS = 600.0  # until a parent that was not there is looked for again
_SECTION = "HEADER.FIELDS (IN-REPLY-TO MESSAGE-ID REFERENCES)"


async def settle(
    session: Session, messages: Iterable[FetchedMessage], memory: AccountMemory, ids: MessageIds
) -> None:
    """
    Set the threads of messages that name their parent alone, after they were read.

    Raises:
        ProviderFailure: As `Session.command`.
    """
    waiting = list(_waiting(messages))
    for _ in range(MAX_LEVELS):
        ends = {_follow(parent, memory.thread_links)[0] for _, parent in waiting}
        absent = [end for end in ends if not _is_known(end, memory.thread_links)]
        if not absent:
            break
        await _look_up(session, absent[:MAX_PARENTS], memory.thread_links)
    _set(waiting, memory.thread_links, ids)


def settle_among(messages: Iterable[FetchedMessage], ids: MessageIds) -> None:
    """Set the threads of messages whose parents are among them."""
    messages = list(messages)
    links: BoundedMap[bytes, ThreadLink] = BoundedMap(2 * len(messages) + 1)
    for message in messages:
        _note(message.headers, links)
    _set(_waiting(messages), links, ids)


def _waiting(messages: Iterable[FetchedMessage]) -> Iterator[tuple[FetchedMessage, bytes]]:
    for message in messages:
        parent = mapping.only_parent(message.headers)
        if parent is not None:
            yield message, parent


def _set(
    waiting: Iterable[tuple[FetchedMessage, bytes]],
    links: BoundedMap[bytes, ThreadLink],
    ids: MessageIds,
) -> None:
    for message, parent in waiting:
        message.thread_id = ids.thread_id(_follow(parent, links)[1])


def _is_known(message_id: bytes, links: BoundedMap[bytes, ThreadLink]) -> bool:
    link = links.get(message_id)
    return not message_id.isascii() or (link is not None and link.until > time.monotonic())


def _follow(message_id: bytes, links: BoundedMap[bytes, ThreadLink]) -> tuple[bytes, bytes]:
    """Return the last known ancestor of a message, and the root that it tells."""
    seen: set[bytes] = set()
    while (link := links.get(message_id)) is not None and not link.is_root:
        if message_id in seen or len(seen) == MAX_LEVELS:
            return message_id, min(seen)
        seen.add(message_id)
        message_id = link.target
    return message_id, message_id if link is None else link.target


def _note(headers: mapping.Headers, links: BoundedMap[bytes, ThreadLink]) -> None:
    own = mapping.message_ids(headers.get("message-id", ""))[:1]
    root = mapping.thread_root(headers)
    for message_id in own if root is not None else ():
        parent = mapping.only_parent(headers)
        links[message_id] = ThreadLink(target=parent or root or message_id, is_root=parent is None)


async def _look_up(
    session: Session, message_ids: list[bytes], links: BoundedMap[bytes, ThreadLink]
) -> None:
    """Learn the links of messages from their headers, in the folders of a listing."""
    absent = dict.fromkeys(message_ids)
    folders = [folder for folder in default_folders(await read_folders(session)) if folder.messages]
    for folder in folders[:MAX_FOLDERS]:
        tests = [("HEADER", "MESSAGE-ID", astring(message_id)) for message_id in absent]
        criteria = ["OR"] * (len(tests) - 1) + [part for test in tests for part in test]
        with suppress(Missing):
            await reading.open_folder(session, folder.name)
            uids = sorted(await search(session, criteria))[:MAX_PARENTS]
            items = f"UID BODY.PEEK[{_SECTION}]"
            rows = await session.fetch(sequence_sets.write(uids), items) if uids else {}
            for row in rows.values():
                block = row.get(f"BODY[{_SECTION}]")
                headers = mapping.parse_headers(block if isinstance(block, bytes) else b"")
                for message_id in mapping.message_ids(headers.get("message-id", ""))[:1]:
                    if message_id in absent:
                        _note(headers, links)
                        del absent[message_id]
        if not absent:
            return
    for message_id in absent:
        until = time.monotonic() + ABSENT_SECONDS
        links[message_id] = ThreadLink(target=message_id, is_root=True, until=until)
