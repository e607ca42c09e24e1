"""Requests of the calendar connectors, and their mapping of usual, odd and broken responses."""

import json
from datetime import UTC, datetime, timedelta

import httpx
import pytest

from providers.calendar.calendar_memory import CalendarMemory
from providers.connectors.provider_a.failures import classify as classify_a
from providers.connectors.provider_a.google_calendar import calendars as calendar_a
from providers.connectors.provider_b.failures import classify as classify_b
from providers.connectors.provider_b.graph_user import GraphUser
from providers.connectors.provider_b.outlook_calendar import calendars as calendar_b
from providers.failures import Broken, Missing, Refused, Throttled, TooMuch, Unreadable
from providers.http.client import Origins, Upstream
from providers.ports.calendar import EventSelection, Span
from providers.records.calendar import Attendee, Calendar, Event

BASE = "https://calendar.example"
START = datetime(2026, 3, 1, tzinfo=UTC)
WEEK = Span(START, START + timedelta(days=7))
EVERYTHING = frozenset(Event.__struct_fields__)
PREFER = 'IdType="ImmutableId", outlook.timezone="UTC", outlook.body-content-type="text"'


def selected(projection, *, include_cancelled=False):
    return EventSelection(span=WEEK, include_cancelled=include_cancelled, projection=projection)


class Wire:
    """An upstream that gives prepared responses in order and repeats the last."""

    def __init__(self, *answers):
        self.answers = list(answers)
        self.requests = []

    def __call__(self, request):
        self.requests.append(request)
        answer = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        if isinstance(answer, httpx.Response):
            return answer
        return httpx.Response(200, content=json.dumps(answer).encode())

    @property
    def paths(self):
        return [request.url.raw_path.decode().partition("?")[0] for request in self.requests]

    def values(self, name):
        return [request.url.params.get(name) for request in self.requests]


def opened(connector, classify, *answers):
    wire = Wire(*answers)
    upstream = Upstream(
        Origins(transport=httpx.MockTransport(wire)), BASE, connection=1, classify=classify
    )
    return connector(upstream), wire


def google_calendars(upstream):
    return calendar_a.GoogleCalendars(upstream, CalendarMemory())


def outlook_calendars(upstream):
    return calendar_b.OutlookCalendars(GraphUser(upstream), CalendarMemory())


def open_a(*answers):
    return opened(google_calendars, classify_a, *answers)


def open_b(*answers):
    return opened(outlook_calendars, classify_b, *answers)


def a_event(**more):
    return {
        "id": "e1",
        "start": {"dateTime": "2026-03-02T09:00:00Z"},
        "end": {"dateTime": "2026-03-02T10:00:00Z"},
        **more,
    }


def b_time(text):
    return {"dateTime": text, "timeZone": "UTC"}


def b_event(**more):
    return {
        "id": "e1",
        "start": b_time("2026-03-02T09:00:00.0000000"),
        "end": b_time("2026-03-02T10:00:00.0000000"),
        **more,
    }


async def listed_a(*items, projection=EVERYTHING):
    port, _ = open_a({"items": list(items)})
    return (await port.events("c", selected(projection, include_cancelled=True))).events


async def listed_b(*items, projection=EVERYTHING):
    port, _ = open_b({"value": list(items)})
    return (await port.events("c", selected(projection, include_cancelled=True))).events


# -- provider A


async def test_provider_a_is_called_with_the_documented_parameters():
    port, wire = open_a({})

    await port.events("me@x.example", selected(frozenset({"title"})))

    assert wire.paths == ["/calendar/v3/calendars/me%40x.example/events"]
    assert dict(wire.requests[0].url.params) == {
        "singleEvents": "true",
        "orderBy": "startTime",
        "timeMin": "2026-03-01T00:00:00Z",
        "timeMax": "2026-03-08T00:00:00Z",
        "maxResults": "2500",
        "showDeleted": "false",
        "fields": "items(id,start(date,dateTime),end(date,dateTime),"
        "originalStartTime(date,dateTime),summary),nextPageToken",
        "timeZone": "UTC",
    }


