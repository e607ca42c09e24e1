"""
UIDs and received times of the messages of one folder, kept between requests.

They never change, so each is read once. The order of a listing, a filter by time and the number of
messages then cost no command: docs/spec/upstream/imap.md#order.
"""

from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from itertools import chain, islice, pairwise
from typing import TypeAlias, TypeVar

from providers.connectors.imap import received_times
from providers.connectors.imap.folders import Folder
from providers.connectors.imap.received_times import MAX_TIME, NEVER, ReceivedTimes
from providers.failures import Broken
from providers.imap import parsing, sequence_sets
from providers.imap.session import Rejected, Reply, Session
from providers.turns import in_thread, in_turns

T = TypeVar("T")

# Reads the received times of messages by UID; messages that are gone are left out.
ReadTimes: TypeAlias = Callable[[Sequence[int]], Awaitable[Mapping[int, int]]]

_ROWS_PER_COMMAND = 50_000
_RANGES_PER_COMMAND = 350  # 8 KB, the longest line that RFC 7162 demands of servers
_FEW = 1000  # messages whose times are read without more ado
_GROWTH = 20  # so many times more are read when those that are known do not suffice


class FolderIndex:
    """
    The messages of one folder: at first those that are needed, in the end all.

    Its methods run one after another, and with the folder open.

    Attributes:
        times: What is known; another object after each change.
    """

    def __init__(self) -> None:
        self._uid_validity = 0
        self._forget()

    def _forget(self) -> None:
        self._uid_next = 1  # all new messages have this UID or a higher one
        self._is_half_read = False  # the first messages are known, and no others
        self.times = ReceivedTimes.of({}, complete_from=NEVER)

    async def refresh(self, session: Session, folder: Folder) -> None:
        """
        Bring what is known up to date.

        Raises:
            ProviderFailure: As `Session.command`.
        """
        if folder.uid_validity != self._uid_validity:  # the folder is another one
            self._uid_validity = folder.uid_validity
            self._forget()
        if self._is_half_read or self._uid_next == 1 or folder.uid_next < self._uid_next:
            return  # there is nothing, or another request has seen a later state
        if folder.uid_next - self._uid_next > _ROWS_PER_COMMAND:
            self._forget()
            return
        if folder.uid_next > self._uid_next:
            await self._add_new(session, folder)
        if folder.messages != len(self.times) + self.times.others:  # some were removed
            if self.times.is_whole:
                await self._drop_removed(session)
            else:
                await self._read_newest(session, folder, len(self.times), drops_others=True)

    async def cover(  # noqa: PLR0913 - bounds, number and how to read
        self,
        session: Session,
        folder: Folder,
        *,
        low: int,
        high: int,
        number: int,
        read: ReadTimes | None = None,
    ) -> None:
        """
        Know the newest *number* messages from *low* to *high*, and how many there are in all.

        Args:
            session: Has the folder open.
            folder: As it was listed.
            low: Seconds since the epoch; 0: there is no bound.
            high: Seconds since the epoch; `MAX_TIME`: there is no bound.
            number: At least 1.
            read: Reads the times of the first messages of a large folder without a bound *high*, if
                nothing is known.

        Raises:
            ProviderFailure: As `Session.command`.
        """
        if self.times.complete_from == NEVER and high == MAX_TIME:
            # An older one more shows that the messages of the last second are complete.
            await self._read_more(session, folder, number + 1, read)
        while not self._covers(low, high, number):
            size = max(_FEW, _GROWTH * len(self.times))
            await self._read_more(session, folder, size, None)

    def _covers(self, low: int, high: int, number: int) -> bool:
        times = self.times
        if times.is_whole:
            return True
        if low:
            return times.complete_from <= low
        return times.count(times.complete_from, high) >= number

    async def _read_more(
        self, session: Session, folder: Folder, number: int, read: ReadTimes | None
    ) -> None:
        """Know the newest *number* messages, or all."""
        before = self.times.complete_from
        if folder.messages > max(_FEW, 2 * number) and _sorts(session) and not self._is_half_read:
            await self._read_newest(session, folder, number, read)
        if self.times.complete_from >= before:
            await self._read_all(session, folder)

    async def times_of(
        self, session: Session, folder: Folder, uids: Sequence[int]
    ) -> dict[int, int]:
        """
        Return the received times of messages by UID; messages that are gone are left out.

        Raises:
            ProviderFailure: As `Session.command`.
        """
        unknown = [uid async for uid in in_turns(uids) if self.times.time(uid) is None]
        times = {}
        if unknown and (folder.messages <= _FEW or len(unknown) > _FEW):
            await self._read_all(session, folder)
        elif unknown:
            times = await read_times(session, unknown)
            self._add_some(folder, times)
        async for uid in in_turns(uids):
            if (time := self.times.time(uid)) is not None:
                times[uid] = time
        return times

    def _add_some(self, folder: Folder, times: Mapping[int, int]) -> None:
        if self._is_half_read:
            return
        if self._uid_next == 1:
            self._uid_next = folder.uid_next
            self.times = ReceivedTimes.of({}, complete_from=NEVER, others=folder.messages)
        old = {uid: time for uid, time in times.items() if uid < folder.uid_next}
        others = max(0, self.times.others - len(old))
        self.times = ReceivedTimes.of(
            dict(self.times.items()) | old,
            complete_from=self.times.complete_from if others else 0,
            others=others,
        )

    async def _add_new(self, session: Session, folder: Folder) -> None:
        """Read all messages that have come since; none of them was among the others."""
        await self._append(
            await session.command(f"UID FETCH {self._uid_next}:* (UID INTERNALDATE)")
        )
        self._uid_next = max(self._uid_next, folder.uid_next)

    async def _append(self, reply: Reply) -> None:
        times = await reply.parsed(received_times.read)
        new = {uid: time for uid, time in times.items() if uid >= self._uid_next}
        self.times = self.times.with_newer(new)
        self._uid_next = max(self._uid_next, self.times.last_uid + 1)

    async def _read_all(self, session: Session, folder: Folder) -> None:
        """Read all times; those of the first messages are kept when a command fails."""
        if not self._is_half_read or folder.messages - len(self.times) > _ROWS_PER_COMMAND:
            self._forget()
        self._is_half_read = True
        if folder.messages - len(self.times) <= _ROWS_PER_COMMAND:
            await self._add_new(session, folder)
        else:
            for first in range(1, folder.messages + 1, _ROWS_PER_COMMAND):
                last = first + _ROWS_PER_COMMAND - 1
                last_row = "*" if last >= folder.messages else str(last)
                command = f"FETCH {first}:{last_row} (UID INTERNALDATE)"
                await self._append(await session.command(command))
            self._uid_next = max(self._uid_next, folder.uid_next)
        self._is_half_read = False
        self.times = self.times.as_whole()

    async def _read_newest(
        self,
        session: Session,
        folder: Folder,
        number: int,
        read: ReadTimes | None = None,
        *,
        drops_others: bool = False,
    ) -> None:
        """
        Know the newest messages as the server has them now, and the number of the others.

        *drops_others*: some of those that were known may be gone.
        """
        newest = await _newest(session, number)
        if newest is None:
            await self._read_all(session, folder)
            return
        uids, messages = newest
        known = {
            uid: time
            for uid, time in self.times.items()
            # Another request may have seen a message come that this session does not know yet.
            if uid in uids or not drops_others or uid >= folder.uid_next
        }
        unknown = sorted(uids - known.keys())
        if unknown:
            known |= await (read(unknown) if read else read_times(session, unknown))
        oldest = min((known[uid] for uid in uids & known.keys()), default=MAX_TIME)
        counted = sum(1 for uid in known if uid in uids or uid < folder.uid_next)
        self.times = ReceivedTimes.of(
            known,
            complete_from=oldest + 1 if len(uids) < messages else 0,
            others=max(0, messages - counted),
        )
        self._uid_next = max(self._uid_next, folder.uid_next, self.times.last_uid + 1)

    async def _drop_removed(self, session: Session) -> None:
        present = set(await search(session, ["ALL"]))
        times = {uid: time for uid, time in self.times.items() if uid in present}
        unknown = [uid for uid in present if uid < self._uid_next and uid not in times]
        if unknown:
            times |= await read_times(session, unknown)
        self.times = ReceivedTimes.of(times)


