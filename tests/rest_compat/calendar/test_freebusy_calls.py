"""`GET /freebusy`: parameters, busy periods, whole bodies."""

import calendar_world
import pytest
import pytest_asyncio
from calendar_world import ANA, at, day, meeting, text, whole_days

from sandbox.calendar.records import Override, Recurrence, from_instant

RANGE = {"from_": text(day()), "to": text(day(1))}


pytestmark = pytest.mark.asyncio(loop_scope="module")


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def shared_calendars(world_template, tmp_path_factory):
    async with calendar_world.empty(world_template, tmp_path_factory.mktemp("agendas")) as agendas:
        yield agendas


@pytest.fixture
def agendas(shared_calendars):
    """Empty calendars; what a test plants is gone after it."""
    yield shared_calendars
    shared_calendars.clear()


def error(response, code, message):
    return {"error": code, "message": message, "requestId": response.headers["x-request-id"]}


def period(start, end):
    minutes = int((end - start).total_seconds() // 60)
    return {"startUtc": text(start), "endUtc": text(end), "durationMinutes": minutes}


async def busy(agendas, calendar, **query):
    ids = await agendas.ids()
    names = {"work": "Me", "home": "Home", "office": "Calendar", "club": "Club"}
    response = await agendas.get("/freebusy", **{**RANGE, **query}, calendars=ids[names[calendar]])
    assert response.status_code == 200, response.text
    (entry,) = response.json()["calendars"]
    return [(period["startUtc"], period["endUtc"]) for period in entry["busy"]]


async def test_free_busy_has_the_documented_body(agendas):
    for start, end in (("09:00", "10:00"), ("10:00", "10:30"), ("09:30", "09:45")):
        agendas.plant("work", start, meeting(at(0, start), at(0, end), "Secret"))
    ids = await agendas.ids()

    response = await agendas.get("/freebusy", **RANGE, calendars=f"{ids['Home']}, {ids['Me']}")

    assert response.status_code == 200
    assert response.json() == {
        "calendars": [
            {
                "calendarId": ids["Me"],
                "calendarName": "Me",
                "busy": [period(at(0, "09:00"), at(0, "10:30"))],
                "free": [period(day(), at(0, "09:00")), period(at(0, "10:30"), day(1))],
            },
            {
                "calendarId": ids["Home"],
                "calendarName": "Home",
                "busy": [],
                "free": [period(day(), day(1))],
            },
        ]
    }


async def test_all_calendars_are_returned_by_default_in_order_of_id(agendas):
    response = await agendas.get("/freebusy", **RANGE)

    calendars = response.json()["calendars"]
    assert [calendar["calendarName"] for calendar in calendars] == [
        "Me",
        "Home",
        "Calendar",
        "Club",
    ]
    assert [calendar["calendarId"] for calendar in calendars] == sorted(
        calendar["calendarId"] for calendar in calendars
    )


@pytest.mark.parametrize("calendar", ["work", "office"])
@pytest.mark.parametrize(
    ("more", "is_busy"),
    [
        pytest.param({}, True, id="confirmed"),
        pytest.param({"status": "tentative", "shows_as": "tentative"}, True, id="tentative"),
        pytest.param({"shows_as": "oof"}, True, id="away"),
        pytest.param({"shows_as": "free"}, False, id="free"),
        pytest.param({"shows_as": "workingElsewhere"}, False, id="working elsewhere"),
        pytest.param({"status": "cancelled"}, False, id="cancelled"),
    ],
)
async def test_events_that_count_as_busy(agendas, calendar, more, is_busy):
    agendas.plant(calendar, "one", meeting(at(0, "09:00"), at(0, "10:00"), "One", **more))

    periods = await busy(agendas, calendar)

    assert periods == ([(text(at(0, "09:00")), text(at(0, "10:00")))] if is_busy else [])


@pytest.mark.parametrize(("calendar", "me"), [("work", "provider-a"), ("office", "provider-b")])
async def test_declined_events_are_free_unless_attendees_are_hidden(agendas, calendar, me):
    from sandbox.calendar.records import Attendee

    owner = Attendee(email=f"me@{me}.example", response="declined")
    content = meeting(
        at(0, "09:00"), at(0, "10:00"), "No", organiser=ANA, attendees=(ANA, owner),
        my_response="declined",
    )  # fmt: skip
    agendas.plant(calendar, "no", content)
    ids = await agendas.ids()
    query = {**RANGE, "calendars": ids[{"work": "Me", "office": "Calendar"}[calendar]]}
    masked = await agendas.token(visibleCalendarFields=["title", "times"])

    seen = (await agendas.get("/freebusy", **query)).json()["calendars"][0]["busy"]
    hidden = (await agendas.get("/freebusy", masked, **query)).json()["calendars"][0]["busy"]

    assert seen == []
    assert hidden == [period(at(0, "09:00"), at(0, "10:00"))]


@pytest.mark.parametrize("calendar", ["work", "office"])
@pytest.mark.parametrize("zone", ["UTC", "Europe/Stockholm", "Pacific/Auckland"])
async def test_whole_days_are_taken_as_the_events_say(agendas, calendar, zone):
    agendas.plant(calendar, "day", whole_days(1, 3, "Days", zone=zone))

    periods = await busy(agendas, calendar, to=text(day(9)))

    assert periods == [(text(day(1)), text(day(3)))]


async def test_a_series_is_busy_except_at_its_cancelled_instance(agendas):
    agendas.plant(
        "work",
        "series",
        meeting(at(0, "09:00"), at(0, "10:00"), "Series"),
        recurrence=Recurrence(rules=("FREQ=DAILY;COUNT=3",)),
        overrides=(Override(original=from_instant(at(1, "09:00")), cancelled=True),),
    )

    periods = await busy(agendas, "work", to=text(day(5)))

    assert [start for start, _ in periods] == [text(at(0, "09:00")), text(at(2, "09:00"))]


async def test_periods_are_cut_to_the_range(agendas):
    agendas.plant("work", "long", meeting(at(-1, "12:00"), at(1, "12:00"), "Long"))

    periods = await busy(agendas, "work", from_=text(at(0, "06:00")), to=text(at(0, "07:30")))

    assert periods == [(text(at(0, "06:00")), text(at(0, "07:30")))]


async def test_minutes_are_rounded_down(agendas):
    start = at(0, "09:00")
    response = await agendas.get("/freebusy", from_=text(start), to=text(start)[:-3] + "59Z")

    (work, *_) = response.json()["calendars"]
    assert work["free"] == [
        {"startUtc": text(start), "endUtc": text(start)[:-3] + "59Z", "durationMinutes": 0}
    ]


async def test_events_without_duration_are_not_busy(agendas):
    agendas.plant("work", "point", meeting(at(0, "09:00"), at(0, "09:00"), "Point"))

    assert await busy(agendas, "work") == []


@pytest.mark.parametrize(
    ("query", "code", "message"),
    [
        ({"from_": RANGE["from_"]}, "MISSING_PARAMETER", "to is required."),
        ({"to": RANGE["to"]}, "MISSING_PARAMETER", "from is required."),
        ({**RANGE, "to": ""}, "MISSING_PARAMETER", "to is required."),
        ({**RANGE, "to": "later"}, "INVALID_PARAMETER", "to must be an ISO 8601 time."),
        ({**RANGE, "to": RANGE["from_"]}, "INVALID_RANGE", "'to' must be after 'from'."),
        ({**RANGE, "to": text(day(-1))}, "INVALID_RANGE", "'to' must be after 'from'."),
        (
            {**RANGE, "to": text(at(366, "00:01"))},
            "INVALID_RANGE",
            "The range may have at most 366 days.",
        ),
        *(
            (
                {**RANGE, "calendars": wrong},
                "INVALID_PARAMETER",
                "calendars must be whole numbers, separated by commas.",
            )
            for wrong in ("x", "1,x", "1,,2", ",", "1.5", "٣", "9" * 30)
        ),
    ],
)
async def test_bad_parameters_are_400(agendas, query, code, message):
    response = await agendas.get("/freebusy", **query)

    assert response.status_code == 400
    assert {**response.json(), "details": None} == {
        **error(response, code, message), "details": None
    }  # fmt: skip
    assert agendas.calls() == []


async def test_366_days_are_read(agendas):
    agendas.plant("work", "late", meeting(at(365, "22:00"), at(365, "23:00"), "Late"))

    periods = await busy(agendas, "work", to=text(day(366)))

    assert periods == [(text(at(365, "22:00")), text(at(365, "23:00")))]


async def test_the_first_calendar_that_does_not_exist_is_named(agendas):
    ids = await agendas.ids()
    agendas.world.forget_calls()

    response = await agendas.get("/freebusy", **RANGE, calendars=f"{ids['Me']},98,97")

    assert response.status_code == 404
    assert response.json() == error(response, "CALENDAR_NOT_FOUND", "No calendar with the id 98.")
    assert agendas.calls() == []


async def test_the_window_cuts_the_range(agendas):
    token = await agendas.token(timeframePastDays=0, timeframeFutureDays=0)

    response = await agendas.get("/freebusy", token, from_=text(day(-5)), to=text(day(5)))

    assert [calendar["free"] for calendar in response.json()["calendars"]] == [
        [period(day(), day(1))]
    ] * 4


async def test_only_event_times_are_requested_upstream(agendas):
    await agendas.get("/freebusy", **RANGE)

    requested = " ".join(
        value
        for call in agendas.calls()
        for name in ("fields", "$select")
        for value in call["query"].get(name, ())
    )
    assert not any(
        name in requested
        for name in ("subject", "description", "body", "location", "email", "organ")
    )
