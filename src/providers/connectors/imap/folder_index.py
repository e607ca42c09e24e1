"""
UIDs and received times of the messages of one folder, kept between requests.

They never change, so each is read once. The order of a listing, a filter by time and the number of
messages then cost no command: docs/spec/upstream/imap.md#order.
"""

from collections.abc import Iterable
from itertools import chain, islice, pairwise

from providers.connectors.imap import received_times
from providers.connectors.imap.folders import Folder
from providers.connectors.imap.received_times import ReceivedTimes
from providers.failures import Broken
from providers.imap import parsing, sequence_sets
from providers.imap.session import Reply, Session
from providers.turns import in_thread

_ROWS_PER_COMMAND = 50_000


class FolderIndex:
    """The messages of one folder. Its method runs once at a time, and with the folder open."""

    def __init__(self) -> None:
        self._uid_validity = 0
        self._forget()

    def _forget(self) -> None:
        self._uid_next = 1  # all new messages have this UID or a higher one
        self._times = ReceivedTimes.of({})

    async def read(self, session: Session, folder: Folder) -> ReceivedTimes:
        """
        Return the received times of all messages of a folder, as it was listed or later.

        Raises:
            ProviderFailure: As `Session.command`.
        """
        if folder.uid_validity != self._uid_validity:  # the folder is another one
            self._uid_validity = folder.uid_validity
            self._forget()
        if 0 < folder.uid_next < self._uid_next:  # 0: the server does not tell it
            return self._times  # another request has seen a later state
        for rows in await self._new_rows(session, folder):
            await self._add(session, rows)
        self._uid_next = max(self._uid_next, folder.uid_next)
        if folder.messages != len(self._times):  # some were removed
            present = set(await search(session, ["ALL"]))
            self._times = ReceivedTimes.of(
                {uid: time for uid, time in self._times.items() if uid in present}
            )
        return self._times

    async def _new_rows(self, session: Session, folder: Folder) -> list[str]:
        """Return the ranges of UIDs to read, each for one command; many are searched for before."""
        first = self._uid_next
        if folder.uid_next - first <= _ROWS_PER_COMMAND:
            return [] if folder.uid_next == first else [f"{first}:*"]
        uids = await search(session, [f"UID {first}:*"])
        uids = await in_thread(lambda: sorted(uids), is_long=len(uids) > _MANY)
        portions = range(0, len(uids), _ROWS_PER_COMMAND)
        return [
            f"{uids[start]}:{uids[min(start + _ROWS_PER_COMMAND, len(uids)) - 1]}"
            for start in portions
        ]

    async def _add(self, session: Session, rows: str) -> None:
        """Add the times of a range of UIDs; they stay when a later command fails."""
        reply = await session.command(f"UID FETCH {rows} (UID INTERNALDATE)")
        times = await reply.parsed(received_times.read)
        self._times = self._times.with_newer(
            {uid: time for uid, time in times.items() if uid >= self._uid_next}
        )
        self._uid_next = max(self._uid_next, self._times.last_uid + 1)


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