async def test_an_event_of_provider_a_is_read_completely():
    (event,) = await listed_a(
        a_event(
            status="tentative",
            summary="Talk",
            description="About it",
            location="Here",
            organizer={"email": "boss@x.example"},
            attendees=[
                {"email": "a@x.example", "displayName": "A", "responseStatus": "accepted"},
                {"email": "b@x.example", "displayName": "b@x.example", "responseStatus": "odd"},
                {"displayName": "a room without an address"},
            ],
            hangoutLink="https://meet.example/1",
            recurringEventId="series",
        )
    )

    assert event == Event(
        id="e1",
        title="Talk",
        description="About it",
        location="Here",
        start_utc=datetime(2026, 3, 2, 9, tzinfo=UTC),
        end_utc=datetime(2026, 3, 2, 10, tzinfo=UTC),
        all_day=False,
        status="tentative",
        organizer="boss@x.example",
        attendees=(
            Attendee(email="a@x.example", name="A", response="accepted"),
            Attendee(email="b@x.example", name=None, response="needsAction"),
        ),
        join_url="https://meet.example/1",
        labels=(),
        is_recurring_event=True,
        series="series",
    )


VIDEO = {"entryPoints": [
    {"entryPointType": "phone", "uri": "tel:1"}, {"entryPointType": "video", "uri": "https://v"},
]}  # fmt: skip


@pytest.mark.parametrize(
    ("members", "attribute", "expected"),
    [
        pytest.param({}, "title", "", id="no title"),
        pytest.param({"status": "later"}, "status", "confirmed", id="an unknown status"),
        pytest.param({"status": "cancelled"}, "status", "cancelled", id="cancelled"),
        pytest.param({"conferenceData": VIDEO}, "join_url", "https://v", id="a conference"),
        pytest.param(
            {"conferenceData": {"entryPoints": []}}, "join_url", None, id="an empty conference"
        ),
        pytest.param({"recurrence": ["RRULE:FREQ=DAILY"]}, "is_recurring_event", True, id="series"),
        pytest.param({}, "is_recurring_event", False, id="single"),
        pytest.param({"organizer": {}}, "organizer", None, id="nobody organises"),
        pytest.param(
            {"start": {"dateTime": "2026-03-02T09:00:00+05:30"}},
            "start_utc",
            datetime(2026, 3, 2, 3, 30, tzinfo=UTC),
            id="an offset",
        ),
        pytest.param(
            {"start": {"date": "2026-03-02"}, "end": {"date": "2026-03-03"}},
            "all_day",
            True,
            id="a whole day",
        ),
        pytest.param(
            {"end": {"dateTime": "2026-03-01T09:00:00Z"}},
            "end_utc",
            datetime(2026, 3, 2, 9, tzinfo=UTC),
            id="an end before the start",
        ),
        pytest.param({"end": None}, "end_utc", datetime(2026, 3, 2, 9, tzinfo=UTC), id="no end"),
        pytest.param(
            {"start": None, "end": None, "originalStartTime": {"date": "2026-03-04"}},
            "end_utc",
            datetime(2026, 3, 5, tzinfo=UTC),
            id="a bare cancelled day",
        ),
    ],
)
async def test_event_members_of_provider_a_are_mapped(members, attribute, expected):
    (event,) = await listed_a(a_event(**members))

    assert getattr(event, attribute) == expected


ROOMS = (
    {"email": "loft@rooms.example", "displayName": "Loft", "resource": True},
    {"email": "c_1@Resource.Calendar.Google.com", "displayName": "Attic"},
)


@pytest.mark.parametrize("organizer", ["loft@rooms.example", "c_2@resource.calendar.google.com"])
async def test_provider_a_leaves_rooms_out_unless_they_are_wanted(organizer):
    native = a_event(organizer={"email": organizer}, attendees=[{"email": "a@x.example"}, *ROOMS])

    (bare,) = await listed_a(native, projection=frozenset({"attendees", "organizer"}))
    (full,) = await listed_a(native, projection=frozenset({"attendees", "organizer", "rooms"}))

    assert [person.email for person in bare.attendees] == ["a@x.example"]
    assert bare.organizer is None
    assert [person.name for person in full.attendees] == [None, "Loft", "Attic"]
    assert full.organizer == organizer


