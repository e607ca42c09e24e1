"""Checks before the first upstream call, and what a token may not see or infer."""

import calendar_world
import pytest
import pytest_asyncio
from calendar_world import at, day, text
from world import BROKEN, EMPTY

from policy.vocabulary import CalendarField

pytestmark = pytest.mark.asyncio(loop_scope="module")

NOBODY = "00000000-0000-5000-8000-000000000000"
RANGE = {"from_": text(day()), "to": text(day(7))}
CALLS = {
    "events": ("/events", {}),
    "event": (f"/events/{NOBODY}", {}),
    "by-contact": ("/events/by-contact", {"email": "ana"}),
    "freebusy": ("/freebusy", RANGE),
    "calendars": ("/calendars", {}),
}
every_call = pytest.mark.parametrize(("path", "query"), CALLS.values(), ids=CALLS)
ABOUT_EVENTS = {name: CALLS[name] for name in ("events", "event", "by-contact")}


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def shared_calendars(world_template, tmp_path_factory):
    async with calendar_world.open_shared(
        world_template, tmp_path_factory.mktemp("agendas")
    ) as agendas:
        yield agendas


@pytest.fixture
def agendas(shared_calendars):
    shared_calendars.world.forget_calls()
    return shared_calendars


def all_but(*hidden):
    return [word.value for word in CalendarField if word not in hidden]


def error(response, code, message, **members):
    return {
        "error": code,
        "message": message,
        "requestId": response.headers["x-request-id"],
        **members,
    }


def requested_fields(agendas):
    """Return every event member that was requested from either upstream."""
    return " ".join(
        value
        for call in agendas.calls()
        if not call["path"].endswith(("/calendarList", "/calendars"))
        for name in ("fields", "$select", "$expand")
        for value in call["query"].get(name, ())
    )


# -- gates


@every_call
async def test_no_or_a_wrong_token_is_401(agendas, path, query):
    wrong = await agendas.get(path, "nonsense", **query)
    async with agendas.world.client() as nobody:
        none = await nobody.get(f"/api/access/calendar{path}")

    message = "An Authorization header with a bearer token is required."
    assert (none.status_code, wrong.status_code) == (401, 401)
    assert none.json() == error(none, None, message, reason="MISSING_HEADER")
    assert wrong.json()["reason"] == "UNKNOWN_TOKEN"
    assert agendas.calls() == []


@every_call
async def test_a_disabled_surface_is_422_before_any_other_check(agendas, path, query):
    token = await agendas.token(calendarAccessEnabled=False, calendarAccessLevel="free_busy_only")

    response = await agendas.get(path, token, limit="x", **query)

    assert response.status_code == 422
    assert response.json() == error(
        response,
        "CALENDAR_NOT_ENABLED",
        "This token has no calendar access: calendarAccessEnabled is false.",
    )
    assert agendas.calls() == []


@every_call
async def test_without_any_connection_it_is_422(agendas, path, query):
    token = await agendas.token(resources=(EMPTY,), calendarAccessLevel="free_busy_only")

    response = await agendas.get(path, token, limit="x", **query)

    assert response.status_code == 422
    assert response.json() == error(
        response,
        "NO_CALENDAR_PROVIDER",
        "The token's operator has no calendar connection on any of the token's resources.",
    )


@pytest.mark.parametrize(("path", "query"), ABOUT_EVENTS.values(), ids=ABOUT_EVENTS)
async def test_free_and_busy_only_is_403_before_parameters(agendas, path, query):
    token = await agendas.token(calendarAccessLevel="free_busy_only")

    response = await agendas.get(path.replace(NOBODY, "x"), token, limit="x", **query)

    assert response.status_code == 403
    assert response.json() == error(
        response, "ACCESS_DENIED", "This token may see free and busy times only."
    )
    assert agendas.calls() == []


@pytest.mark.parametrize("name", ["freebusy", "calendars"])
async def test_free_busy_only_permits_free_busy_calls_and_reports_the_limit(agendas, name):
    token = await agendas.token(calendarAccessLevel="free_busy_only")
    path, query = CALLS[name]

    response = await agendas.get(path, token, **query)

    assert response.status_code == 200
    assert len(response.json()["calendars"]) == 4
    assert response.json()["accessInfo"] == "Only free/busy times are visible."


@pytest.mark.parametrize("level", ["view_filtered", "view_only", "full_access"])
@every_call
async def test_every_other_level_permits_all_calls(agendas, level, path, query):
    token = await agendas.token(calendarAccessLevel=level)

    response = await agendas.get(path, token, **query)

    assert response.status_code == (404 if NOBODY in path else 200)


