"""
Nora's calendars, two accounts with three calendars each, as a plan around a given day.

The plan is written in ``told/*_calendar.txt``:

    === yard | w-1 Tue 09:00-10:30 | Måsen: frames | at=Quay 3 | by=karin | with=jonas+ priya?
    What the description says.

Days count from the current week's Monday (``w-1 Tue``) or from today (``d+2``); ``all`` instead of
times makes it all-day, ``Mon..Wed all`` several days; an end that is not after the start is on the
next day. Marks of attendees: ``+`` accepted, ``-`` declined, ``?`` tentative, ``~`` optional.

Further options: ``me=`` (Nora's response), ``rule=`` (the first day is the first that fits it),
``drop=``, ``cancel=``, ``move=day>day times``, ``rename=day>title``, ``status=``, ``shows=``,
``tags=``, ``zone=``, ``video``, ``private``, ``quiet`` (no reminder), ``without-me`` (Nora is no
attendee), ``apart`` (the organiser is none) and ``both`` (one UID for both accounts).
"""

import hashlib
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta
from types import MappingProxyType
from zoneinfo import ZoneInfo

from sandbox.mail.ids import PROVIDER_A, PROVIDER_B
from sandbox.world.accounts import DemoAccount
from sandbox.world.calendar.meetings import (
    CalendarPlan,
    Invitee,
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
        "loft": Invitee(
            email="sail-loft@harbourlight.example",
            name="Sail loft",
            response="accepted",
            is_resource=True,
        ),
        "table": Invitee(
            email="long-table@harbourlight-studio.example",
            name="Long table",
            response="accepted",
            is_resource=True,
        ),
    }
)


def planned_meetings(account: DemoAccount) -> tuple[Meeting, ...]:
    """Return every meeting and series in *account*'s calendars, in the order of the plan."""
    name = "yard_calendar" if account.mailbox == PROVIDER_A else "studio_calendar"
    chunks = read_text(name).strip().removeprefix("=== ").split("\n=== ")
    return tuple(_meeting(account, chunk) for chunk in chunks)


def calendar_plans(account: DemoAccount) -> tuple[CalendarPlan, ...]:
    """Return the calendars of *account*'s account, the primary one first."""
    return tuple(one for one in CALENDARS if one.mailbox == account.mailbox)


@dataclass(frozen=True, slots=True)
class _Days:
    """Turns the plan's days into dates and times around *today*."""

    today: date
    zone: str

    def day(self, written: str) -> date:
        """Read ``w-1 Tue`` or ``d+2``."""
        count, _, name = written[1:].partition(" ")
        if written.startswith("d"):
            return self.today + timedelta(days=int(count))
        monday = self.today - timedelta(days=self.today.weekday())
        return monday + timedelta(weeks=int(count), days=_DAYS.index(name))

    def span(self, written: str) -> tuple[MeetingTime, MeetingTime]:
        """Read a day or days with times or ``all``."""
        found = _WHEN.fullmatch(written)
        if found is None:
            raise ValueError(f"not a time of the plan: {written}")
        first = self.day(found["from"])
        last = self._until(first, found["until"])
        if found["all"]:
            return first, last + timedelta(days=1)
        start, end = self._at(first, found["start"]), self._at(last, found["end"])
        return start, end if end > start else self._at(last + timedelta(days=1), found["end"])

    def _until(self, first: date, written: str | None) -> date:
        if written is None:
            return first
        if written.isdigit():
            return first + timedelta(days=int(written) - 1)
        return first + timedelta(days=(_DAYS.index(written) - first.weekday()) % 7)

    def _at(self, day: date, clock: str) -> datetime:
        return datetime.combine(day, time.fromisoformat(clock), ZoneInfo(self.zone))


def _meeting(account: DemoAccount, chunk: str) -> Meeting:
    head, _, description = chunk.partition("\n")
    calendar, when, title, *written = (part.strip() for part in head.split(" | "))
    options = dict(one.partition("=")[::2] for one in written)
    zone = options.get("zone", ZONE)
    days = _Days(account.today, zone)
    start, end = start_on_rule(*days.span(when), options.get("rule"))
    organiser = _person(account, options.get("by", "me"))
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
        dropped=tuple(_starting(days, day, start) for day in _listed(options, "drop")),
        changes=MappingProxyType(dict(_changes(days, options, start))),
        status=options.get("status", "confirmed"),
        shows_as=options.get("shows", "busy"),
        video_link=f"{VIDEO}{uid[:3]}-{uid[3:7]}-{uid[7:10]}" if "video" in options else None,
        categories=tuple(_listed(options, "tags")),
        is_private="private" in options,
        my_response=_response(options.get("me", "+")),
        reminder=None if "quiet" in options else 15,
    )


def _attendees(
    account: DemoAccount, options: Mapping[str, str], organiser: Invitee
) -> Iterator[Invitee]:
    asked = options.get("with", "").split()
    if not asked and (organiser.email == account.address or "without-me" in options):
        return
    if "apart" not in options:
        yield organiser
    if organiser.email != account.address and "without-me" not in options:
        response = _response(options.get("me", "+"))
        yield Invitee(email=account.address, name=account.owner.name, response=response)
    for word in asked:
        key = word.rstrip("+-?~")
        if key in _ROOMS:
            yield _ROOMS[key]
            continue
        person = _person(account, key)
        marks = word.removeprefix(key)
        yield Invitee(
            email=person.email,
            name=person.name,
            response=_response(marks.replace("~", "")),
            is_optional="~" in marks,
        )


def _changes(
    days: _Days, options: Mapping[str, str], start: MeetingTime
) -> Iterator[tuple[MeetingTime, OccurrenceChange]]:
    for day in _listed(options, "cancel"):
        yield _starting(days, day, start), OccurrenceChange(cancelled=True)
    for one in _listed(options, "move"):
        day, _, span = one.partition(">")
        moved, end = days.span(span)
        yield _starting(days, day, start), OccurrenceChange(start=moved, end=end)
    if "rename" in options:
        day, _, title = options["rename"].partition(">")
        yield _starting(days, day, start), OccurrenceChange(title=title)


def _starting(days: _Days, day: str, first: MeetingTime) -> MeetingTime:
    """Return the start of the occurrence on *day*, by the clock of the *first* one."""
    if isinstance(first, datetime):
        return datetime.combine(days.day(day), first.timetz())
    return days.day(day)


def _person(account: DemoAccount, key: str) -> Invitee:
    name, email = account.recipient(key)
    return Invitee(email=email, name=name, response="accepted")


def _response(mark: str) -> str:
    return _MARKS.get(mark, "needsAction")


def _listed(options: Mapping[str, str], name: str) -> list[str]:
    return [part.strip() for part in options.get(name, "").split(",") if part.strip()]
