"""
Nora's calendars, three in each account, and the parser of the meetings planned in them.

The plan is relative to a day and stands in ``texts/*_calendar.txt``:

    === yard | w-1 Tue 09:00-10:30 | Måsen: frames | at=Quay 3 | by=karin | with=jonas+ priya?
    The text of the description.

Days count from the current week's Monday (``w-1 Tue``) or from today (``d+2``); ``all`` instead of
times means all-day, ``Mon..Wed all`` several days; an end that is not after the start is on the
next day. Marks of attendees: ``+`` accepted, ``-`` declined, ``?`` tentative, ``~`` optional.

Further options: ``me=`` (Nora's response), ``rule=`` (starts on the first day that matches),
``drop=``, ``cancel=``, ``move=day>day times``, ``rename=day>title``, ``status=``, ``shows=``,
``tags=``, ``zone=``, ``video``, ``private``, ``quiet`` (no reminder), ``without-me`` (Nora is no
attendee), ``apart`` (the organiser is no attendee) and ``both`` (one UID for both accounts).
"""

import hashlib
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta
from types import MappingProxyType
from zoneinfo import ZoneInfo

from sandbox.calendar.records import Attendee
from sandbox.mail.ids import PROVIDER_A, PROVIDER_B
from sandbox.world.accounts import DemoAccount
from sandbox.world.calendar.meetings import (
    CalendarPlan,
    Meeting,
    MeetingTime,
    OccurrenceChange,
    start_on_rule,
)
from sandbox.world.mail.texts import read_text

ZONE = "Europe/Stockholm"
VIDEO = "https://meet.harbourlight.example/"

CALENDARS = (
    CalendarPlan(key="yard", mailbox=PROVIDER_A, name="Nora Lindqvist", zone=ZONE, is_primary=True),
    CalendarPlan(
        key="slip", mailbox=PROVIDER_A, name="Slipway & Crane", zone=ZONE, colour="#0b8043"
    ),
    CalendarPlan(
        key="tides",
        mailbox=PROVIDER_A,
        name="Tides (Harbour Office)",
        zone="UTC",
        can_edit=False,
        colour="#039be5",
    ),
    CalendarPlan(key="studio", mailbox=PROVIDER_B, name="Calendar", zone=ZONE, is_primary=True),
    CalendarPlan(key="sites", mailbox=PROVIDER_B, name="Site visits", zone=ZONE, colour="#d50000"),
    CalendarPlan(key="family", mailbox=PROVIDER_B, name="Familjen", zone=ZONE, colour="#8e24aa"),
)

_DAYS = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")
_WHEN = re.compile(
    r"(?P<from>w[+-]?\d+ \w{3}|d[+-]?\d+)(?:\.\.(?P<until>\w{3}|\d+))?"
    r" (?:(?P<all>all)|(?P<start>\d\d:\d\d)-(?P<end>\d\d:\d\d))"
)
_MARKS = MappingProxyType({"+": "accepted", "-": "declined", "?": "tentative"})
_ROOMS = MappingProxyType(
    {
        "loft": Attendee(
            email="sail-loft@harbourlight.example",
            name="Sail loft",
            response="accepted",
            is_resource=True,
        ),
        "table": Attendee(
            email="long-table@harbourlight-studio.example",
            name="Long table",
            response="accepted",
            is_resource=True,
        ),
    }
)


def planned_meetings(account: DemoAccount) -> tuple[Meeting, ...]:
    """Return every meeting and series in *account*'s calendars, in the order of the text."""
    name = "yard_calendar" if account.mailbox == PROVIDER_A else "studio_calendar"
    chunks = read_text(name).strip().removeprefix("=== ").split("\n=== ")
    return tuple(_parse_meeting(account, chunk) for chunk in chunks)


def calendar_plans(account: DemoAccount) -> tuple[CalendarPlan, ...]:
    """Return the calendars of *account*'s account, the primary one first."""
    return tuple(plan for plan in CALENDARS if plan.mailbox == account.mailbox)


