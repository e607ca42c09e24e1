"""Records of the calendar store: calendars, events and series, and the times in them."""

from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, time, timedelta
from functools import lru_cache
from zoneinfo import ZoneInfo


@dataclass(frozen=True, slots=True, eq=False)
class EventTime:
    """
    A moment, or a whole day, in a time zone; times of different zones can be equal.

    Attributes:
        zone: IANA name.
        at: UTC; None for a day.
        day: None for a moment.
    """

    zone: str
    at: datetime | None = None
    day: date | None = None

    @property
    def is_day(self) -> bool:
        """Whether it is a whole day."""
        return self.at is None

    @property
    def instant(self) -> datetime:
        """The moment, or the day's first moment, in UTC."""
        return self.at if self.at is not None else _utc(self.local, self.zone)

    @property
    def local(self) -> datetime:
        """The local time in its zone, as a naive datetime."""
        if self.at is None:
            return datetime.combine(self.day or date.min, time())
        return self.at.astimezone(load_zone(self.zone)).replace(tzinfo=None)

    @property
    def stamp(self) -> str:
        """The time as ids contain it: ``20260105T090000Z`` or ``20260105``."""
        if self.at is None:
            return self.local.strftime("%Y%m%d")
        return self.at.strftime("%Y%m%dT%H%M%SZ")

    def later(self, span: timedelta) -> "EventTime":
        """Add *span* to the local time; across a clock change, the elapsed time differs."""
        return from_local(self.local + span, self.zone, is_day=self.is_day)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, EventTime) and (self.at, self.day) == (other.at, other.day)

    def __hash__(self) -> int:
        return hash((self.at, self.day))


def from_local(local: datetime, zone_name: str, *, is_day: bool = False) -> EventTime:
    """
    Build a time from a naive local one.

    A local time that a clock change skips takes the offset before the change; of one that occurs
    twice, the first is meant (RFC 5545, 3.3.5).
    """
    if is_day:
        return EventTime(zone_name, day=local.date())
    return EventTime(zone_name, at=_utc(local, zone_name))


def from_instant(instant: datetime, zone_name: str = "UTC") -> EventTime:
    """Build a time from an aware datetime."""
    return EventTime(zone_name, at=instant.astimezone(UTC))


@lru_cache(maxsize=1024)
def load_zone(name: str) -> ZoneInfo:
    """
    Load a time zone by its IANA name.

    Raises:
        ValueError: There is no such zone.
    """
    try:
        return ZoneInfo(name)
    except (KeyError, OSError) as error:
        raise ValueError(f"no such time zone: {name}") from error


def _utc(local: datetime, zone_name: str) -> datetime:
    return local.replace(tzinfo=load_zone(zone_name)).astimezone(UTC)


@dataclass(frozen=True, slots=True, kw_only=True)
class Attendee:
    """An attendee; *response* is "accepted", "declined", "tentative" or "needsAction"."""

    email: str
    name: str = ""
    response: str = "needsAction"
    is_optional: bool = False
    is_resource: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class EventContent:
    """
    The content of an event; of a series, that of every occurrence without an override.

    Attributes:
        title: None when it has none.
        is_html: Whether the description is HTML.
        organiser: None for an event without attendees whose creator is unknown.
        status: "confirmed", "tentative" or "cancelled" (by its organiser; it stays visible).
        shows_as: "busy", "free", "tentative", "oof" or "workingElsewhere".
        my_response: Response of the account's owner; the values of `Attendee.response`.
        reminder: Minutes before; None for none.
    """

    start: EventTime
    end: EventTime
    title: str | None = None
    description: str = ""
    is_html: bool = False
    location: str = ""
    organiser: Attendee | None = None
    attendees: tuple[Attendee, ...] = ()
    status: str = "confirmed"
    shows_as: str = "busy"
    video_link: str | None = None
    categories: tuple[str, ...] = ()
    is_private: bool = False
    my_response: str = "accepted"
    reminder: int | None = None
    importance: str = "normal"

    @property
    def is_all_day(self) -> bool:
        """Whether it begins and ends with whole days."""
        return self.start.is_day

    def starting_at(self, start: EventTime) -> "EventContent":
        """Return the same content at another start, with the same length in local time."""
        if self.start.zone == self.end.zone:
            return replace(self, start=start, end=start.later(self.end.local - self.start.local))
        length = self.end.instant - self.start.instant
        return replace(self, start=start, end=from_instant(start.instant + length, self.end.zone))