async def read_times(session: Session, uids: Iterable[int]) -> dict[int, int]:
    """
    Return the received times of messages of the open folder by UID.

    Raises:
        ProviderFailure: As `Session.command`.
    """
    times: dict[int, int] = {}
    for some in _portions(sorted(uids), _ROWS_PER_COMMAND):
        for ranges in _portions(sequence_sets.write(some).split(","), _RANGES_PER_COMMAND):
            reply = await session.command(f"UID FETCH {','.join(ranges)} (UID INTERNALDATE)")
            times |= await reply.parsed(received_times.read)
    return times


def _portions(items: Sequence[T], size: int) -> Iterator[Sequence[T]]:
    for start in range(0, len(items), size):
        yield items[start : start + size]


async def search(session: Session, criteria: Iterable[str | bytes]) -> list[int]:
    """
    Return the UIDs in the open folder that match, in any order.

    Raises:
        ProviderFailure: As `Session.command`.
    """
    if "ESEARCH" in session.capabilities:
        reply = await session.command("UID SEARCH RETURN (ALL)", *criteria)
        ranges = await reply.parsed(lambda reply: _ranges(_extended(reply).get("ALL")))
        return await in_thread(
            lambda: list(chain.from_iterable(ranges)), is_long=sum(map(len, ranges)) > _MANY
        )
    return await (await session.command("UID SEARCH", *criteria)).parsed(_listed)