@every_call
async def test_parameters_come_before_the_connections_state(agendas, path, query):
    token = await agendas.token(allowedConnectionIds=[])
    wrong = {"event": "/events/x", "freebusy": "/freebusy"}
    name = next(name for name, call in CALLS.items() if call == (path, query))

    response = await agendas.get(path, token, **query)
    bad = None if name == "calendars" else await agendas.get(wrong.get(name, path), token, limit=0)

    assert response.status_code == 403
    assert response.json() == error(
        response,
        "NO_PROVIDER",
        "Every calendar connection of this token is inactive or excluded by its settings.",
    )
    assert bad is None or bad.status_code == 400
    assert agendas.calls() == []


@every_call
async def test_an_inactive_connection_is_403(agendas, path, query):
    token = await agendas.token(resources=(BROKEN,))

    response = await agendas.get(path, token, **query)

    assert response.status_code == 403
    assert response.json()["error"] == "NO_PROVIDER"
    assert agendas.calls() == []


async def test_excluded_connections_are_not_called(agendas):
    token = await agendas.token(allowedConnectionIds=[agendas.connections["PROVIDER_B"]])

    response = await agendas.get("/events", token)

    assert [event["title"] for event in response.json()["events"]] == ["Budget 2027", "Training"]
    assert response.json()["currentUserCalendarEmail"] == "me@provider-b.example"
    assert {call["path"].split("/")[1] for call in agendas.calls()} == {"v1.0"}


async def test_an_event_of_an_excluded_connection_is_404(agendas):
    listed = (await agendas.get("/events")).json()["events"]
    token = await agendas.token(allowedConnectionIds=[agendas.connections["PROVIDER_B"]])
    lease = next(item["id"] for item in listed if item["title"] == "Lease talk")
    agendas.world.forget_calls()

    response = await agendas.get(f"/events/{lease}", token)

    assert response.status_code == 404
    assert response.json()["error"] == "EVENT_NOT_FOUND"
    assert agendas.calls() == []


# -- calendars


async def test_only_allowed_calendars_exist(agendas):
    ids = await agendas.ids()
    token = await agendas.token(allowedCalendarIds=[ids["Club"], 999])
    listed = (await agendas.get("/events")).json()["events"]
    agendas.world.forget_calls()

    calendars = await agendas.get("/calendars", token)
    events = await agendas.get("/events", token)
    busy = await agendas.get("/freebusy", token, **RANGE)
    by_id = {
        item["title"]: (await agendas.get(f"/events/{item['id']}", token)).status_code
        for item in listed
    }

    assert [calendar["calendarName"] for calendar in calendars.json()["calendars"]] == ["Club"]
    assert [event["title"] for event in events.json()["events"]] == ["Training"]
    assert [calendar["calendarId"] for calendar in busy.json()["calendars"]] == [ids["Club"]]
    assert by_id == {"Budget 2027": 404, "Lease talk": 404, "Training": 200, "Book fair": 404}
    assert events.json()["accessInfo"] == "Only selected calendars are visible."
    assert not any("/calendar/v3" in call["path"] for call in agendas.calls())


@pytest.mark.parametrize("name", ["events", "freebusy"])
async def test_a_calendar_that_is_not_allowed_is_404(agendas, name):
    ids = await agendas.ids()
    token = await agendas.token(allowedCalendarIds=[ids["Club"]])
    path, query = CALLS[name]
    argument = {"events": "calendarId", "freebusy": "calendars"}[name]
    agendas.world.forget_calls()

    response = await agendas.get(path, token, **query, **{argument: ids["Me"]})

    assert response.status_code == 404
    assert response.json() == error(
        response, "CALENDAR_NOT_FOUND", f"No calendar with the id {ids['Me']}."
    )
    assert agendas.calls() == []


async def test_an_empty_list_of_calendars_allows_none(agendas):
    token = await agendas.token(allowedCalendarIds=[])

    calendars = await agendas.get("/calendars", token)
    events = await agendas.get("/events", token)
    busy = await agendas.get("/freebusy", token, **RANGE)
    contact = await agendas.get("/events/by-contact", token, email="ana")

    assert calendars.json()["calendars"] == busy.json()["calendars"] == []
    assert events.json()["events"] == contact.json()["events"] == []
    assert agendas.calls() == []


# -- the token's window


WINDOW = {"timeframePastDays": 2, "timeframeFutureDays": 1}
WINDOW_SAID = "Results limited to time window: last 2 days to next 1 days."


