"""
Searches over all folders of an account, newest first: docs/spec/upstream/imap.md#searching.

The order is known before any message is read (`FolderIndex`), so that a page reads the messages
that it returns, and as many more as a filter leaves out.
"""

import heapq
from collections.abc import Iterator, Sequence
from collections.abc import Set as AbstractSet
from contextlib import suppress
from dataclasses import dataclass
from itertools import groupby, islice
from operator import attrgetter, itemgetter
from typing import NamedTuple

import msgspec

from providers.connectors.imap import mapping, modified_utf7, reading, search_criteria, thread_roots
from providers.connectors.imap.account_memory import AccountMemory
from providers.connectors.imap.folder_index import search as search_uids
from providers.connectors.imap.folders import (
    GMAIL,
    GMAIL_LABELS,
    Folder,
    default_folders,
    read_folders,
)
from providers.connectors.imap.mapping import FetchedMessage
from providers.connectors.imap.message_ids import Location, MessageIds
from providers.connectors.imap.received_times import MAX_TIME, ReceivedTimes
from providers.failures import Shortened
from providers.imap.session import Rejected, Session, astring
from providers.mail import query_matching
from providers.ports.mail import MailPosition, MailQuery, MailSlice
from providers.records.base import to_epoch_ms
from providers.search_text import fold_label
from providers.turns import in_turns

_PAGE = 100  # messages that are read at once where many may not match
NOTHING = MailSlice(emails=(), scanned_to=None, exhausted=True, total=0, total_exact=True)


class Candidate(NamedTuple):
    """A message that may match; `rank` orders as `MailPosition.rank`."""

    seconds: int  # received time, since the epoch
    id: str
    folder: Folder
    uid: int

    @classmethod
    def of(cls, seconds: int, folder: Folder, uid: int, ids: MessageIds) -> "Candidate":
        location = Location(folder.name, folder.uid_validity, uid)
        return cls(seconds, ids.message_id(location), folder, uid)

    @property
    def position(self) -> MailPosition:
        return MailPosition(self.seconds * 1000, self.id)


@dataclass(frozen=True, slots=True)
class _Matches:
    """
    Messages of one folder that may match.

    Attributes:
        times: Of what SEARCH found, or of the folder.
        is_found: Whether SEARCH found them.
    """

    folder: Folder
    times: ReceivedTimes
    is_found: bool

    def newest_first(self, not_after: int) -> Iterator[tuple[int, Folder, int]]:
        for seconds, uid in self.times.newest_first(not_after):
            yield seconds, self.folder, uid


async def run(  # noqa: PLR0913 - the arguments of `MailPort.search`, and where to search
    session: Session,
    memory: AccountMemory,
    ids: MessageIds,
    *,
    query: MailQuery,
    after: MailPosition | None,
    projection: AbstractSet[str],
    most_pages: int,
) -> MailSlice:
    """
    Return the matches of *query* after a position; see `MailPort.search`.

    Raises:
        ProviderFailure: As `Session.command`.
    """
    if not query_matching.can_match(query):
        return NOTHING
    search = _Search(query, after)
    compared = query_matching.needed_attributes(search.checked, text=True)
    matches = await _search_folders(session, memory, query)
    # Nearly all that a server finds by words matches; of all messages of a folder few do.
    reads_many = search.restricts and not any(match.is_found for match in matches)
    attributes = compared if reads_many else projection | compared
    size = _PAGE if reads_many else query.limit + 1
    candidates = search.candidates(matches, ids)
    matching: list[tuple[Candidate, FetchedMessage]] = []
    last: Candidate | None = None
    exhausted = False
    for _ in range(most_pages):
        page = list(islice(candidates, size))
        messages = await _read(session, ids, page, attributes)
        matching += [
            (candidate, messages[candidate.id])
            async for candidate in in_turns(page)
            if candidate.id in messages and search.admits(messages[candidate.id], compared)
        ]
        last = page[-1] if page else last
        if len(page) < size:
            exhausted = True
            break
        if len(matching) > query.limit:
            break
    shown = matching[: query.limit]
    if not projection <= attributes:
        messages = await _read(session, ids, [candidate for candidate, _ in shown], projection)
        shown = [(each, messages[each.id]) for each, _ in shown if each.id in messages]
    if "thread_id" in projection:
        await thread_roots.settle(session, (message for _, message in shown), memory, ids)
    whole = exhausted and len(matching) <= query.limit
    read = [message for _, message in shown]
    return MailSlice(
        emails=tuple(await mapping.emails_in_turns(read, projection)),
        scanned_to=None if whole or len(matching) > query.limit or last is None else last.position,
        exhausted=whole,
        total=len(matching) if search.restricts else search.count(matches, ids),
        total_exact=exhausted or not search.restricts,
        doubt=_doubt(read, projection),
    )


def _doubt(messages: Sequence[FetchedMessage], projection: AbstractSet[str]) -> Shortened | None:
    """Return the doubt of `MailSlice`; where attachments are hidden their number is, too."""
    is_whole = all(message.structure.is_whole for message in messages)
    return None if is_whole or "attachments" not in projection else Shortened()


