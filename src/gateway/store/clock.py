"""
The clock that all processes on one database share (docs/spec/reliability.md#clocks).

Leases and the deletion of old rows take the time from it. On PostgreSQL, statements read the
server's clock themselves. SQLite is used by one machine, whose clock may jump: after a jump, leases
that look expired may still be held.
"""

from collections.abc import Callable

from sqlalchemy import BigInteger, ColumnElement, cast, extract, func, literal

from gateway.store.timestamps import ClockMs, now_ms, uptime

MAX_DIFFERENCE_MS = 5000  # to the database's clock, and of a jump of the machine's
# After a jump, until every living holder has renewed its lease or let it go: the longest is 35.
DISTRUST_SECONDS = 40.0

# Returns milliseconds since the epoch: a number, or an expression for a statement.
StatementClock = Callable[[], int | ColumnElement[int]]

_SERVER_NOW = cast(extract("epoch", func.clock_timestamp()) * 1000, BigInteger)


class DatabaseClock:
    """The clock of one database, as this process uses it."""

    def __init__(
        self, *, of_server: bool, wall: ClockMs = now_ms, steady: Callable[[], float] = uptime
    ) -> None:
        """
        Begin to watch for jumps.

        Args:
            of_server: Whether the database has a clock of its own.
            wall: The clock of this machine.
            steady: Seconds that no correction of *wall* changes.
        """
        self.of_server = of_server
        self.agrees = True  # whether *wall* did at the last comparison with the server's clock
        self._wall = wall
        self._steady = steady
        self._offset = self._wall_offset()
        self._distrusted_until = steady()

    def now(self) -> int | ColumnElement[int]:
        """Return the current time for a statement."""
        return _SERVER_NOW if self.of_server else self._wall()

    @property
    def is_trusted(self) -> bool:
        """Whether leases that look expired may be taken over and old rows deleted."""
        if self.of_server:
            return self.agrees
        offset = self._wall_offset()
        if abs(offset - self._offset) > MAX_DIFFERENCE_MS:
            self._offset, self._distrusted_until = offset, self._steady() + DISTRUST_SECONDS
        return self._steady() >= self._distrusted_until

    def _wall_offset(self) -> float:
        return self._wall() - self._steady() * 1000


def as_column(moment: int | ColumnElement[int]) -> ColumnElement[int]:
    """Return *moment* for the list of columns of a query."""
    return literal(moment, BigInteger) if isinstance(moment, int) else moment