async def test_an_event_of_a_without_any_time_is_left_out_of_lists_and_missing_alone():
    timeless = {"id": "e0", "status": "cancelled"}
    port, _ = open_a(timeless)

    assert [event.id for event in await listed_a(timeless, a_event())] == ["e1"]
    with pytest.raises(Missing):
        await port.event("c", "e0", projection=EVERYTHING)


@pytest.mark.parametrize("text", ["soon", "2026-13-01T00:00:00Z", "0001-01-01T00:00:00+14:00"])
async def test_events_of_provider_a_with_unreadable_times_hide_no_others(text):
    port, _ = open_a({"items": [a_event(start={"dateTime": text}), a_event(id="e2")]})

    listed = await port.events("c", selected(EVERYTHING))
    busy = await port.busy("c", WEEK, own_responses=True)

    assert [event.id for event in listed.events] == ["e2"]
    assert [type(doubt) for doubt in listed.doubts] == [Unreadable]
    assert ([type(doubt) for doubt in busy.doubts], len(busy.spans)) == ([Unreadable], 1)


async def test_a_is_read_page_by_page_though_pages_are_empty():
    port, wire = open_a(
        {"items": [a_event()], "nextPageToken": "2"},
        {"nextPageToken": "3"},
        {"items": [a_event(id="e2")]},
    )

    listed = await port.events("c", selected(frozenset(), include_cancelled=True))

    assert [event.id for event in listed.events] == ["e1", "e2"]
    assert listed.complete
    assert wire.values("pageToken") == [None, "2", "3"]
    assert set(wire.values("showDeleted")) == {"true"}


@pytest.mark.parametrize("opener", [open_a, open_b])
async def test_repeating_pages_are_a_broken_response(opener):
    answer = {"nextPageToken": "again", "@odata.nextLink": f"{BASE}/v1.0/me/again"}
    port, _ = opener(answer)

    with pytest.raises(Broken):
        await port.events("c", selected(frozenset()))
    with pytest.raises(Broken):
        await port.calendars()


async def test_a_calendar_of_a_is_known_by_the_name_its_owner_gave_it():
    port, wire = open_a(
        {"items": [{"id": "me@x.example", "summary": "S", "primary": True, "timeZone": "UTC"}],
         "nextPageToken": "2"},
        {"items": [{"id": "b", "summary": "S", "summaryOverride": "Mine"}, {"id": "c"}]},
    )  # fmt: skip

    assert list(await port.calendars()) == [
        Calendar(id="me@x.example", name="S", is_primary=True, time_zone="UTC"),
        Calendar(id="b", name="Mine"),
        Calendar(id="c", name=""),
    ]
    assert wire.paths == ["/calendar/v3/users/me/calendarList"] * 2
    assert wire.values("minAccessRole") == ["reader", "reader"]


@pytest.mark.parametrize(
    ("members", "busy"),
    [
        ({}, True),
        ({"transparency": "opaque"}, True),
        ({"transparency": "transparent"}, False),
        ({"attendees": [{"self": True, "responseStatus": "declined"}]}, False),
        ({"attendees": [{"self": True, "responseStatus": "tentative"}]}, True),
        ({"attendees": [{"responseStatus": "declined"}]}, True),
        ({"start": None}, False),
    ],
)
async def test_busy_periods_of_provider_a(members, busy):
    port, _ = open_a({"items": [a_event(**members)]})

    periods = await port.busy("c", WEEK, own_responses=True)

    assert len(periods.spans) == busy


async def test_provider_a_is_asked_for_own_responses_only_when_visible():
    port, wire = open_a({})

    await port.busy("c", WEEK, own_responses=True)
    await port.busy("c", WEEK, own_responses=False)

    times = "id,start(date,dateTime),end(date,dateTime),originalStartTime(date,dateTime)"
    assert wire.values("fields") == [
        f"items({times},transparency,attendees(responseStatus,self)),nextPageToken",
        f"items({times},transparency),nextPageToken",
    ]
    assert wire.values("maxAttendees") == ["1", None]


# -- provider B


