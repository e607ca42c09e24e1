"""Many calendars as one: merging, order, routing, patience, and which calendars failed."""

import asyncio
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st
from in_memory_calendars import Diary, MemoryIds, busy_query, calendar_key, everywhere, views

from providers.calendar.event_ids import event_id
from providers.calendar.merged_calendars import MergedCalendars
from providers.failures import Broken, Missing, NeedsReauth, Throttled, TimedOut
from providers.fanout import AllFailed
from providers.ports.calendar import CalendarView, EventQuery, NoSuchCalendar, Span
from providers.ports.connection import ConnectionInfo
from providers.records.calendar import Attendee, Calendar, Event

START = datetime(2026, 11, 20, tzinfo=UTC)
WEEK = Span(START, START + timedelta(days=7))
ALL = frozenset({"title"})


def hour(number):
    return START + timedelta(hours=number)


def event(name, first=1, last=2, **more):
    return Event(id=name, title=name, start_utc=hour(first), end_utc=hour(last), **more)


def info(number, provider="PROVIDER_A", account=None):
    return ConnectionInfo(
        id=number,
        resource_id=1,
        kind="calendar",
        provider=provider,
        account_email=account or f"me{number}@x.example",
    )


def diary(*calendars, **more):
    return Diary(
        listed=[Calendar(id=calendar, name=calendar.title()) for calendar in calendars], **more
    )


def query(**more):
    view = CalendarView(calendars=more.pop("calendars", None))
    return everywhere(EventQuery(span=more.pop("span", WEEK), view=view, **more))


def titles(page):
    return [event.title for event in page.events]


def named(warnings):
    return [(warning.connection.id, warning.part) for warning in warnings]


@pytest.fixture
def ids():
    return MemoryIds()


@pytest.fixture
def first():
    return diary("a", "b", events_of={"a": [event("a1", 3)], "b": [event("b1", 1)]})


@pytest.fixture
def second():
    return diary("c", events_of={"c": [event("c1", 2)]})


@pytest.fixture
def agenda(ids, first, second):
    return MergedCalendars([(info(2), second), (info(1), first)], ids)


async def test_events_of_all_calendars_come_in_order_under_ids_of_their_own(agenda, ids):
    page = await agenda.events(query(), projection=ALL)

    assert titles(page) == ["b1", "c1", "a1"]
    assert [event.id for event in page.events] == [
        event_id(calendar_key(1, "b"), "b1"),
        event_id(calendar_key(2, "c"), "c1"),
        event_id(calendar_key(1, "a"), "a1"),
    ]
    assert set(ids.known) == {event.id for event in page.events}
    assert (page.total, page.warnings) == (3, ())


async def test_the_upstream_range_is_a_day_longer_on_either_side_in_whole_seconds(agenda, second):
    start, end = hour(1).replace(microsecond=5), hour(2).replace(microsecond=5)

    await agenda.events(query(span=Span(start, end)), projection=ALL)

    _, calendar, span, cancelled, projection = second.calls[-1]
    assert (calendar, cancelled, projection) == ("c", False, ALL)
    assert span == (hour(-23), hour(26))


@pytest.mark.parametrize(
    "span",
    [
        Span(datetime.min.replace(tzinfo=UTC), hour(1)),
        Span(hour(1), datetime.max.replace(tzinfo=UTC)),
        Span(datetime.min.replace(tzinfo=UTC), datetime.max.replace(tzinfo=UTC)),
    ],
)
async def test_a_range_may_reach_as_far_as_dates_go(agenda, span):
    assert (await agenda.events(query(span=span), projection=ALL)).warnings == ()
    assert (await agenda.free_busy(busy_query(span))).warnings == ()


async def test_attributes_needed_by_a_filter_are_requested_too(agenda, second):
    await agenda.events(
        query(text="x", text_fields=frozenset({"location"}), addresses=("a@b.example",)),
        projection=ALL,
    )

    assert second.calls[-1][-1] == {"title", "location", "attendees", "organizer"}


async def test_a_duplicate_event_is_listed_once(ids):
    port = diary("a", events_of={"a": [event("twice"), event("twice"), event("once")]})

    page = await MergedCalendars([(info(1), port)], ids).events(query(), projection=ALL)

    assert sorted(titles(page)) == ["once", "twice"]