def _listed(reply: Reply) -> list[int]:
    words = (word for line in reply.texts("SEARCH") for word in line.split() if word.isdigit())
    uids = [int(word) for word in islice(words, _MAX_FOUND + 1)]
    if len(uids) > _MAX_FOUND:
        raise Broken
    return uids


def _sorts(session: Session) -> bool:
    """
    Return whether the server returns a part of a sorted list: RFC 5267.

    Dovecot 2.3 does, and announces CONTEXT=SEARCH alone.
    """
    return "ESORT" in session.capabilities and bool(
        {"CONTEXT=SORT", "CONTEXT=SEARCH"} & session.capabilities
    )


async def _newest(session: Session, number: int) -> tuple[set[int], int] | None:
    """
    Return the UIDs of the newest messages, and the number of all.

    None: the server cannot report them.
    """
    parts = f"RETURN (PARTIAL 1:{number} COUNT) (REVERSE ARRIVAL) UTF-8 ALL"
    try:
        values = _extended(await session.command(f"UID SORT {parts}"))
    except Rejected:
        return None
    partial, count = values.get("PARTIAL"), values.get("COUNT")
    if not isinstance(partial, list) or len(partial) != len(("range", "uids")) or count is None:
        return None
    return set(chain.from_iterable(_ranges(partial[1]))), parsing.number(count)


def _extended(reply: Reply) -> dict[str, parsing.Value]:
    """Return the results of an ESEARCH response (RFC 4731) by name."""
    results: dict[str, parsing.Value] = {}
    for line in reply.texts("ESEARCH"):
        for name, value in pairwise(parsing.parse([line])):
            if isinstance(name, bytes):
                results[name.decode("ascii", "replace").upper()] = value
    return results


def _ranges(value: parsing.Value) -> list[range]:
    try:
        return sequence_sets.read(parsing.text(value), most=_MAX_FOUND)
    except ValueError as failure:
        raise Broken from failure


_MAX_FOUND = 1_000_000
_MANY = 10_000  # numbers; a millisecond of work
