"""
The history of an account: docs/spec/upstream/gmail.md#history.

A slice is one page of records. Records tell single additions and removals of labels, so what a
message was at the beginning of the page and is at its end follows from the first and the last
record of each label, and from the labels that no record names.
"""

import re
from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field

from providers.connectors.provider_a import batch
from providers.connectors.provider_a.batch import ROOT
from providers.connectors.provider_a.gmail.mapping import UNREAD_LABEL
from providers.connectors.provider_a.gmail.reading import UNLISTED
from providers.connectors.provider_a.gmail.response_types import (
    HistoryEntry,
    HistoryPage,
    HistoryRecord,
    Profile,
)
from providers.failures import Broken, Missing, Refused
from providers.http.client import Upstream
from providers.ids import is_provider_a_id
from providers.ports.changes import Change, ChangeSlice, Kind, PositionExpired

MAX_RECORDS = 500  # of a page
_POSITION = re.compile(r"(\d{1,20})(?:/([\w.=~-]{1,200}))?", re.ASCII)
_REFERENCE = "message(id,labelIds)"
_FIELDS = (
    f"history(messagesAdded({_REFERENCE}),messagesDeleted({_REFERENCE}),"
    f"labelsAdded({_REFERENCE},labelIds),labelsRemoved({_REFERENCE},labelIds)),"
    "nextPageToken,historyId"
)
_LABELS = (("format", "minimal"), ("fields", "id,labelIds"))


class GmailChanges:
    """Changes of one account; implements `providers.ports.changes.ChangePort`."""

    undivided: AbstractSet[str] = frozenset()

    def __init__(self, upstream: Upstream) -> None:
        self._upstream = upstream

    async def now(self) -> str:
        """Return the history id of the profile."""
        response = await self._upstream.call(
            "GET", *ROOT, "profile", params=(("fields", "historyId"),)
        )
        history_id = response.decode(Profile).history_id
        if not _POSITION.fullmatch(history_id):
            raise Broken
        return history_id

    async def since(self, position: str, *, limit: int) -> ChangeSlice:
        match = _POSITION.fullmatch(position)
        if match is None:
            raise PositionExpired
        start, token = match.groups()
        page = await self._page(start, token, min(max(limit, 1), MAX_RECORDS))
        more = page.next_page_token is not None
        following = f"{start}/{page.next_page_token}" if more else page.history_id or start
        if not _POSITION.fullmatch(following):
            raise Broken
        return ChangeSlice(changes=await self._changes(page.history), position=following, more=more)

    async def _page(self, start: str, token: str | None, size: int) -> HistoryPage:
        params = [("startHistoryId", start), ("maxResults", str(size)), ("fields", _FIELDS)]
        if token is not None:
            params.append(("pageToken", token))
        try:
            response = await self._upstream.call("GET", *ROOT, "history", params=params)
        except Missing as failure:
            raise PositionExpired from failure
        except Refused as failure:
            # A page token may die before its history id; the page of the id is read again.
            if token is None or failure.status != 400:
                raise
            return await self._page(start, None, size)
        return response.decode(HistoryPage)

    async def _changes(self, records: Sequence[HistoryRecord]) -> Sequence[Change]:
        histories: dict[str, _MessageHistory] = {}
        for record in records:
            for entry in record.messages_added:
                _of(entry, histories).is_new = True
            for entry in record.labels_added:
                _of(entry, histories).note(entry.label_ids, added=True)
            for entry in record.labels_removed:
                _of(entry, histories).note(entry.label_ids, added=False)
            for entry in record.messages_deleted:
                _of(entry, histories).is_gone = True
        unknown = [name for name, history in histories.items() if history.needs_labels]
        if unknown:
            read = await batch.messages(self._upstream, unknown, _LABELS)
            for name in unknown:
                histories[name].complete(read[name].label_ids if name in read else None)
        return [change for history in histories.values() if (change := history.change)]


@dataclass(slots=True)
class _MessageHistory:
    """
    The records of a page about one message.

    Attributes:
        labels: As a record showed them last, or as they were read; None: not known.
        first, last: Label to whether its first, and its last, record added it.
        is_new: Whether a record added the message.
        is_gone: Whether a record deleted it, or it could not be read.
    """

    id: str
    labels: AbstractSet[str] | None = None
    first: dict[str, bool] = field(default_factory=dict)
    last: dict[str, bool] = field(default_factory=dict)
    is_new: bool = False
    is_gone: bool = False

    def note(self, label_ids: Sequence[str], *, added: bool) -> None:
        """Note the labels that a record added or removed, oldest record first."""
        for label in label_ids:
            self.first.setdefault(label, added)
            self.last[label] = added

    @property
    def needs_labels(self) -> bool:
        """Whether the message must be read to know in which listing it is."""
        return self.labels is None and not self.is_gone

    def complete(self, labels: Sequence[str] | None) -> None:
        """Set the labels that were read; None: the message is gone."""
        self.labels = None if labels is None else frozenset(labels)
        self.is_gone = labels is None

    @property
    def change(self) -> Change | None:
        """
        The change of the message over the page; None: nothing that the listing shows.

        What came and went, or was changed and changed back, is told too: somebody may have read it
        in between.
        """
        before, after = self._labels(self.first, added=False), self._labels(self.last, added=True)
        has_moved = not UNLISTED.isdisjoint(self.first)
        is_listed = not self.is_gone and UNLISTED.isdisjoint(after)
        if not is_listed:
            # Labels of now may be those of a later page: a move from junk to the trash. A message
            # that was outside all the time may be told as gone.
            was_ever_listed = has_moved or UNLISTED.isdisjoint(before)
            return Change(id=self.id, kind=Kind.GONE) if was_ever_listed else None
        if self.is_new or has_moved:
            return Change(id=self.id, kind=Kind.CREATED)
        attributes = {"is_read" if label == UNREAD_LABEL else "labels" for label in self.first}
        if not attributes:
            return None
        return Change(id=self.id, kind=Kind.CHANGED, attributes=frozenset(attributes))

    def _labels(self, records: dict[str, bool], *, added: bool) -> AbstractSet[str]:
        """Return the labels, of which those that a record *added* are there, or were not."""
        named = {label for label, is_added in records.items() if is_added is added}
        return ((self.labels or frozenset()) - records.keys()) | named


def _of(entry: HistoryEntry, histories: dict[str, _MessageHistory]) -> _MessageHistory:
    """Return the history of an entry's message, with the labels that the entry shows."""
    message = entry.message
    if not is_provider_a_id(message.id):
        raise Broken
    history = histories.setdefault(message.id, _MessageHistory(message.id))
    if message.label_ids is not None:
        history.labels = frozenset(message.label_ids)
    return history