@pytest.mark.parametrize(
    ("more", "expected"),
    [
        ({}, ["b1", "c1", "a1"]),
        ({"newest_first": True}, ["a1", "c1", "b1"]),
        ({"limit": 2}, ["b1", "c1"]),
        ({"limit": 2, "offset": 2}, ["a1"]),
        ({"offset": 3}, []),
        ({"offset": 10**9}, []),
    ],
)
async def test_merged_events_are_ordered_and_paged(agenda, ids, more, expected):
    page = await agenda.events(query(**more), projection=ALL)

    assert titles(page) == expected
    assert page.total == 3
    assert len(ids.known) == len(expected)  # only what is returned is written down


async def test_events_shown_by_day_are_ordered_without_their_time(ids):
    port = diary("a", events_of={"a": [event("late", 23, 24), event("early", 1, 2)]})
    agenda = MergedCalendars([(info(1), port)], ids)
    for newest_first in (False, True):
        page = await agenda.events(query(by_day=True, newest_first=newest_first), projection=ALL)

        assert [event.id for event in page.events] == sorted(event.id for event in page.events)


@given(
    st.lists(st.tuples(st.integers(0, 60), st.integers(0, 5), st.booleans()), max_size=20),
    st.integers(0, 6),
    st.integers(1, 8),
)
def test_pages_agree_with_one_sorted_list(entries, offset, limit):
    events = [event(f"e{n}", first, first + length) for n, (first, length, _) in enumerate(entries)]
    in_a = [entry for entry, (_, _, is_a) in zip(events, entries, strict=True) if is_a]
    in_b = [entry for entry in events if entry not in in_a]
    port = diary("a", "b", events_of={"a": in_a, "b": in_b})
    span = Span(hour(5), hour(50))

    async def ask():
        agenda = MergedCalendars([(info(1), port)], MemoryIds())
        return await agenda.events(query(span=span, offset=offset, limit=limit), projection=ALL)

    page = asyncio.run(ask())

    whole = sorted(
        (entry.start_utc, event_id(calendar_key(1, "a" if entry in in_a else "b"), entry.id))
        for entry in events
        if (entry.start_utc < span.end and entry.end_utc > span.start)
        or (entry.start_utc == entry.end_utc == span.start)
    )
    assert [(entry.start_utc, entry.id) for entry in page.events] == whole[offset : offset + limit]
    assert page.total == len(whole)


async def test_contacts_match_attendees_and_organisers(ids):
    ann = Attendee(email="Ann@X.example", name="Ann Bee")
    port = diary(
        "a",
        events_of={
            "a": [
                event("guest", attendees=(ann,), organizer="boss@x.example"),
                event("host", attendees=(), organizer="ann@x.example"),
                event("nobody", attendees=None, organizer=None),
            ]
        },
    )
    agenda = MergedCalendars([(info(1), port)], ids)

    async def matching_titles(**more):
        return sorted(titles(await agenda.events(query(**more), projection=ALL)))

    assert await matching_titles(addresses=("ann@x.EXAMPLE",)) == ["guest", "host"]
    assert await matching_titles(addresses=("ann@x.example",), organizer_counts=False) == ["guest"]
    assert await matching_titles(contact_email="ANN@") == ["guest", "host"]
    assert await matching_titles(contact_email="ann@", contact_name="bee") == ["guest"]
    assert await matching_titles(contact_name="bee") == ["guest"]
    assert await matching_titles(contact_name="ann@") == []


# -- one calendar, some calendars


async def test_one_calendar_is_read_alone(agenda, ids, first, second):
    await agenda.calendars(views())
    first.calls.clear()
    second.calls.clear()

    page = await agenda.events(query(calendar_id=2), projection=ALL)

    assert titles(page) == ["b1"]
    assert [call[0:2] for call in first.calls] == [("events", "b")]
    assert second.calls == []


