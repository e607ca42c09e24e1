"""Google's free/busy query gives the answers that reading the events gives."""

from collections import Counter
from datetime import UTC, datetime, timedelta

import pytest
import sandbox_calendars
from in_memory_calendars import busy_query

from providers.connectors.provider_a.google_calendar.calendars import GoogleCalendars
from providers.ports.calendar import Span
from sandbox import faults
from sandbox.calendar.records import Attendee, EventContent, EventTime, NewEvent, from_local

NOON = datetime(2026, 11, 20, 12, tzinfo=UTC)
ZONES = ("UTC", "Europe/Stockholm", "America/Los_Angeles", "Pacific/Auckland", "Asia/Kathmandu")


RESPONSES = ("accepted", "declined", "tentative")
CALENDARS = len(ZONES) + 1  # and the primary one


def local(day, hour):
    return datetime(2026, 11, day, hour, tzinfo=UTC).replace(tzinfo=None)


def fill(store, mailbox, owner):
    """Give every zone a calendar: hours at night and by day, and whole days in two of them."""
    for number, zone in enumerate(ZONES):
        calendar = store.add_calendar(mailbox, zone, zone=zone)
        events = [
            EventContent(
                start=from_local(local(day, 22 + number % 2), zone),
                end=from_local(local(day + 1, number), zone),
                title="Night",
                attendees=(Attendee(email=owner, name="Me", response=RESPONSES[day % 3]),),
                my_response=RESPONSES[day % 3],
                shows_as="free" if day % 5 == 0 else "busy",
            )
            for day in range(14, 27)
        ]
        if number % 3 == 1:
            day = NOON.date() + timedelta(days=number)
            events.append(
                EventContent(
                    start=EventTime(zone, day=day),
                    end=EventTime(zone, day=day + timedelta(days=1)),
                    title="Whole day",
                )
            )
        store.add_events(calendar, [NewEvent(content=content) for content in events])


async def answers(span, *, own_responses=True):
    async with sandbox_calendars.opened(fill) as (calendars, upstream):
        result = await calendars.free_busy(busy_query(span, own_responses=own_responses))
        return result, Counter(sandbox_calendars.paths(upstream))


@pytest.mark.parametrize(
    ("days", "queries", "read"),
    [
        pytest.param(1, 1, {0, 1}, id="a day without whole days"),
        pytest.param(7, 1, {2, 3}, id="a week: calendars with whole days are read"),
        pytest.param(100, 2, {2, 3}, id="longer than a query"),
        pytest.param(366, 0, {CALENDARS}, id="more queries than calendars"),
    ],
)
@pytest.mark.parametrize("shift", [0, 9])
async def test_answers_are_those_of_the_events(monkeypatch, days, queries, read, shift):
    start = NOON - timedelta(days=3 if days == 1 else 0, hours=shift)
    span = Span(start, start + timedelta(days=days))

    answer, calls = await answers(span)
    monkeypatch.setattr(GoogleCalendars, "busy_together", nothing)
    read_all, other_calls = await answers(span)

    assert answer.calendars == read_all.calendars
    assert len(answer.calendars) == 2 * CALENDARS
    assert sum(bool(calendar.busy) for calendar in answer.calendars) >= 2
    assert calls["POST", "freeBusy"] == queries
    assert calls["GET", "events"] in read
    assert other_calls["POST", "freeBusy"] == 0
    assert other_calls["GET", "events"] == CALENDARS


async def nothing(self, calendars, span):
    return {}


async def test_hidden_responses_forbid_the_query():
    span = Span(NOON, NOON + timedelta(days=1))

    _, calls = await answers(span, own_responses=False)

    assert calls["POST", "freeBusy"] == 0
    assert calls["GET", "events"] == CALENDARS


@pytest.mark.parametrize("fault", ["400", "500", "malformed"])
async def test_a_failed_query_is_replaced_by_the_events(fault):
    span = Span(NOON, NOON + timedelta(days=1))
    async with sandbox_calendars.opened(fill) as (calendars, upstream):
        fault_set = faults.parse_fault({"kind": fault, "match": "freeBusy"})
        upstream.upstreams["providerA"].faults.append(fault_set)
        result = await calendars.free_busy(busy_query(span))

    assert len(result.calendars) == 2 * CALENDARS
    assert result.warnings == ()
