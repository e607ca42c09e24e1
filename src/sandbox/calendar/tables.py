"""The tables that the calendar store is kept in: every record whole, as JSON."""

from collections.abc import Iterator

import msgspec

from sandbox.calendar.records import StoredCalendar, StoredEvent
from sandbox.storage.database import Database

_TABLES = (
    """CREATE TABLE IF NOT EXISTS calendar (
        seq INTEGER PRIMARY KEY, change INTEGER NOT NULL, record BLOB NOT NULL) STRICT""",
    """CREATE TABLE IF NOT EXISTS calendar_event (
        seq INTEGER PRIMARY KEY, change INTEGER NOT NULL, record BLOB NOT NULL) STRICT""",
    "CREATE INDEX IF NOT EXISTS calendar_event_change ON calendar_event (change)",
)
_calendars = msgspec.json.Decoder(StoredCalendar)
_events = msgspec.json.Decoder(StoredEvent)


class CalendarTables:
    """Statements over one store; writing ones belong into a transaction of the caller's."""

    def __init__(self, db: Database) -> None:
        self._db = db
        db.define(*_TABLES)

    def put_calendar(self, calendar: StoredCalendar) -> None:
        """Keep a calendar as it is now."""
        self._put("calendar", calendar)

    def put_event(self, event: StoredEvent) -> None:
        """Keep an event as it is now."""
        self._put("calendar_event", event)

    def calendars_since(self, change: int) -> Iterator[StoredCalendar]:
        """Yield what came or changed after *change*, oldest change first."""
        return (_calendars.decode(record) for record in self._since("calendar", change))

    def events_since(self, change: int) -> Iterator[StoredEvent]:
        """Yield what came or changed after *change*, oldest change first."""
        return (_events.decode(record) for record in self._since("calendar_event", change))

    def _put(self, table: str, record: StoredCalendar | StoredEvent) -> None:
        self._db.run(
            f"INSERT OR REPLACE INTO {table} (seq, change, record) VALUES (?, ?, ?)",
            record.seq,
            record.change,
            msgspec.json.encode(record),
        )

    def _since(self, table: str, change: int) -> Iterator[bytes]:
        sql = f"SELECT record FROM {table} WHERE change > ? ORDER BY change"
        for (record,) in self._db.rows(sql, change):
            if isinstance(record, bytes):
                yield record