@pytest.mark.parametrize(("calendar_id", "allowed"), [(9, None), (1, frozenset({2}))])
async def test_a_calendar_that_does_not_exist_for_the_caller(agenda, calendar_id, allowed):
    await agenda.calendars(views())

    with pytest.raises(NoSuchCalendar) as unknown:
        await agenda.events(query(calendar_id=calendar_id, calendars=allowed), projection=ALL)
    with pytest.raises(NoSuchCalendar):
        await agenda.free_busy(busy_query(WEEK, calendars=allowed), calendar_ids=(2, calendar_id))

    assert unknown.value.calendar_id == calendar_id


async def test_a_calendar_that_upstream_has_no_longer_does_not_exist(agenda, ids, first):
    await agenda.calendars(views())
    later = MergedCalendars([(info(1), diary("b"))], ids)

    with pytest.raises(NoSuchCalendar):
        await later.events(query(calendar_id=1), projection=ALL)


async def test_a_calendar_that_is_gone_between_two_calls_does_not_exist(agenda, first):
    await agenda.calendars(views())
    first.failures["a"] = Missing()

    with pytest.raises(NoSuchCalendar):
        await agenda.events(query(calendar_id=1), projection=ALL)
    with pytest.raises(NoSuchCalendar):
        await agenda.free_busy(busy_query(WEEK), calendar_ids=(2, 1))
    assert named((await agenda.events(query(), projection=ALL)).warnings) == [(1, 'calendar "A"')]


async def test_the_calendars_of_an_account_are_read_once_per_request(agenda, first, second):
    second.failure = Broken()

    await asyncio.gather(
        agenda.calendars(views()),
        agenda.free_busy(busy_query(WEEK)),
        agenda.events(query(), projection=ALL),
    )

    assert [call for call in first.calls if call[0] == "calendars"] == [("calendars",)]
    assert [call for call in second.calls if call[0] == "calendars"] == [("calendars",)]


async def test_a_calendar_of_a_connection_that_may_not_be_used_does_not_exist(agenda, ids, first):
    await agenda.calendars(views())
    smaller = MergedCalendars([(info(1), first)], ids)

    with pytest.raises(NoSuchCalendar):
        await smaller.events(query(calendar_id=3), projection=ALL)


async def test_accounts_without_an_allowed_calendar_are_left_alone(agenda, first, second):
    await agenda.calendars(views())
    first.calls.clear()
    second.failure = Broken()

    page = await agenda.events(query(calendars=frozenset({1})), projection=ALL)

    assert titles(page) == ["a1"]
    assert page.warnings == ()


async def test_two_connections_to_one_account_are_merged(ids, first):
    twice = [(info(number, account="me@x.example"), first) for number in (1, 2)]
    agenda = MergedCalendars(twice, ids)

    both = await agenda.calendars(views())
    chosen = await agenda.calendars(views(frozenset({3, 4})))
    page = await agenda.events(query(calendar_id=3), projection=ALL)

    assert [calendar.calendar_id for calendar in both.calendars] == [1, 2]
    assert [calendar.calendar_id for calendar in chosen.calendars] == [3, 4]
    assert titles(page) == ["a1"]


async def test_an_event_is_read_from_where_it_was_listed(agenda, first, second):
    listed = await agenda.events(query(), projection=ALL)

    reread = await agenda.event(listed.events[1].id, views=views(), projection=ALL)

    assert reread == listed.events[1]
    assert second.calls[-1] == ("event", "c", "c1", ALL)


@pytest.mark.parametrize("allowed", [frozenset(), frozenset({1, 2})])
async def test_an_event_of_a_calendar_that_is_not_allowed_is_missing(agenda, second, allowed):
    listed = await agenda.events(query(), projection=ALL)
    second.calls.clear()

    with pytest.raises(Missing):
        await agenda.event(listed.events[1].id, views=views(allowed), projection=ALL)
    assert second.calls == []


async def test_an_event_of_another_tokens_connection_is_missing(agenda, ids, second):
    listed = await agenda.events(query(), projection=ALL)

    with pytest.raises(Missing):
        await MergedCalendars([(info(2), second)], ids).event(
            listed.events[0].id, views=views(), projection=ALL
        )


# -- failures