async def test_provider_b_is_called_with_the_documented_parameters():
    port, wire = open_b({})

    await port.events("A=", selected(frozenset({"title", "status"})))

    assert wire.paths == ["/v1.0/me/calendars/A%3D/calendarView"]
    assert dict(wire.requests[0].url.params) == {
        "startDateTime": "2026-03-01T00:00:00Z",
        "endDateTime": "2026-03-08T00:00:00Z",
        "$orderby": "start/dateTime",
        "$top": "1000",
        "$select": "id,start,end,isCancelled,subject,showAs",
    }
    assert wire.requests[0].headers["prefer"] == PREFER


async def test_an_event_of_provider_b_is_read_completely():
    (event,) = await listed_b(
        b_event(
            subject="Talk",
            body={"contentType": "text", "content": "About it"},
            location={"displayName": "Here"},
            isAllDay=False,
            showAs="tentative",
            isCancelled=False,
            organizer={"emailAddress": {"address": "boss@x.example", "name": "Boss"}},
            attendees=[
                {
                    "emailAddress": {"address": "a@x.example", "name": "A"},
                    "status": {"response": "tentativelyAccepted"},
                },
                {"emailAddress": {"address": "b@x.example", "name": "b@x.example"}},
                {"emailAddress": {"name": "No address"}, "status": {"response": "accepted"}},
            ],
            onlineMeeting={"joinUrl": "https://meet.example/1"},
            onlineMeetingUrl="https://old.example",
            categories=["Blue"],
            type="occurrence",
        )
    )

    assert event == Event(
        id="e1",
        title="Talk",
        description="About it",
        location="Here",
        start_utc=datetime(2026, 3, 2, 9, tzinfo=UTC),
        end_utc=datetime(2026, 3, 2, 10, tzinfo=UTC),
        all_day=False,
        status="tentative",
        organizer="boss@x.example",
        attendees=(
            Attendee(email="a@x.example", name="A", response="tentative"),
            Attendee(email="b@x.example", name=None, response="needsAction"),
        ),
        join_url="https://meet.example/1",
        labels=("Blue",),
        is_recurring_event=True,
    )


@pytest.mark.parametrize(
    ("response", "expected"),
    [
        ("accepted", "accepted"),
        ("organizer", "accepted"),
        ("declined", "declined"),
        ("tentativelyAccepted", "tentative"),
        ("none", "needsAction"),
        ("notResponded", "needsAction"),
        ("somethingNew", "needsAction"),
        (None, "needsAction"),
    ],
)
async def test_answers_of_b_are_translated(response, expected):
    guest = {"emailAddress": {"address": "a@x.example"}, "status": {"response": response}}

    (event,) = await listed_b(b_event(attendees=[guest]))

    assert event.attendees[0].response == expected


@pytest.mark.parametrize(
    ("members", "attribute", "expected"),
    [
        pytest.param({"subject": None}, "title", "", id="no title"),
        pytest.param({"showAs": "busy", "isCancelled": True}, "status", "cancelled", id="off"),
        pytest.param({"showAs": "oof"}, "status", "confirmed", id="away"),
        pytest.param({"showAs": "somethingNew"}, "status", "confirmed", id="an unknown word"),
        pytest.param(
            {"onlineMeetingUrl": "https://old.example"}, "join_url", "https://old.example", id="old"
        ),
        pytest.param({"onlineMeeting": None}, "join_url", None, id="no meeting"),
        pytest.param({"body": {"content": ""}}, "description", None, id="an empty body"),
        pytest.param({"location": {"displayName": ""}}, "location", None, id="an empty place"),
        pytest.param({"type": "singleInstance"}, "is_recurring_event", False, id="single"),
        pytest.param({"type": "exception"}, "is_recurring_event", True, id="exception"),
        pytest.param({"categories": None}, "labels", (), id="no categories"),
        pytest.param({"organizer": None}, "organizer", None, id="nobody organises"),
    ],
)
async def test_event_members_of_provider_b_are_mapped(members, attribute, expected):
    (event,) = await listed_b(b_event(**members))

    assert getattr(event, attribute) == expected


