"""Settings of single calendar accounts (docs/spec/tokens.md#rights-per-account)."""

import json
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from graph_requests import respond
from in_memory_calendars import Diary, MemoryIds

from policy.vocabulary import CalendarField
from providers.calendar.event_ids import event_id
from providers.calendar.merged_calendars import MergedCalendars
from providers.ports.calendar import BusyTimes, CalendarKey, EventKey, EventList, Span
from providers.ports.connection import ConnectionInfo
from providers.records.calendar import Attendee, Calendar, Event

DAY = datetime(2026, 11, 20, tzinfo=UTC)
NARROW, OPEN = "3", "4"  # connections
LISTED = "{ calendarEvents { events { title connectionId } meta { totalCount from to } } }"
ONE = "{ calendarEvent(eventId: $EVENT) { event { title startUtc connectionId } } }"


def event(name, hour, *, days=0, **more):
    start = DAY + timedelta(days=days, hours=hour)
    attendees = (Attendee(email="ann@x.example", name="Ann"),)
    more = {"attendees": attendees, "series": f"series-{name}", **more}
    return Event(id=name, title=name, start_utc=start, end_utc=start + timedelta(hours=1), **more)


class Account(Diary):
    async def instances(self, calendar, series, span, *, projection):
        self._called("instances", calendar, series, projection)
        return EventList(self.events_of[calendar][:1])

    async def busy(self, calendar, span, *, own_responses):
        await super().busy(calendar, span, own_responses=own_responses)
        return BusyTimes([Span(each.start_utc, each.end_utc) for each in self.events_of[calendar]])


class Accounts:
    """Two accounts of a caller: the first one is narrowed by *own* settings."""

    def __init__(self, graph, world, events):
        self.graph, self.world, self.ids = graph, world, MemoryIds()
        self.ports = {}
        for connection, names in events.items():
            self.ports[connection] = Account(
                listed=[Calendar(id="c", name="C"), Calendar(id="d", name="D")],
                events_of={"c": names, "d": []},
            )
            for each in names:
                key = CalendarKey(int(connection), "c")
                self.ids.ids.setdefault(key, len(self.ids.ids) + 1)
                known = EventKey(self.ids.ids[key], key, each.id)
                self.ids.known[event_id(key, each.id)] = known
        world.connections = [
            ConnectionInfo(
                id=int(connection),
                resource_id=1,
                kind="calendar",
                provider="PROVIDER_A",
                account_email=f"me@{connection}.example",
            )
            for connection in events
        ]
        world.settings["calendarAccessEnabled"] = True

    def id(self, connection, name):
        return event_id(CalendarKey(int(connection), "c"), name)

    def narrow(self, **settings):
        self.world.settings["accounts"] = {NARROW: settings}

    def calls(self, connection, name="events"):
        return [call for call in self.ports[connection].calls if call[0] == name]

    async def ask(self, document, of=None):
        async def admit(_):
            infos = {str(info.id): info for info in self.world.connections}
            pairs = [(infos[name], port) for name, port in self.ports.items()]
            return replace(self.world.context(), calendars=MergedCalendars(pairs, self.ids))

        text = document if of is None else document.replace("$EVENT", f'"{self.id(*of)}"')
        body = json.dumps({"query": text}).encode()
        answer = json.loads((await respond(self.graph, body, admit=admit, request_id="r")).body)
        if "errors" in answer:
            return [error["extensions"]["code"] for error in answer["errors"]]
        (data,) = answer["data"].values()
        return data


@pytest.fixture
def accounts(graph, world):
    events = {NARROW: [event("walk", 15), event("talk", 13)], OPEN: [event("lunch", 14)]}
    return Accounts(graph, world, events)


def titles(page):
    return [each["title"] for each in page["events"]]


def all_but(*hidden):
    return [word for word in CalendarField if word not in hidden]


async def test_a_list_masks_each_account_for_itself(accounts):
    accounts.narrow(visibleCalendarFields=all_but("title", "connection_id"))

    page = await accounts.ask(LISTED)

    assert [tuple(each.values()) for each in page["events"]] == [
        (None, None),
        ("lunch", 4),
        (None, None),
    ]
    assert "title" not in accounts.calls(NARROW)[0][-1]
    assert "title" in accounts.calls(OPEN)[0][-1]


async def test_one_event_is_masked_by_its_account(accounts):
    accounts.narrow(visibleCalendarFields=all_but("title", "times", "connection_id"))

    masked = await accounts.ask(ONE, (NARROW, "talk"))
    whole = await accounts.ask(ONE, (OPEN, "lunch"))
    twice = await accounts.ask(
        ONE.replace("{ calendarEvent", "{ b: calendarEvent", 1).replace("$EVENT", "$EVENT", 1),
        (NARROW, "walk"),
    )

    assert masked["event"] == {"title": None, "startUtc": None, "connectionId": None}
    assert twice == masked
    assert whole["event"]["title"] == "lunch"
    assert whole["event"]["connectionId"] == 4
    assert all("title" not in call[-1] for call in accounts.calls(NARROW, "event"))


async def test_events_without_visible_times_are_ordered_by_their_day(accounts):
    """Among events whose times are visible, too."""
    accounts.narrow(visibleCalendarFields=all_but("times"))
    by_contact = '{ eventsByContact(email: "ann@", past: false) { events { title } } }'

    forth, back = await accounts.ask(LISTED), await accounts.ask(by_contact)

    assert titles(forth)[-1] == titles(back)[0] == "lunch"
    assert sorted(titles(forth)) == ["lunch", "talk", "walk"]


