"""
Planned meetings and their occurrences, independent of any API.

A time is an aware datetime in the meeting's zone; an all-day meeting has dates, and its end date is
not part of it.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, time, timedelta
from types import MappingProxyType
from zoneinfo import ZoneInfo

from dateutil.rrule import rrulestr

from sandbox.calendar.records import Attendee

MeetingTime = datetime | date


@dataclass(frozen=True, slots=True, kw_only=True)
class CalendarPlan:
    """
    A calendar of one account.

    Attributes:
        key: Its name in `Meeting.calendar`; unique within the account.
        mailbox: The account: "provider-a" or "provider-b".
        can_edit: False for other people's calendars.
        colour: "#rrggbb".
    """

    key: str
    mailbox: str
    name: str
    zone: str
    is_primary: bool = False
    can_edit: bool = True
    colour: str = "#3f51b5"


@dataclass(frozen=True, slots=True, kw_only=True)
class OccurrenceChange:
    """
    A change of one occurrence of a series.

    Attributes:
        cancelled: The occurrence stays visible as cancelled.
        start, end, title: The new values; None for those of the series.
    """

    cancelled: bool = False
    start: MeetingTime | None = None
    end: MeetingTime | None = None
    title: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Meeting:
    """
    One planned event or series.

    Attributes:
        uid: The iCalendar UID; the same in every account that has a copy.
        calendar: Key of the `CalendarPlan`.
        organiser: Need not be among the attendees.
        start, end: Of the only or first occurrence.
        zone: IANA name of the zone it was planned in.
        rule: An RFC 5545 recurrence rule without ``RRULE:``; None for a single event.
        dropped: Starts of occurrences that are left out (EXDATE).
        changes: Changed occurrences, by their start by the rule.
        status: "confirmed", "tentative" or "cancelled".
        shows_as: "busy", "free", "tentative", "oof" or "workingElsewhere".
        my_response: The owner's response; "accepted" if she is the organiser.
        reminder: Minutes before; None for none.
    """

    uid: str
    calendar: str
    title: str
    description: str = ""
    location: str = ""
    organiser: Attendee
    attendees: tuple[Attendee, ...] = ()
    start: MeetingTime
    end: MeetingTime
    zone: str
    rule: str | None = None
    dropped: tuple[MeetingTime, ...] = ()
    changes: Mapping[MeetingTime, OccurrenceChange] = field(
        default_factory=lambda: MappingProxyType({})
    )
    status: str = "confirmed"
    shows_as: str = "busy"
    video_link: str | None = None
    categories: tuple[str, ...] = ()
    is_private: bool = False
    my_response: str = "accepted"
    reminder: int | None = 15

    @property
    def is_all_day(self) -> bool:
        """Whether it has dates rather than times."""
        return not isinstance(self.start, datetime)


@dataclass(frozen=True, slots=True, kw_only=True)
class Occurrence:
    """
    One occurrence of a meeting, perhaps cancelled.

    Attributes:
        original: Its start by the rule, which identifies it.
        is_exception: Whether anything differs from the series.
    """

    meeting: Meeting
    original: MeetingTime
    start: MeetingTime
    end: MeetingTime
    title: str
    cancelled: bool
    is_exception: bool


def occurrences(meeting: Meeting, since: datetime, until: datetime) -> Iterator[Occurrence]:
    """
    Yield the occurrences of *meeting* that overlap [since, until) (UTC), in the order of the rule.

    Cancelled ones are yielded, dropped ones are not. A moved one counts at its new time, an all-day
    one by its dates in UTC.
    """
    for original in _starts(meeting, until + timedelta(days=62)):
        if original in meeting.dropped:
            continue
        occurrence = _occurrence(meeting, original)
        if instant(occurrence.start) < until and instant(occurrence.end) > since:
            yield occurrence


def instant(moment: MeetingTime) -> datetime:
    """Return *moment* in UTC; for a date, midnight in UTC."""
    if isinstance(moment, datetime):
        return moment.astimezone(UTC)
    return datetime.combine(moment, time(), UTC)


def start_on_rule(
    start: MeetingTime, end: MeetingTime, rule: str | None
) -> tuple[MeetingTime, MeetingTime]:
    """Move *start* and *end* to the first day that matches *rule*."""
    if rule is None:
        return start, end
    first = _local(start)
    match = rrulestr(rule, dtstart=first).after(first, inc=True)
    shift: timedelta = timedelta() if match is None else match - first
    return start + shift, end + shift


def _occurrence(meeting: Meeting, original: MeetingTime) -> Occurrence:
    change = meeting.changes.get(original)
    start = original if change is None or change.start is None else change.start
    end = _end_for(meeting, original) if change is None or change.end is None else change.end
    return Occurrence(
        meeting=meeting,
        original=original,
        start=start,
        end=end,
        title=meeting.title if change is None or change.title is None else change.title,
        cancelled=meeting.status == "cancelled" or (change is not None and change.cancelled),
        is_exception=change is not None,
    )


def _starts(meeting: Meeting, until: datetime) -> Iterator[MeetingTime]:
    """Yield the starts, expanded in local time so that a clock change moves none of them."""
    if meeting.rule is None:
        yield meeting.start
        return
    first = _local(meeting.start)
    last = until.astimezone(ZoneInfo(meeting.zone)).replace(tzinfo=None)
    for start in rrulestr(meeting.rule, dtstart=first):
        if start > last:
            return
        yield _zoned(meeting, start)


def _end_for(meeting: Meeting, original: MeetingTime) -> MeetingTime:
    """Return the end of an occurrence; every occurrence has the same length in local time."""
    return _zoned(meeting, _local(original) + (_local(meeting.end) - _local(meeting.start)))


def _zoned(meeting: Meeting, local: datetime) -> MeetingTime:
    return local.date() if meeting.is_all_day else local.replace(tzinfo=ZoneInfo(meeting.zone))


def _local(moment: MeetingTime) -> datetime:
    if isinstance(moment, datetime):
        return moment.replace(tzinfo=None)
    return datetime.combine(moment, time())