@dataclass(frozen=True, slots=True)
class _DayParser:
    """Converts the text's relative days into dates and times."""

    today: date
    zone: str

    def day(self, text: str) -> date:
        """Parse ``w-1 Tue`` or ``d+2``."""
        count, _, name = text[1:].partition(" ")
        if text.startswith("d"):
            return self.today + timedelta(days=int(count))
        monday = self.today - timedelta(days=self.today.weekday())
        return monday + timedelta(weeks=int(count), days=_DAYS.index(name))

    def span(self, text: str) -> tuple[MeetingTime, MeetingTime]:
        """Parse a day or a range of days, with times or ``all``, into start and end."""
        match = _WHEN.fullmatch(text)
        if match is None:
            raise ValueError(f"not a time of the plan: {text}")
        first = self.day(match["from"])
        last = self._until(first, match["until"])
        if match["all"]:
            return first, last + timedelta(days=1)
        start, end = self._at(first, match["start"]), self._at(last, match["end"])
        return start, end if end > start else self._at(last + timedelta(days=1), match["end"])

    def _until(self, first: date, text: str | None) -> date:
        if text is None:
            return first
        if text.isdigit():
            return first + timedelta(days=int(text) - 1)
        return first + timedelta(days=(_DAYS.index(text) - first.weekday()) % 7)

    def _at(self, day: date, clock: str) -> datetime:
        return datetime.combine(day, time.fromisoformat(clock), ZoneInfo(self.zone))


def _parse_meeting(account: DemoAccount, chunk: str) -> Meeting:
    head, _, description = chunk.partition("\n")
    calendar, when, title, *settings = (part.strip() for part in head.split(" | "))
    options = dict(setting.partition("=")[::2] for setting in settings)
    zone = options.get("zone", ZONE)
    days = _DayParser(account.today, zone)
    start, end = start_on_rule(*days.span(when), options.get("rule"))
    organiser = _attendee(account, options.get("by", "me"))
    seed = title if "both" in options else f"{account.mailbox}/{calendar}/{title}/{when}"
    uid = hashlib.sha256(f"meeting/{seed}".encode()).hexdigest()[:24]
    return Meeting(
        uid=f"{uid}@planner.harbourlight.example",
        calendar=calendar,
        title=title,
        description=description.strip(),
        location=options.get("at", ""),
        organiser=organiser,
        attendees=tuple(_attendees(account, options, organiser)),
        start=start,
        end=end,
        zone=zone,
        rule=options.get("rule"),
        dropped=tuple(_start_on(days, day, start) for day in _split(options, "drop")),
        changes=MappingProxyType(dict(_changes(days, options, start))),
        status=options.get("status", "confirmed"),
        shows_as=options.get("shows", "busy"),
        video_link=f"{VIDEO}{uid[:3]}-{uid[3:7]}-{uid[7:10]}" if "video" in options else None,
        categories=tuple(_split(options, "tags")),
        is_private="private" in options,
        my_response=_response(options.get("me", "+")),
        reminder=None if "quiet" in options else 15,
    )


def _attendees(
    account: DemoAccount, options: Mapping[str, str], organiser: Attendee
) -> Iterator[Attendee]:
    invited = options.get("with", "").split()
    if not invited and (organiser.email == account.address or "without-me" in options):
        return
    if "apart" not in options:
        yield organiser
    if organiser.email != account.address and "without-me" not in options:
        response = _response(options.get("me", "+"))
        yield Attendee(email=account.address, name=account.owner.name, response=response)
    for word in invited:
        key = word.rstrip("+-?~")
        if key in _ROOMS:
            yield _ROOMS[key]
            continue
        person = _attendee(account, key)
        marks = word.removeprefix(key)
        yield Attendee(
            email=person.email,
            name=person.name,
            response=_response(marks.replace("~", "")),
            is_optional="~" in marks,
        )


def _changes(
    days: _DayParser, options: Mapping[str, str], start: MeetingTime
) -> Iterator[tuple[MeetingTime, OccurrenceChange]]:
    for day in _split(options, "cancel"):
        yield _start_on(days, day, start), OccurrenceChange(cancelled=True)
    for move in _split(options, "move"):
        day, _, span = move.partition(">")
        new_start, new_end = days.span(span)
        yield _start_on(days, day, start), OccurrenceChange(start=new_start, end=new_end)
    if "rename" in options:
        day, _, title = options["rename"].partition(">")
        yield _start_on(days, day, start), OccurrenceChange(title=title)


def _start_on(days: _DayParser, day: str, first: MeetingTime) -> MeetingTime:
    """Return the start of the occurrence on *day*, at the local time of the *first* one."""
    if isinstance(first, datetime):
        return datetime.combine(days.day(day), first.timetz())
    return days.day(day)


def _attendee(account: DemoAccount, key: str) -> Attendee:
    name, email = account.recipient(key)
    return Attendee(email=email, name=name, response="accepted")


def _response(mark: str) -> str:
    return _MARKS.get(mark, "needsAction")


def _split(options: Mapping[str, str], name: str) -> list[str]:
    return [part.strip() for part in options.get(name, "").split(",") if part.strip()]
