"""A page of events reads what it needs of each calendar, and gives what reading all gives."""

from collections import Counter
from datetime import UTC, date, datetime, timedelta

import pytest
import sandbox_calendars
from in_memory_calendars import everywhere

from providers.calendar import event_reading
from providers.connectors.provider_a.google_calendar import calendars as calendar_a
from providers.connectors.provider_a.google_calendar import newest_first
from providers.connectors.provider_b.outlook_calendar import calendars as calendar_b
from providers.ports.calendar import EventQuery, EventReading, Span
from providers.records.calendar import Event
from sandbox.calendar.records import EventContent, EventTime, NewEvent
from sandbox.volume import calendars as volume

TODAY = date(2026, 11, 20)
NOON = datetime(2026, 11, 20, 12, tzinfo=UTC)
SPAN = Span(NOON - timedelta(days=175), NOON + timedelta(days=175))
EVENTS = 240


@pytest.fixture(autouse=True)
def small_pages(monkeypatch):
    """Make pages so small that the calendars have many."""
    for module in (calendar_a, calendar_b):
        monkeypatch.setattr(module, "PAGE", 40)
    monkeypatch.setattr(event_reading, "MIN_PAGE_SIZE", 20)
    monkeypatch.setattr(event_reading, "_SLACK", 20)
    monkeypatch.setattr(newest_first, "SPARSE", 15)


def fill(store, mailbox, _owner):
    volume.fill(store, mailbox, TODAY, events=EVENTS)
    zone = {"provider-a": "Pacific/Auckland", "provider-b": "America/Los_Angeles"}[mailbox]
    days = store.add_calendar(mailbox, "Days", zone=zone)
    whole = [TODAY + timedelta(days=3 * number) for number in range(-30, 30)]
    store.add_events(
        days,
        [
            NewEvent(
                content=EventContent(
                    start=EventTime(zone, day=day),
                    end=EventTime(zone, day=day + timedelta(days=2)),
                    title="Whole days",
                )
            )
            for day in whole
        ],
    )


async def walked(calendars, **filters):
    """Return the ids of all pages, by offset."""
    ids, pages = [], 0
    while True:
        query = EventQuery(span=SPAN, limit=70, offset=len(ids), **filters)
        page = await calendars.events(everywhere(query), projection=frozenset({"title"}))
        assert page.warnings == ()
        ids += [event.id for event in page.events]
        pages += 1
        if len(ids) >= page.total:
            assert page.total_exact
            return ids, pages


@pytest.mark.slow
@pytest.mark.parametrize(
    "filters",
    [
        pytest.param({}, id="all"),
        pytest.param({"newest_first": True}, id="newest first"),
        pytest.param({"by_day": True}, id="by day"),
        pytest.param({"by_day": True, "newest_first": True}, id="newest day first"),
        pytest.param({"text": "7", "text_fields": frozenset({"title"})}, id="a word"),
        pytest.param({"contact_name": "Guest 1", "newest_first": True}, id="a contact"),
    ],
)
async def test_pages_are_those_of_the_whole_range(filters, monkeypatch):
    async with sandbox_calendars.opened(fill) as (calendars, _):
        ids, pages = await walked(calendars, **filters)
        monkeypatch.setattr(event_reading, "reading_for", lambda query: EventReading())
        query = EventQuery(span=SPAN, limit=10_000, **filters)
        whole = await calendars.events(everywhere(query), projection=frozenset({"title"}))

    assert ids == [event.id for event in whole.events]
    assert len(ids) > 70 * (pages - 1) > 0
    assert whole.total == len(ids)


async def test_a_first_page_is_one_call_for_each_account():
    query = EventQuery(span=SPAN, limit=10)
    async with sandbox_calendars.opened(fill) as (calendars, upstream):
        page = await calendars.events(everywhere(query), projection=frozenset())

        assert Counter(sandbox_calendars.paths(upstream)) == {
            ("GET", "calendarList"): 1,
            ("GET", "events"): 3,
            ("GET", "calendars"): 1,
            ("GET", "calendarView"): 3,
            ("POST", "v3"): 1,  # the three are parts of one call
            ("POST", "$batch"): 1,
        }
    assert len(page.events) == 10
    assert page.total > 10
    assert not page.total_exact


async def test_the_newest_events_take_a_few_windows_of_google():
    query = EventQuery(span=SPAN, limit=10, newest_first=True)
    async with sandbox_calendars.opened(fill) as (calendars, upstream):
        page = await calendars.events(everywhere(query), projection=frozenset())

        calls = Counter(sandbox_calendars.paths(upstream))
    assert calls["GET", "calendarView"] == 3
    assert calls["GET", "events"] <= 6
    starts = [event.start_utc for event in page.events]
    assert starts == sorted(starts, reverse=True)
    assert starts[0] > SPAN.end - timedelta(days=3)


def test_pages_in_no_order_decide_nothing():
    starts = [NOON + timedelta(days=number) for number in (3, 1, 4, 1, 5)]
    events = [
        Event(id=str(number), start_utc=start, end_utc=start + timedelta(hours=1))
        for number, start in enumerate(starts)
    ]
    query = EventQuery(span=SPAN, limit=1)

    assert event_reading.decided_events(events, events, query) == []
    ordered = sorted(events, key=lambda event: event.start_utc)
    assert event_reading.decided_events(ordered, ordered, query)
