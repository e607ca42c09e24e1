"""What the calendar store keeps: calendars, events and series, and the times in them."""

from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, time, timedelta
from functools import lru_cache
from zoneinfo import ZoneInfo


@dataclass(frozen=True, slots=True, eq=False)
class EventTime:
    """
    A moment by the clock of a zone, or a whole day. Equal to another that names the same.

    Attributes:
        zone: IANA name: whose clock, and where the day begins.
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
        """The moment, or the first one of the day, in UTC."""
        return self.at if self.at is not None else _utc(self.local, self.zone)

    @property
    def local(self) -> datetime:
        """What the clock of its zone shows, without a zone."""
        if self.at is None:
            return datetime.combine(self.day or date.min, time())
        return self.at.astimezone(load_zone(self.zone)).replace(tzinfo=None)

    @property
    def stamp(self) -> str:
        """Its name in ids: ``20260105T090000Z`` or ``20260105``."""
        if self.at is None:
            return self.local.strftime("%Y%m%d")
        return self.at.strftime("%Y%m%dT%H%M%SZ")

    def later(self, span: timedelta) -> "EventTime":
        """Return what the clock shows *span* later, which a clock change may stretch or shorten."""
        return from_local(self.local + span, self.zone, is_day=self.is_day)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, EventTime) and (self.at, self.day) == (other.at, other.day)

    def __hash__(self) -> int:
        return hash((self.at, self.day))


def from_local(local: datetime, zone_name: str, *, is_day: bool = False) -> EventTime:
    """
    Read what a clock shows; *local* has no zone.

    A time that the clock skips is read with the offset before the change, one that it shows twice
    is the first of the two (RFC 5545, 3.3.5).
    """
    if is_day:
        return EventTime(zone_name, day=local.date())
    return EventTime(zone_name, at=_utc(local, zone_name))


def from_instant(instant: datetime, zone_name: str = "UTC") -> EventTime:
    """Return an aware datetime as a moment of *zone_name*."""
    return EventTime(zone_name, at=instant.astimezone(UTC))


@lru_cache(maxsize=1024)
def load_zone(name: str) -> ZoneInfo:
    """
    Return a zone by its IANA name.

    Raises:
        ValueError: There is none.
    """
    try:
        return ZoneInfo(name)
    except (KeyError, OSError) as problem:
        raise ValueError(f"no such time zone: {name}") from problem


def _utc(local: datetime, zone_name: str) -> datetime:
    return local.replace(tzinfo=load_zone(zone_name)).astimezone(UTC)


@dataclass(frozen=True, slots=True, kw_only=True)
class Attendee:
    """Somebody asked: *response* is "accepted", "declined", "tentative" or "needsAction"."""

    email: str
    name: str = ""
    response: str = "needsAction"
    is_optional: bool = False
    is_resource: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class EventContent:
    """
    What an event says; of a series, what its occurrences say unless they differ.

    Attributes:
        title: None when it has none at all.
        is_html: Whether the description is HTML.
        organiser: None for an event that never had guests and was made by nobody in particular.
        status: "confirmed", "tentative" or "cancelled" (by its organiser; it stays to be seen).
        shows_as: "busy", "free", "tentative", "oof" or "workingElsewhere".
        my_response: What the account's owner answered.
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
        """Whether it has days rather than moments."""
        return self.start.is_day

    def starting_at(self, start: EventTime) -> "EventContent":
        """Return the same, as long by the clock, at another time."""
        if self.start.zone == self.end.zone:
            return replace(self, start=start, end=start.later(self.end.local - self.start.local))
        long = self.end.instant - self.start.instant
        return replace(self, start=start, end=from_instant(start.instant + long, self.end.zone))


@dataclass(frozen=True, slots=True, kw_only=True)
class Recurrence:
    """
    When a series takes place beside its first time.

    Attributes:
        rules: RFC 5545 recurrence rules without ``RRULE:``.
        added: Further starts (RDATE).
        dropped: Starts that are taken out without a trace (EXDATE).
    """

    rules: tuple[str, ...] = ()
    added: tuple[EventTime, ...] = ()
    dropped: tuple[EventTime, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Override:
    """
    One occurrence that differs.

    Attributes:
        original: The start that the series gives it, which names it.
        content: All of it; of a cancelled one, None when nothing is left of it.
    """

    original: EventTime
    content: EventContent | None = None
    cancelled: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredCalendar:
    """
    One calendar of an account.

    Attributes:
        id: What the wire calls it; of provider A's primary one, the account's address.
        zone: IANA name.
        can_edit: False for calendars that somebody else keeps.
        colour: "#rrggbb".
        change: Counts up over the whole store with every change of anything: an ETag.
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
    """An event or series to be added; *id* is given by some clients of provider A."""

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
        id: What the wire calls it; provider B's plain id.
        immutable_id: Never changes; equal to *id* on provider A.
        uid: The iCalendar UID.
        recurrence: None for a single event.
        is_deleted: Gone for its readers; kept so that it can be told.
        sequence: How often its time has changed.
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

    def override(self, original: EventTime) -> Override | None:
        """Return what is different about one occurrence, None when nothing is."""
        return next(
            (override for override in self.overrides if override.original == original), None
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Occurrence:
    """
    A single event, or one time of a series.

    Attributes:
        original: The start that names it in its series; None for a single event.
        content: With its own start and end.
        is_bare: Whether it is cancelled and nothing is left of it but its name.
    """

    event: StoredEvent
    original: EventTime | None
    content: EventContent
    cancelled: bool = False
    is_exception: bool = False
    is_bare: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Window:
    """A stretch of time in UTC, half-open; None is open-ended."""

    since: datetime | None = None
    until: datetime | None = None

    def overlaps(self, content: EventContent) -> bool:
        """Whether *content* overlaps it; what has no length counts by its start."""
        start, end = content.start.instant, content.end.instant
        if self.until is not None and start >= self.until:
            return False
        return self.since is None or end > self.since or start >= self.since


UNBOUNDED = Window()
