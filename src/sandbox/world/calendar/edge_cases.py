"""Unusual events: without title or length, with many attendees, in other zones."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta

from sandbox.calendar.records import (
    Attendee,
    EventContent,
    EventTime,
    NewEvent,
    Recurrence,
    from_local,
)
from sandbox.mail.ids import PROVIDER_A
from sandbox.world.accounts import DemoAccount
from sandbox.world.chance import pick
from sandbox.world.people import PEOPLE

_HOME = "Europe/Stockholm"
_NEW_YORK = "America/New_York"
_ATTENDEE_COUNT = 40
_RESPONSES = ("accepted", "needsAction", "declined", "tentative")
_DANA = Attendee(email="dana.ruiz@hudson-boats.example", name="Dana Ruiz", response="accepted")


def edge_case_events(account: DemoAccount) -> Iterator[tuple[str, NewEvent]]:
    """Yield (calendar key, event) for *account*; the same day gives the same events."""
    yield from _yard(account) if account.mailbox == PROVIDER_A else _studio(account)


def _yard(account: DemoAccount) -> Iterator[tuple[str, NewEvent]]:
    days = _DayTimes(account.today)
    me = Attendee(email=account.address, name=account.owner.name, response="accepted")
    yield (
        "yard",
        NewEvent(
            uid="no-title@planner.harbourlight.example",
            content=EventContent(start=days.at(6, "10:00"), end=days.at(6, "10:30"), organiser=me),
        ),
    )
    yield (
        "slip",
        NewEvent(
            uid="gate@planner.harbourlight.example",
            content=EventContent(
                title="Tide gate opens",
                start=days.at(2, "12:00"),
                end=days.at(2, "12:00"),
                organiser=me,
            ),
        ),
    )
    yield (
        "yard",
        NewEvent(
            uid="hudson@planner.harbourlight.example",
            content=EventContent(
                title="Hudson boats: call",
                description="<p>Ask for the <b>keel plan</b> &amp; the price of spruce.</p>",
                is_html=True,
                start=days.at(-200, "10:00", _NEW_YORK, weekday=2),
                end=days.at(-200, "10:45", _NEW_YORK, weekday=2),
                organiser=_DANA,
                attendees=(_DANA, me),
                video_link="https://meet.hudson-boats.example/nora",
                reminder=5,
            ),
            # New York changes its clocks on other days than Stockholm.
            recurrence=Recurrence(rules=("FREQ=WEEKLY;BYDAY=WE",)),
        ),
    )
    yield (
        "yard",
        _large_meeting(
            account, days.at(8, "15:00"), days.at(8, "16:30"), "Season opening: all hands"
        ),
    )


def _studio(account: DemoAccount) -> Iterator[tuple[str, NewEvent]]:
    days = _DayTimes(account.today)
    me = Attendee(email=account.address, name=account.owner.name, response="accepted")
    yield (
        "family",
        NewEvent(
            uid="untitled@planner.harbourlight.example",
            content=EventContent(start=days.at(7, "19:00"), end=days.at(7, "20:00"), organiser=me),
        ),
    )
    yield (
        "sites",
        NewEvent(
            uid="flight@planner.harbourlight.example",
            content=EventContent(
                title="Flight to New York",
                location="Terminal 5",
                start=days.at(17, "10:20"),
                end=days.at(17, "13:05", _NEW_YORK),
                shows_as="oof",
                categories=("Travel",),
                organiser=me,
            ),
        ),
    )
    yield (
        "studio",
        NewEvent(
            uid="keys@planner.harbourlight.example",
            content=EventContent(
                title="Hand in the keys",
                start=days.at(3, "17:00"),
                end=days.at(3, "17:00"),
                shows_as="free",
                organiser=me,
            ),
        ),
    )
    yield "studio", _server_window(days, me)
    yield (
        "studio",
        _large_meeting(account, days.at(9, "14:00"), days.at(9, "15:00"), "Open studio, everyone"),
    )


@dataclass(frozen=True, slots=True)
class _DayTimes:
    today: date

    def at(
        self, days: int, clock: str, zone: str = _HOME, *, weekday: int | None = None
    ) -> EventTime:
        """Return a time *days* from today, or on the next *weekday* (Monday is 0) after that."""
        day = self.today + timedelta(days=days)
        if weekday is not None:
            day += timedelta(days=(weekday - day.weekday()) % 7)
        return from_local(datetime.combine(day, time.fromisoformat(clock)), zone)


def _server_window(days: _DayTimes, organiser: Attendee) -> NewEvent:
    """Return a series with an added and a dropped start."""
    start = days.at(-20, "07:30", "UTC")
    return NewEvent(
        uid="server@planner.harbourlight.example",
        content=EventContent(
            title="Server window",
            start=start,
            end=start.later(timedelta(minutes=30)),
            organiser=organiser,
            shows_as="free",
        ),
        recurrence=Recurrence(
            rules=("FREQ=DAILY;INTERVAL=7;COUNT=8",),
            added=(start.later(timedelta(days=24)),),
            dropped=(start.later(timedelta(days=14)),),
        ),
    )


def _large_meeting(account: DemoAccount, start: EventTime, end: EventTime, title: str) -> NewEvent:
    """Return a meeting with many attendees, Nora among them."""
    me = Attendee(email=account.address, name=account.owner.name, response="accepted")
    others = [person for person in PEOPLE.values() if not person.key.startswith("nora")]
    attendees = [
        Attendee(
            email=person.email,
            name=person.name,
            response=pick(_RESPONSES, title, person.key),
            is_optional=number % 5 == 4,
        )
        for number, person in enumerate(others[: _ATTENDEE_COUNT - 1])
    ]
    return NewEvent(
        uid=f"{account.mailbox}-crowd@planner.harbourlight.example",
        content=EventContent(
            title=title,
            description="Bring somebody who has never been on a boat.",
            location="Sail loft",
            start=start,
            end=end,
            organiser=me,
            attendees=(me, *attendees),
            reminder=30,
        ),
    )
