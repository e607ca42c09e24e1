"""
Planned meetings as values, independent of any wire, and what recurrence makes of them.

A time is an aware datetime in the zone it was planned in; an all-day meeting has dates, the end not
part of it.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, time, timedelta
from types import MappingProxyType
from zoneinfo import ZoneInfo

from dateutil.rrule import rrulestr

MeetingTime = datetime | date


@dataclass(frozen=True, slots=True, kw_only=True)
class CalendarPlan:
    """
    A calendar of one account.

    Attributes:
        key: How `Meeting.calendar` names it; unique within the account.
        mailbox: The account: "provider-a" or "provider-b".
        can_edit: False for calendars that somebody else keeps.
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
class Invitee:
    """Somebody asked: *response* is "accepted", "declined", "tentative" or "needsAction"."""

    email: str
    name: str = ""
    response: str = "needsAction"
    is_optional: bool = False
    is_resource: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class OccurrenceChange:
    """
    What differs in one occurrence of a series.

    Attributes:
        cancelled: It will not take place, but stays to be seen as cancelled.
        start, end, title: The new ones; None leaves that of the series.
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
        uid: The iCalendar UID; equal in every account that has a copy.
        calendar: Key of the `CalendarPlan`.
        organiser: Who called it, and their address; need not be among the attendees.
        start, end: Of the only or first occurrence.
        zone: IANA name of the zone it was planned in.
        rule: An RFC 5545 recurrence rule without ``RRULE:``; None for a single event.
        dropped: Starts of occurrences taken out without a trace (EXDATE).
        changes: By the start that the rule gives: occurrences that differ.
        status: "confirmed", "tentative" or "cancelled".
        shows_as: "busy", "free", "tentative", "oof" or "workingElsewhere".
        my_response: What the account's owner answered; "accepted" when she organises it.
        reminder: Minutes before; None for none.
    """

    uid: str
    calendar: str
    title: str
    description: str = ""
    location: str = ""
    organiser: Invitee
    attendees: tuple[Invitee, ...] = ()
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
    One time at which a meeting takes place, or would have.

    Attributes:
        original: The start that the rule gives, which names the occurrence.
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
    Yield what of *meeting* overlaps [since, until) (UTC), in the order of the rule.

    Cancelled ones are yielded and marked; dropped ones are not. A moved one counts where it was
    moved to. All-day ones count by their dates at UTC.
    """
    for original in _starts(meeting, until + timedelta(days=62)):
        if original in meeting.dropped:
            continue
        found = _occurrence(meeting, original)
        if instant(found.start) < until and instant(found.end) > since:
            yield found


def instant(moment: MeetingTime) -> datetime:
    """Return *moment* in UTC; a date is its midnight at UTC."""
    if isinstance(moment, datetime):
        return moment.astimezone(UTC)
    return datetime.combine(moment, time(), UTC)


def start_on_rule(
    start: MeetingTime, end: MeetingTime, rule: str | None
) -> tuple[MeetingTime, MeetingTime]:
    """Move *start* and *end* on to the first day that *rule* gives."""
    if rule is None:
        return start, end
    first = _local(start)
    found = rrulestr(rule, dtstart=first).after(first, inc=True)
    later: timedelta = timedelta() if found is None else found - first
    return start + later, end + later


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
    """Yield the starts by the rule, as local times, so that a clock change moves none of them."""
    if meeting.rule is None:
        yield meeting.start
        return
    first = _local(meeting.start)
    last = until.astimezone(ZoneInfo(meeting.zone)).replace(tzinfo=None)
    for found in rrulestr(meeting.rule, dtstart=first):
        if found > last:
            return
        yield found.replace(tzinfo=ZoneInfo(meeting.zone)) if _timed(meeting) else found.date()


def _end_for(meeting: Meeting, original: MeetingTime) -> MeetingTime:
    """Return the end of an occurrence: as long after its start, on the local clock, as at first."""
    long = _local(meeting.end) - _local(meeting.start)
    end = _local(original) + long
    return end.replace(tzinfo=ZoneInfo(meeting.zone)) if _timed(meeting) else end.date()


def _local(moment: MeetingTime) -> datetime:
    if isinstance(moment, datetime):
        return moment.replace(tzinfo=None)
    return datetime.combine(moment, time())


def _timed(meeting: Meeting) -> bool:
    return not meeting.is_all_day