async def test_provider_b_leaves_rooms_out_unless_they_are_wanted():
    loft = {"emailAddress": {"address": "loft@rooms.example", "name": "Loft"}}
    person = {"emailAddress": {"address": "a@x.example"}, "type": "optional"}
    native = b_event(attendees=[{**loft, "type": "resource"}, person], organizer=loft)

    (bare,) = await listed_b(native, projection=frozenset({"attendees", "organizer"}))
    (full,) = await listed_b(native, projection=frozenset({"attendees", "organizer", "rooms"}))

    assert [attendee.email for attendee in bare.attendees] == ["a@x.example"]
    assert bare.organizer is None
    assert [attendee.name for attendee in full.attendees] == ["Loft", None]
    assert full.organizer == "loft@rooms.example"


async def test_provider_b_decodes_no_member_that_is_not_wanted():
    """A member that was not asked for may even have another type."""
    room = {"emailAddress": {"address": "loft@rooms.example"}, "type": "resource"}
    native = b_event(attendees=[room], organizer=5, location=5, body=5)

    (event,) = await listed_b(native, projection=frozenset({"attendees", "title"}))

    assert (event.attendees, event.organizer, event.location, event.description) == (
        (),
        *[None] * 3,
    )


@pytest.mark.parametrize(
    "start",
    [
        None,
        b_time("soon"),
        {"dateTime": "2026-03-02T09:00:00", "timeZone": "Pacific Standard Time"},
        {"dateTime": "0001-01-01T00:00:00+14:00", "timeZone": "UTC"},
    ],
)
async def test_events_of_provider_b_with_unreadable_times_hide_no_others(start):
    port, _ = open_b({"value": [b_event(start=start), b_event(id="e2")]})

    listed = await port.events("c", selected(EVERYTHING))
    busy = await port.busy("c", WEEK, own_responses=True)

    assert [event.id for event in listed.events] == ["e2"]
    assert [type(doubt) for doubt in listed.doubts] == [Unreadable]
    assert ([type(doubt) for doubt in busy.doubts], len(busy.spans)) == ([Unreadable], 1)


@pytest.mark.parametrize("zone", ["UTC", "utc", None, "tzone://Microsoft/Utc"])
async def test_utc_is_written_in_several_ways_by_provider_b(zone):
    (event,) = await listed_b(b_event(start={"dateTime": "2026-03-02T09:00:00", "timeZone": zone}))

    assert event.start_utc == datetime(2026, 3, 2, 9, tzinfo=UTC)


async def test_cancelled_events_of_provider_b_are_removed():
    port, _ = open_b({"value": [b_event(isCancelled=True), b_event(id="e2")]})

    listed = await port.events("c", selected(EVERYTHING))

    assert [event.id for event in listed.events] == ["e2"]


async def test_an_event_of_b_is_read_below_its_calendar():
    port, wire = open_b(b_event())

    await port.event("c", "e/1=", projection=frozenset({"title"}))

    assert wire.paths == ["/v1.0/me/calendars/c/events/e%2F1%3D"]
    assert wire.values("$select") == ["id,start,end,subject"]
    assert wire.requests[0].headers["prefer"] == PREFER


async def test_long_ranges_of_provider_b_are_read_in_parts():
    port, wire = open_b({"value": [b_event()]})
    span = Span(START, START + timedelta(days=4000))

    periods = await port.busy("c", span, own_responses=True)

    starts, ends = sorted(wire.values("startDateTime")), sorted(wire.values("endDateTime"))
    assert starts == ["2026-03-01T00:00:00Z", "2031-02-28T00:00:00Z", "2036-02-27T00:00:00Z"]
    assert ends == [*starts[1:], "2037-02-11T00:00:00Z"]
    assert len(periods.spans) == 3


@pytest.mark.parametrize(
    ("members", "busy"),
    [
        ({"showAs": "busy"}, True),
        ({"showAs": "tentative"}, True),
        ({"showAs": "oof"}, True),
        ({"showAs": "unknown"}, True),
        ({"showAs": "somethingNew"}, True),
        ({}, True),
        ({"showAs": "free"}, False),
        ({"showAs": "workingElsewhere"}, False),
        ({"showAs": "busy", "isCancelled": True}, False),
        ({"showAs": "busy", "responseStatus": {"response": "declined"}}, False),
        ({"showAs": "busy", "responseStatus": {"response": "none"}}, True),
    ],
)
async def test_busy_periods_of_provider_b(members, busy):
    port, _ = open_b({"value": [b_event(**members)]})

    assert len((await port.busy("c", WEEK, own_responses=True)).spans) == busy