@pytest.mark.parametrize(
    ("settings", "query", "expected"),
    [
        pytest.param(
            {"timeframePastDays": 30, "timeframeFutureDays": 30}, {}, (-3, 4), id="smart: 30 and 30"
        ),
        pytest.param(
            {"timeframePastDays": 0, "timeframeFutureDays": 30}, {}, (0, 7), id="smart: no past"
        ),
        pytest.param(
            {"timeframePastDays": 30, "timeframeFutureDays": 0}, {}, (-6, 1), id="smart: no future"
        ),
        pytest.param(WINDOW, {}, (-2, 2), id="smart: small"),
        pytest.param({"timeframePastDays": 2}, {}, (-2, 5), id="smart: past alone"),
        pytest.param(WINDOW, {"from_": -9, "to": 9}, (-2, 2), id="clamped"),
        pytest.param(WINDOW, {"from_": 0}, (0, 2), id="clamped at the end"),
    ],
)
async def test_the_window_bounds_the_range(agendas, settings, query, expected):
    token = await agendas.token(**settings)
    params = {name: text(day(offset)) for name, offset in query.items()}

    meta = (await agendas.get("/events", token, **params)).json()["meta"]

    assert (meta["from"], meta["to"]) == tuple(text(day(bound)) for bound in expected)


async def test_a_range_outside_the_window_is_empty_without_a_call(agendas):
    token = await agendas.token(**WINDOW)

    events = await agendas.get("/events", token, from_=text(day(5)), to=text(day(6)))
    assert agendas.calls() == []
    busy = await agendas.get("/freebusy", token, from_=text(day(5)), to=text(day(6)))

    assert events.status_code == busy.status_code == 200
    assert events.json()["events"] == []
    assert events.json()["accessInfo"] == busy.json()["accessInfo"] == WINDOW_SAID
    assert [(calendar["busy"], calendar["free"]) for calendar in busy.json()["calendars"]] == [
        ([], [])
    ] * 4
    assert requested_fields(agendas) == ""


async def test_an_event_outside_the_window_is_403(agendas):
    listed = (await agendas.get("/events")).json()["events"]
    token = await agendas.token(timeframeFutureDays=0)

    answers = {item["title"]: await agendas.get(f"/events/{item['id']}", token) for item in listed}

    lease = answers["Lease talk"]
    assert {response.status_code for response in answers.values()} == {403}
    assert lease.json() == error(
        lease, "TIMEFRAME_DENIED", "The event lies outside the time window of this token."
    )


# -- masks


EVERYTHING_HIDDEN = {
    CalendarField.TITLE: (["title"], ["summary", "subject"]),
    CalendarField.DESCRIPTION: (["description"], ["description", "body"]),
    CalendarField.LOCATION: (["location"], ["location"]),
    CalendarField.TIMES: (["startUtc", "endUtc", "allDay"], ["isAllDay"]),
    CalendarField.STATUS: (["status"], ["status", "showAs"]),
    CalendarField.ORGANIZER: (["organizer"], ["organizer"]),
    CalendarField.ATTENDEES: (["attendees"], ["attendees"]),
    CalendarField.JOIN_URL: (["joinUrl"], ["hangoutLink", "conferenceData", "onlineMeeting"]),
    CalendarField.LABELS: (["labels"], ["categories"]),
    CalendarField.RECURRENCE: (["isRecurringEvent"], ["recurr", "type,"]),
}


@pytest.mark.parametrize("hidden", EVERYTHING_HIDDEN, ids=str)
async def test_a_hidden_field_is_null_and_not_requested_upstream(agendas, hidden):
    members, names = EVERYTHING_HIDDEN[hidden]
    whole = (await agendas.get("/events")).json()
    token = await agendas.token(visibleCalendarFields=all_but(hidden))
    agendas.world.forget_calls()

    masked = (await agendas.get("/events", token)).json()
    single = (await agendas.get(f"/events/{masked['events'][0]['id']}", token)).json()["event"]

    blank = dict.fromkeys(members)
    assert {event["id"]: event for event in masked["events"]} == {
        event["id"]: {**event, **blank} for event in whole["events"]
    }
    assert single == masked["events"][0]
    assert list(single) == list(whole["events"][0])
    assert masked["accessInfo"].startswith(f"Hidden event fields: {hidden}.")
    requested = f"{requested_fields(agendas)},"
    assert not [name for name in names if name in requested.replace("responseStatus", "")]


async def test_an_unselected_field_is_not_requested_upstream(agendas):
    await agendas.ask("{ calendarEvents { events { title } } }")

    assert "summary" in requested_fields(agendas)
    assert not any(
        name in requested_fields(agendas)
        for name in ("description", "body", "attendees", "organizer")
    )


async def test_a_visible_filter_requests_the_attributes_it_needs(agendas):
    await agendas.ask('{ calendarEvents(q: "x") { events { id } } }')

    assert all(
        name in requested_fields(agendas) for name in ("summary", "description", "body", "location")
    )
    assert "attendees" not in requested_fields(agendas)