async def test_failing_calendars_are_omitted_and_named(agenda, first, second):
    second.failure = NeedsReauth()
    first.failures["a"] = TimedOut()

    page = await agenda.events(query(), projection=ALL)
    busy = await agenda.free_busy(busy_query(WEEK))
    listed = await agenda.calendars(views())

    assert titles(page) == ["b1"]
    assert [calendar.calendar_name for calendar in busy.calendars] == ["B"]
    assert [calendar.calendar_name for calendar in listed.calendars] == ["A", "B"]
    assert named(page.warnings) == named(busy.warnings) == [(2, None), (1, 'calendar "A"')]
    assert named(listed.warnings) == [(2, None)]


async def test_a_failing_requested_calendar_is_not_reported_as_unknown(agenda, ids, first, second):
    await agenda.calendars(views())
    second.failure = Broken()
    later = MergedCalendars([(info(1), first), (info(2), second)], ids)

    with pytest.raises(AllFailed):
        await later.events(query(calendar_id=3), projection=ALL)
    busy = await later.free_busy(busy_query(WEEK), calendar_ids=(3, 1))

    assert [calendar.calendar_id for calendar in busy.calendars] == [1]
    assert named(busy.warnings) == [(2, None)]


@pytest.mark.parametrize(
    ("failures", "expected"),
    [
        ([Throttled(3), Throttled(9)], Throttled),
        ([TimedOut(), TimedOut()], TimedOut),
        ([Throttled(3), TimedOut()], AllFailed),
        ([NeedsReauth(), Broken()], AllFailed),
    ],
)
async def test_when_all_fail_it_is_the_failure(agenda, first, second, failures, expected):
    first.failure, second.failure = failures

    for call in (
        agenda.calendars(views()),
        agenda.events(query(), projection=ALL),
        agenda.free_busy(busy_query(WEEK)),
    ):
        with pytest.raises(expected) as raised:
            await call
        if expected is Throttled:
            assert raised.value.retry_after == 9
        if expected is AllFailed:
            assert raised.value.message == "None of the connected calendars answered."


async def test_when_every_calendar_fails_it_is_the_failure(agenda, first, second):
    first.failures = {"a": Throttled(2), "b": Throttled(5)}
    second.failures = {"c": Throttled(4)}

    with pytest.raises(Throttled) as raised:
        await agenda.free_busy(busy_query(WEEK))
    assert raised.value.retry_after == 5


async def test_without_calendars_there_are_no_events(ids):
    for agenda in (MergedCalendars([], ids), MergedCalendars([(info(1), diary())], ids)):
        assert (await agenda.events(query(), projection=ALL)).events == ()
        assert (await agenda.calendars(views())).calendars == ()
        assert (await agenda.free_busy(busy_query(WEEK))).calendars == ()


async def test_patience_has_an_end(ids, first):
    class Asleep(Diary):
        async def events(self, *_args, **_more):
            await asyncio.Event().wait()

    asleep = Asleep(listed=[Calendar(id="z", name="Z")])
    agenda = MergedCalendars([(info(1), first), (info(2), asleep)], ids, timeout_seconds=0.01)

    page = await agenda.events(query(), projection=ALL)

    assert titles(page) == ["b1", "a1"]
    assert [type(warning.failure) for warning in page.warnings] == [TimedOut]


async def test_a_truncated_list_is_reported_and_shown(ids):
    port = diary("a", events_of={"a": [event("a1")]}, complete=False)

    page = await MergedCalendars([(info(1), port)], ids).events(query(), projection=ALL)

    assert titles(page) == ["a1"]
    assert named(page.warnings) == [(1, 'calendar "A"')]


async def test_our_own_faults_are_not_taken_for_upstreams(ids):
    port = diary("a", failure=ZeroDivisionError())

    with pytest.raises(ZeroDivisionError):
        await MergedCalendars([(info(1), port)], ids).events(query(), projection=ALL)


async def test_an_empty_range_makes_no_event_calls(agenda, first):
    nothing = Span(hour(2), hour(1))

    page = await agenda.events(query(span=nothing), projection=ALL)
    with pytest.raises(NoSuchCalendar):
        await agenda.events(query(span=nothing, calendar_id=9), projection=ALL)
    assert first.calls == []
    busy = await agenda.free_busy(busy_query(nothing))

    assert (page.events, page.total) == ((), 0)
    assert [(calendar.busy, calendar.free) for calendar in busy.calendars] == [((), ())] * 3
    assert {call[0] for call in first.calls} == {"calendars"}
