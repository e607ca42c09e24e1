"""Rows of a listing, by comparing it with what the token saw of it."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any

from graph.changes import state
from graph.changes.following import Call, Outcome, failed, shown
from graph.changes.state import ListingFollowed, Row
from providers.failures import ProviderFailure, TooMuch
from providers.fanout import ConnectionWarning
from providers.turns import in_turns

# Public id -> the connection that it was read from, and the digests of its members.
_Digests = dict[str, tuple[int, bytes]]


class ListingFeed:
    """
    The feed of one listing for one call.

    Attributes:
        seen: The attributes of its objects that the token sees.
        known: What is known of its connections; empty when that cannot be compared.
    """

    def __init__(  # noqa: PLR0913 - what a listing is compared by
        self,
        call: Call,
        connections: Sequence[int],
        seen: tuple[str, ...],
        *,
        most: int,
        seen_on: Mapping[int, tuple[str, ...]] = MappingProxyType({}),
        is_valid: Callable[[ListingFollowed], bool] = lambda _: True,
    ) -> None:
        """
        Take the *connections* whose objects the listing has, *most* of which can be followed.

        *seen_on*: what of *seen* each account shows, if not all. *is_valid*: whether something
        known can still be compared.
        """
        self.seen, self._seen_on = seen, seen_on
        self._call, self._connections, self._most = call, connections, most
        self.known = {
            name: followed
            for name, followed in call.known.items()
            if isinstance(followed, ListingFollowed)
            and name in connections
            and followed.seen == seen_on.get(name, seen)
            and is_valid(followed)
        }
        if len(self.known) < len(connections):
            self.known = {}

    def failed(
        self, failure: ProviderFailure, warnings: Sequence[ConnectionWarning] = ()
    ) -> Mapping[int, Outcome]:
        """Return the outcomes of a listing that could not be read whole: no rows."""
        outcomes = {}
        for name in self._connections:
            own = [warning for warning in warnings if warning.connection.id == name]
            reason = own[0].failure if own else failure
            outcomes[name] = failed(self._call.known.get(name), reason, *own)
        return outcomes

    @property
    def positions(self) -> Mapping[str, str]:
        """The positions that are known."""
        known = self.known.values()
        return dict(pair for followed in known for pair in followed.positions.items())

    async def compare(
        self,
        objects: Mapping[int, Sequence[Any]],
        *,
        start: int = 0,
        end: int = 0,
        unchanged: tuple[str, ...] = (),
        positions: Mapping[str, str] = MappingProxyType({}),
    ) -> Mapping[int, Outcome]:
        """
        Return what the connections tell, whose objects are the records *objects*.

        *start*, *end*: of a listing with a range, in milliseconds since the epoch. *unchanged*:
        beginnings of the ids of the objects that are as they were. *positions* are kept.
        """
        before: _Digests = {
            object_id: (name, seen)
            for name, followed in self.known.items()
            for object_id, seen in followed.digests.items()
        }
        after = {name: before[name] for name in before if unchanged and name.startswith(unchanged)}
        if len(after) + sum(map(len, objects.values())) > self._most:
            return self.failed(TooMuch())
        pairs = ((name, record) for name, records in objects.items() for record in records)
        async for name, record in in_turns(pairs):
            values = (getattr(record, attribute) for attribute in self.seen)
            after[record.id] = name, state.digests(self._call.key, values)
        rows: dict[int, list[Row]] = {name: [] for name in self._connections}
        async for row in in_turns(self._rows(before, after)):
            rows[row.connection].append(row)
        digests: dict[int, dict[str, bytes]] = {name: {} for name in self._connections}
        for object_id, (name, seen) in after.items():
            digests[name][object_id] = seen
        return {
            name: Outcome(
                followed=ListingFollowed(
                    self._call.now,
                    self._seen_on.get(name, self.seen),
                    start,
                    end,
                    digests[name],
                    dict(positions),
                ),
                rows=tuple(rows[name]),
            )
            for name in self._connections
        }

    def _rows(self, before: _Digests, after: _Digests) -> Iterator[Row]:
        """Yield the rows: first what is gone, then the others in the order of the listing."""
        makers = {name: self._call.rows(name) for name in self._connections}
        if not self.known:
            if self._call.origin:
                yield from (maker.row(state.RESYNC, None) for maker in makers.values())
            return
        for object_id, (name, _) in before.items():
            if object_id not in after:
                yield makers[name].row(state.GONE, object_id)
        names = shown(self.seen)
        for object_id, (name, seen) in after.items():
            if object_id not in before:
                kind = state.APPEARED if self._call.is_wider else state.CREATED
                yield makers[name].row(kind, object_id, seen=seen)
            elif before[object_id][1] != seen:
                changed = state.differing(before[object_id][1], seen, names)
                yield makers[name].row(state.CHANGED, object_id, changed, seen)