@dataclass(frozen=True, slots=True, kw_only=True)
class Recurrence:
    """
    The starts of a series in addition to its first.

    Attributes:
        rules: RFC 5545 recurrence rules without ``RRULE:``.
        added: Further starts (RDATE).
        dropped: Starts that are left out (EXDATE).
    """

    rules: tuple[str, ...] = ()
    added: tuple[EventTime, ...] = ()
    dropped: tuple[EventTime, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Override:
    """
    An occurrence that differs from its series.

    Attributes:
        original: Its start by the series, which identifies it.
        content: Its whole content; None for a cancelled one without any.
    """

    original: EventTime
    content: EventContent | None = None
    cancelled: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredCalendar:
    """
    One calendar of an account.

    Attributes:
        id: Its id in the API, except that provider A uses the account's address for the primary.
        zone: IANA name.
        can_edit: False for other people's calendars.
        colour: "#rrggbb".
        change: Number of its latest change. Every change in the store has a number, in order.
    """

    seq: int
    mailbox: str
    id: str
    name: str
    zone: str
    description: str = ""
    is_primary: bool = False
    can_edit: bool = True
    is_deleted: bool = False
    colour: str = "#3f51b5"
    change: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class NewEvent:
    """An event or series to add; only some clients of provider A choose the *id*."""

    content: EventContent
    uid: str = ""
    recurrence: Recurrence | None = None
    overrides: tuple[Override, ...] = ()
    id: str = ""
    created_ms: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredEvent:
    """
    One event or series of one calendar.

    Attributes:
        calendar: The `StoredCalendar.seq`.
        id: Its id in the API; provider B's plain id.
        immutable_id: Never changes; equal to *id* on provider A.
        uid: The iCalendar UID.
        recurrence: None for a single event.
        is_deleted: Deleted events are stored because both APIs can list them.
        sequence: Number of changes of its time.
        created_change: The change number at which it was added; 0: by an earlier version.
    """

    seq: int
    mailbox: str
    calendar: int
    id: str
    immutable_id: str
    uid: str
    content: EventContent
    recurrence: Recurrence | None = None
    overrides: tuple[Override, ...] = ()
    is_deleted: bool = False
    sequence: int = 0
    created_ms: int = 0
    updated_ms: int = 0
    change: int = 0
    created_change: int = 0

    def override(self, original: EventTime) -> Override | None:
        """Return the override of one occurrence; None when it has none."""
        return next(
            (override for override in self.overrides if override.original == original), None
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Occurrence:
    """
    A single event, or one occurrence of a series.

    Attributes:
        original: Its start by the series, which identifies it; None for a single event.
        content: With its own start and end.
        is_bare: Whether it was cancelled on its own, so that only its original start is left.
    """

    event: StoredEvent
    original: EventTime | None
    content: EventContent
    cancelled: bool = False
    is_exception: bool = False
    is_bare: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Window:
    """A period in UTC, half-open; None means without a limit."""

    since: datetime | None = None
    until: datetime | None = None

    def overlaps(self, content: EventContent) -> bool:
        """Whether *content* overlaps the window; an event without length counts by its start."""
        start, end = content.start.instant, content.end.instant
        if self.until is not None and start >= self.until:
            return False
        return self.since is None or end > self.since or start >= self.since


UNBOUNDED = Window()
