"""A calendar of many events, spread evenly over the days around a day."""

from collections.abc import Iterator
from datetime import UTC, date, datetime, time, timedelta

from sandbox.calendar.records import Attendee, EventContent, EventTime, NewEvent, StoredCalendar
from sandbox.calendar.store import CalendarStore

EVENTS = 10_000
DAYS = 360  # half of them before the day
NAME = "Bookings"
_PEOPLE = tuple(
    Attendee(email=f"guest{number}@visitors.example", name=f"Guest {number}", response="accepted")
    for number in range(200)
)


def fill(store: CalendarStore, mailbox: str, day: date, *, events: int = EVENTS) -> StoredCalendar:
    """Add a calendar with *events* events to an account."""
    calendar = store.add_calendar(mailbox, NAME, zone="UTC")
    store.add_events(calendar, _events(day, events))
    return calendar


def _events(day: date, count: int) -> Iterator[NewEvent]:
    first = datetime.combine(day, time(6), UTC) - timedelta(days=DAYS // 2)
    for number in range(count):
        start = first + timedelta(minutes=number * DAYS * 1440 // count)
        guest = _PEOPLE[number % len(_PEOPLE)]
        yield NewEvent(
            content=EventContent(
                start=EventTime("UTC", at=start),
                end=EventTime("UTC", at=start + timedelta(minutes=30)),
                title=f"Booking {number}",
                description=f"Number {number} of the bookings.",
                location=f"Room {number % 12}",
                organiser=guest,
                attendees=(guest,),
            ),
            uid=f"booking-{number}@volume.example",
            created_ms=int(first.timestamp() * 1000),
        )
