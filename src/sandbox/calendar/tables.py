"""Database tables of the calendar store; each row holds a whole record as JSON."""

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
_calendar_decoder = msgspec.json.Decoder(StoredCalendar)
_event_decoder = msgspec.json.Decoder(StoredEvent)


class CalendarTables:
    """Statements on the tables; callers wrap writing ones in a transaction."""

    def __init__(self, db: Database) -> None:
        self._db = db
        db.define(*_TABLES)

    def put_calendar(self, calendar: StoredCalendar) -> None:
        """Insert or replace a calendar."""
        self._put("calendar", calendar)

    def put_event(self, event: StoredEvent) -> None:
        """Insert or replace an event."""
        self._put("calendar_event", event)

    def calendars_since(self, change: int) -> Iterator[StoredCalendar]:
        """Yield the calendars added or changed after *change*, oldest change first."""
        return (_calendar_decoder.decode(record) for record in self._since("calendar", change))

    def events_since(self, change: int) -> Iterator[StoredEvent]:
        """Yield the events added or changed after *change*, oldest change first."""
        return (_event_decoder.decode(record) for record in self._since("calendar_event", change))

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