@pytest.mark.parametrize(
    ("word", "filtered"),
    [
        ("title", 'calendarEvents(q: "l") { events { title } meta { totalCount } }'),
        ("attendees", 'calendarEvents(attendees: "ann@x.example") { events { title } }'),
        ("status", "calendarEvents(includeCancelled: true) { events { title } }"),
        ("attendees", 'eventsByContact(email: "ann@") { events { title } }'),
    ],
)
async def test_a_filter_by_a_hidden_field_does_not_ask_the_account(accounts, word, filtered):
    hidden = [word, *(["description", "location"] if word == "title" else [])]
    accounts.narrow(visibleCalendarFields=all_but(*hidden))
    shown = await accounts.ask(f"{{ {filtered} }}")
    assert accounts.ports[NARROW].calls == []
    accounts.world.settings["accounts"][OPEN] = accounts.world.settings["accounts"][NARROW]
    accounts.ports[OPEN].calls.clear()
    refused = await accounts.ask(f"{{ {filtered} }}")

    assert titles(shown) == ["lunch"]
    assert shown.get("meta") in (None, {"totalCount": 1})
    assert refused == ["FIELD_NOT_VISIBLE"]
    assert accounts.ports[NARROW].calls == accounts.ports[OPEN].calls == []


async def test_an_account_of_busy_times_alone_has_no_events(accounts):
    accounts.narrow(calendarAccessLevel="free_busy_only")
    busy = (
        '{ freeBusy(from: "2026-11-20", to: "2026-11-21") '
        "{ calendars { calendarId busy { startUtc } } } }"
    )

    page, busy_times = await accounts.ask(LISTED), await accounts.ask(busy)
    gone = await accounts.ask(ONE, (NARROW, "talk"))

    assert titles(page) == ["lunch"]
    assert gone == ["EVENT_NOT_FOUND"]
    assert accounts.calls(NARROW) == accounts.calls(NARROW, "event") == []
    assert [len(each["busy"]) for each in busy_times["calendars"]] == [2, 1, 0, 0]
    assert len(accounts.calls(NARROW, "busy")) == 2


async def test_an_account_without_times_is_not_asked_when_it_is_busy(accounts):
    accounts.narrow(visibleCalendarFields=all_but("times", "attendees"))
    busy = '{ freeBusy(from: "2026-11-20", to: "2026-11-21") { calendars { calendarName } } }'

    busy_times = await accounts.ask(busy)

    assert len(busy_times["calendars"]) == 2
    assert accounts.ports[NARROW].calls == []


async def test_each_account_has_its_own_window(accounts):
    for port in accounts.ports.values():
        port.events_of["c"].append(event("later", 10, days=2))
        port.events_of["c"].append(event("past", 10, days=-2))
    for connection in (NARROW, OPEN):
        key = CalendarKey(int(connection), "c")
        known = EventKey(accounts.ids.ids[key], key, "later")
        accounts.ids.known[accounts.id(connection, "later")] = known
    accounts.narrow(timeframePastDays=0, timeframeFutureDays=1)
    ranged = LISTED.replace("calendarEvents", 'calendarEvents(from: "2026-11-17")')

    page = await accounts.ask(ranged)
    outside = await accounts.ask(ONE, (NARROW, "later"))
    inside = await accounts.ask(ONE, (OPEN, "later"))

    by_account = [(each["title"], each["connectionId"]) for each in page["events"]]
    assert by_account == [("past", 4), ("talk", 3), ("lunch", 4), ("walk", 3), ("later", 4)]
    assert page["meta"]["from"] == "2026-11-17T00:00:00Z"
    assert page["meta"]["to"] == "2026-11-24T00:00:00Z"
    assert outside == ["TIMEFRAME_DENIED"]
    assert inside["event"]["title"] == "later"


async def test_each_account_has_its_own_calendars(accounts):
    accounts.narrow(allowedCalendarIds=[999])
    listing = "{ calendars { calendars { calendarId } } }"

    listed = await accounts.ask(listing)
    named = await accounts.ask(LISTED.replace("calendarEvents", "calendarEvents(calendarId: 1)"))
    page = await accounts.ask(LISTED)
    gone = await accounts.ask(ONE, (NARROW, "talk"))

    assert len(listed["calendars"]) == 2
    assert titles(page) == ["lunch"]
    assert (named, gone) == (["CALENDAR_NOT_FOUND"], ["EVENT_NOT_FOUND"])
    assert accounts.ports[NARROW].calls == []


async def test_a_series_of_an_account_that_hides_recurrences_is_not_read(accounts):
    accounts.narrow(visibleCalendarFields=all_but("recurrence"))
    series = "{ eventSeries(eventId: $EVENT) { events { title } } }"
    edge = "{ calendarEvents { events { title series { events { title } } } } }"

    gone = await accounts.ask(series, (NARROW, "talk"))
    whole = await accounts.ask(series, (OPEN, "lunch"))
    page = await accounts.ask(edge)

    assert gone == ["EVENT_NOT_FOUND"]
    assert titles(whole) == []
    series_of = {each["title"]: each["series"] for each in page["events"]}
    assert series_of == {"talk": None, "walk": None, "lunch": {"events": []}}
    assert accounts.calls(NARROW, "instances") == accounts.calls(NARROW, "event") == []


async def test_basic_masks_let_filters_look(accounts):
    accounts.world.settings["maskMode"] = "basic"
    accounts.narrow(visibleCalendarFields=all_but("title", "times"))

    page = await accounts.ask('{ calendarEvents(q: "l") { events { title startUtc } } }')

    assert [each["title"] for each in page["events"]] == [None, "lunch", None]
    assert [each["startUtc"] is None for each in page["events"]] == [True, False, True]