class _Search:
    """
    A query and the position after which it continues.

    Attributes:
        query: As it was asked.
        low: Seconds since the epoch, from which on messages may match.
        restricts: Whether what SEARCH finds must be checked.
        checked: The query without its label, which SEARCH has looked for.
    """

    def __init__(self, query: MailQuery, after: MailPosition | None) -> None:
        people = (query.sender, query.recipient, query.participant)
        checked = any((*people, query.text, query.subject))
        self.restricts = checked or query.has_attachment is not None
        self.query = query
        self.checked = msgspec.structs.replace(query, label=None)
        self._matches = query_matching.Matcher(self.checked, text=True)
        self._after = after
        self.low = 0 if query.after is None else max(0, to_epoch_ms(query.after) // 1000 + 1)
        self._high = MAX_TIME
        if query.before is not None:
            self._high = min(self._high, (to_epoch_ms(query.before) - 1) // 1000)
        if after is not None:
            self._high = min(self._high, after.received_ms // 1000)

    def candidates(self, matches: Sequence["_Matches"], ids: MessageIds) -> Iterator[Candidate]:
        """Return what may match after the position, in order."""
        streams = [match.newest_first(self._high) for match in matches]
        merged = heapq.merge(*streams, key=lambda entry: -entry[0])
        for seconds, same_second in groupby(merged, key=itemgetter(0)):
            if seconds < self.low:
                return
            group = [Candidate.of(seconds, folder, uid, ids) for _, folder, uid in same_second]
            yield from filter(self._follows, sorted(group, key=attrgetter("id")))

    def count(self, matches: Sequence["_Matches"], ids: MessageIds) -> int:
        """Return the number of candidates after the position."""
        number = sum(match.times.count(self.low, self._high) for match in matches)
        if self._after is None or self._high != self._after.received_ms // 1000:
            return number
        for match in matches:
            for seconds, folder, uid in match.newest_first(self._high):
                if seconds < self._high:
                    break
                candidate = Candidate.of(seconds, folder, uid, ids)
                number -= not self._follows(candidate)
        return number

    def admits(self, message: FetchedMessage, compared: AbstractSet[str]) -> bool:
        """Return whether a message that was read matches."""
        if not self.restricts:
            return True
        (email,) = mapping.emails([message], compared)
        return self._matches(email)

    def _follows(self, candidate: Candidate) -> bool:
        return self._after is None or candidate.position.rank > self._after.rank


async def _search_folders(
    session: Session, memory: AccountMemory, query: MailQuery
) -> list[_Matches]:
    """Return what may match."""
    listed = await read_folders(session)
    memory.forget_other_folders({folder.name for folder in listed})
    folders, narrowing = _places(session, listed, query)
    criteria = [*search_criteria.criteria(query), *narrowing]
    fallback = ["UNSEEN"] * bool(query.unread) + narrowing
    matches = []
    for folder in folders:
        if not folder.messages:
            continue
        await reading.open_folder(session, folder.name)
        uids = await _search(session, criteria, fallback) if criteria else None
        async with memory.refreshing:
            times = await memory.indexes[folder.name].read(session, folder)
        if uids is not None:  # those that have come since are found by the next search
            known = [(uid, times.time(uid)) async for uid in in_turns(uids)]
            times = ReceivedTimes.of({uid: time for uid, time in known if time is not None})
        if folder.is_store and GMAIL in session.capabilities:
            times = times.without(set(await search_uids(session, ["DRAFT"])))
        matches.append(_Matches(folder, times, uids is not None))
    return matches


def _places(
    session: Session, folders: Sequence[Folder], query: MailQuery
) -> tuple[list[Folder], list[str | bytes]]:
    """Return the folders to search, and the criteria that a label adds to those of the query."""
    role = query_matching.folder_label(query)
    name = fold_label(query.label or "")
    if role is not None:
        return [folder for folder in folders if folder.role == role], []
    if not name:
        return default_folders(folders), []
    labelled = [folder for folder in folders if fold_label(folder.label) == name]
    stores = [folder for folder in folders if folder.is_store]
    if stores and GMAIL in session.capabilities:  # so that a message has the same id as elsewhere
        system = mapping.GMAIL_SYSTEM_LABELS.get(name.upper())
        spelled = modified_utf7.encode(" ".join((query.label or "").split()))
        own = labelled[0].name if labelled else spelled
        return stores, [GMAIL_LABELS, astring(system or own)]
    if labelled:
        return labelled, []
    keyword = keyword_of_label(query.label or "")
    if keyword is None:
        return [], []
    return default_folders(folders), ["KEYWORD", keyword]


async def _search(
    session: Session, criteria: Sequence[str | bytes], fallback: Sequence[str | bytes]
) -> list[int]:
    """Search; a server that does not know UTF-8 is asked for *fallback*, the ASCII part."""
    if all(isinstance(part, str) for part in criteria):
        return await search_uids(session, criteria)
    with suppress(Rejected):  # not all of them say BADCHARSET
        return await search_uids(session, ["CHARSET UTF-8", *criteria])
    return await search_uids(session, fallback or ["ALL"])  # the caller checks what it reads


def keyword_of_label(label: str) -> str | None:
    """Return the keyword of a label; None where no keyword can stand for it."""
    keyword = modified_utf7.encode_keyword(" ".join(label.split()))
    return keyword if 0 < len(keyword) <= _MAX_KEYWORD and keyword[0] != "$" else None


_MAX_KEYWORD = 50  # Dovecot's bound


async def _read(
    session: Session, ids: MessageIds, candidates: Sequence[Candidate], projection: AbstractSet[str]
) -> dict[str, FetchedMessage]:
    """Read messages by id, folder by folder; those that are gone are left out."""
    messages: dict[str, FetchedMessage] = {}
    by_folder: dict[bytes, list[Candidate]] = {}
    for candidate in candidates:
        by_folder.setdefault(candidate.folder.name, []).append(candidate)
    for name, some in by_folder.items():
        await reading.open_folder(session, name)
        uids = [candidate.uid for candidate in some]
        read = await reading.read(session, some[0].folder, uids, projection, ids)
        messages |= {message.id: message for message in read.values()}
    return messages