async def test_provider_b_is_asked_for_own_responses_only_when_visible():
    port, wire = open_b({})

    await port.busy("c", WEEK, own_responses=True)
    await port.busy("c", WEEK, own_responses=False)

    assert wire.values("$select") == [
        "start,end,showAs,isCancelled,responseStatus",
        "start,end,showAs,isCancelled",
    ]


async def test_calendars_of_b_are_read_over_pages_of_its_own_address():
    link = f"{BASE}/v1.0/me/calendars?$skip=1"
    port, wire = open_b(
        {"value": [{"id": "A=", "name": "Calendar", "isDefaultCalendar": True}],
         "@odata.nextLink": link},
        {"value": [{"id": "B=", "name": "Club"}]},
    )  # fmt: skip

    assert list(await port.calendars()) == [
        Calendar(id="A=", name="Calendar", is_primary=True),
        Calendar(id="B=", name="Club"),
    ]
    assert [request.headers["prefer"] for request in wire.requests] == [PREFER, PREFER]


@pytest.mark.parametrize(
    "link", ["https://elsewhere.example/v1.0/me/calendars", "http://calendar.example/v1.0/me"]
)
async def test_next_links_of_provider_b_to_other_hosts_are_not_followed(link):
    port, wire = open_b({"value": [], "@odata.nextLink": link})

    with pytest.raises(Broken):
        await port.calendars()
    assert len(wire.requests) == 1


async def test_invalid_ids_of_provider_b_are_a_broken_response():
    port, _ = open_b({"value": [{"id": "a b", "name": "x"}]})

    with pytest.raises(Broken):
        await port.calendars()


# -- both


BOTH = pytest.mark.parametrize(
    ("opener", "page"),
    [
        pytest.param(open_a, {"items": [a_event()] * 2, "nextPageToken": "2"}, id="A"),
        pytest.param(
            open_b, {"value": [b_event()] * 2, "@odata.nextLink": f"{BASE}/v1.0/me/more"}, id="B"
        ),
    ],
)


@BOTH
async def test_reading_stops_at_the_event_limit(monkeypatch, opener, page):
    monkeypatch.setattr(calendar_a, "MAX_EVENTS", 2)
    monkeypatch.setattr(calendar_b, "MAX_EVENTS", 2)
    port, wire = opener(page)

    listed = await port.events("c", selected(EVERYTHING))

    assert not listed.complete
    assert len(listed.events) == 2
    assert len(wire.requests) == 1
    with pytest.raises(TooMuch):
        await port.busy("c", WEEK, own_responses=True)


@pytest.mark.parametrize("opener", [open_a, open_b])
@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        (httpx.Response(200, content=b"{"), Broken),
        (httpx.Response(200, content=b"[]"), Broken),
        (httpx.Response(200, content=b'{"items": 1, "value": 1}'), Broken),
        (httpx.Response(404), Missing),
        (httpx.Response(410), Missing),
        (httpx.Response(403, content=b"{}"), Refused),
        (httpx.Response(429, headers={"retry-after": "9"}), Throttled),
    ],
)
async def test_failures_are_distinguished(opener, answer, expected):
    port, _ = opener(answer)

    with pytest.raises(expected):
        await port.events("c", selected(EVERYTHING))
    with pytest.raises(expected):
        await port.busy("c", WEEK, own_responses=True)


@pytest.mark.parametrize("opener", [open_a, open_b])
@pytest.mark.parametrize("native", ["", ".", ".."])
async def test_ids_that_are_not_path_segments_are_missing_without_a_call(opener, native):
    port, wire = opener({})

    with pytest.raises(Missing):
        await port.event("c", native, projection=EVERYTHING)
    with pytest.raises(Missing):
        await port.events(native, selected(EVERYTHING))
    assert wire.requests == []


@pytest.mark.parametrize("opener", [open_a, open_b])
async def test_a_probe_is_one_harmless_read(opener):
    port, wire = opener({})

    await port.probe()

    assert [request.method for request in wire.requests] == ["GET"]