@pytest.mark.parametrize(
    ("hidden", "q", "titles"),
    [
        ([CalendarField.TITLE], "lease", []),
        ([CalendarField.TITLE], "contract", [None]),
        ([CalendarField.DESCRIPTION], "contract", []),
        ([CalendarField.LOCATION, CalendarField.DESCRIPTION], "lease", ["Lease talk"]),
    ],
)
async def test_q_searches_visible_fields_only(agendas, hidden, q, titles):
    token = await agendas.token(visibleCalendarFields=all_but(*hidden))

    response = await agendas.get("/events", token, q=q)

    assert [event["title"] for event in response.json()["events"]] == titles


SEARCHED = (CalendarField.TITLE, CalendarField.DESCRIPTION, CalendarField.LOCATION)


@pytest.mark.parametrize(
    ("hidden", "path", "query", "message"),
    [
        pytest.param(
            SEARCHED,
            "/events",
            {"q": "lease"},
            "The filter 'q' would reveal a field that this token may not see: "
            "'title', 'description', 'location'.",
            id="q with nowhere to look",
        ),
        pytest.param(
            [CalendarField.ATTENDEES],
            "/events",
            {"attendees": "bo@work.example"},
            "The filter 'attendees' would reveal a field that this token may not see: 'attendees'.",
            id="attendees",
        ),
        pytest.param(
            [CalendarField.STATUS],
            "/events",
            {"includeCancelled": "true"},
            "The filter 'includeCancelled' would reveal a field that this token may not see: "
            "'status'.",
            id="cancelled events",
        ),
        pytest.param(
            [CalendarField.ATTENDEES],
            "/events/by-contact",
            {"email": "ana"},
            "A search by contact would reveal a field that this token may not see: 'attendees'.",
            id="by contact",
        ),
        pytest.param(
            [CalendarField.TIMES],
            "/freebusy",
            RANGE,
            "Free and busy times would reveal a field that this token may not see: 'times'.",
            id="free and busy",
        ),
    ],
)
async def test_a_revealing_filter_is_403_in_strict_mode_only(agendas, hidden, path, query, message):
    fields = all_but(*hidden)
    strict = await agendas.token(visibleCalendarFields=fields)
    basic = await agendas.token(visibleCalendarFields=fields, maskMode="basic")

    refused = await agendas.get(path, strict, **query)
    assert agendas.calls() == []
    passed = await agendas.get(path, basic, **query)

    assert refused.status_code == 403
    assert refused.json() == error(refused, "FIELD_NOT_VISIBLE", message)
    assert passed.status_code == 200


async def test_with_hidden_organisers_people_are_looked_for_among_attendees(agendas):
    token = await agendas.token(visibleCalendarFields=all_but(CalendarField.ORGANIZER))

    listed = await agendas.get("/events", token, attendees="me@provider-b.example")
    contact = await agendas.get("/events/by-contact", token, email="me@provider-b")

    assert listed.json()["events"] == contact.json()["events"] == []
    assert "organizer" not in requested_fields(agendas)


async def test_hidden_times_widen_the_range_to_whole_days(agendas):
    token = await agendas.token(visibleCalendarFields=all_but(CalendarField.TIMES))

    response = await agendas.get(
        "/events", token, from_=text(at(1, "12:00")), to=text(at(1, "13:00"))
    )

    assert response.json()["meta"] == {
        "count": 3,
        "offset": 0,
        "totalCount": 3,
        "hasMore": False,
        "from": text(day(1)),
        "to": text(day(2)),
    }


async def test_hidden_times_order_by_day_and_id_alone(agendas):
    token = await agendas.token(visibleCalendarFields=all_but(CalendarField.TIMES))

    events = (await agendas.get("/events", token)).json()["events"]

    first_day = [event["id"] for event in events[:3]]
    assert first_day == sorted(first_day)
    assert events[3]["title"] == "Book fair"


async def test_hidden_attendees_are_not_requested_by_any_call(agendas):
    token = await agendas.token(visibleCalendarFields=all_but(CalendarField.ATTENDEES))

    for path, query in (CALLS["events"], CALLS["freebusy"], CALLS["calendars"]):
        assert (await agendas.get(path, token, **query)).status_code == 200

    assert "attendees" not in requested_fields(agendas)
    assert "responseStatus" not in requested_fields(agendas)


# -- limits


async def test_the_rate_headers_are_the_surfaces_own(agendas):
    response = await agendas.get("/events")

    assert response.headers["x-ratelimit-limit"] == "100"
    assert response.headers["x-ratelimit-remaining"] == "99"


async def test_unknown_parameters_are_ignored_unless_handling_is_strict(agendas):
    token = await agendas.token()
    async with agendas.world.client(token) as client:
        usual = await client.get("/api/access/calendar/events?nonsense=1")
        strict = await client.get(
            "/api/access/calendar/events?nonsense=1", headers={"prefer": "handling=strict"}
        )

    assert (usual.status_code, strict.status_code) == (200, 400)
