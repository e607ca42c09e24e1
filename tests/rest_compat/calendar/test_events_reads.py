"""`GET /events`, `/events/{eventId}` and `/calendars`: parameters, order, whole bodies."""

import calendar_world
import pytest
import pytest_asyncio
from calendar_world import at, day, text

pytestmark = pytest.mark.asyncio(loop_scope="module")


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def shared_calendars(world_template, tmp_path_factory):
    """The calendars with the events of these tests; no test changes them."""
    async with calendar_world.open_shared(
        world_template, tmp_path_factory.mktemp("agendas")
    ) as agendas:
        yield agendas


@pytest.fixture
def filled(shared_calendars):
    shared_calendars.world.forget_calls()
    return shared_calendars


def titles(response):
    assert response.status_code == 200, response.text
    return [event["title"] for event in response.json()["events"]]


def error(response, code, message, **members):
    return {
        "error": code,
        "message": message,
        "requestId": response.headers["x-request-id"],
        **members,
    }


async def test_a_list_has_the_whole_body(filled):
    response = await filled.get("/events")

    lease, budget, training, fair = (
        next(event for event in response.json()["events"] if event["title"] == title)["id"]
        for title in ("Lease talk", "Budget 2027", "Training", "Book fair")
    )
    assert response.status_code == 200
    assert response.json() == {
        "events": [
            {
                "id": budget,
                "title": "Budget 2027",
                "description": "Numbers first.",
                "location": "Long table",
                "startUtc": text(at(1, "08:00")),
                "endUtc": text(at(1, "09:00")),
                "allDay": False,
                "status": "tentative",
                "organizer": "carla@work.example",
                "attendees": [
                    {"email": "carla@work.example", "name": "Carla Ana", "response": "accepted"},
                    {"email": "dan@else.example", "name": None, "response": "needsAction"},
                ],
                "joinUrl": None,
                "labels": ["Finance"],
                "isRecurringEvent": False,
            },
            {
                "id": lease,
                "title": "Lease talk",
                "description": "Bring the old contract.",
                "location": "Room 5",
                "startUtc": text(at(1, "09:00")),
                "endUtc": text(at(1, "10:30")),
                "allDay": False,
                "status": "confirmed",
                "organizer": "ana@home.example",
                "attendees": [
                    {"email": "ana@home.example", "name": "Ana Müller", "response": "accepted"},
                    {"email": "bo@work.example", "name": "Bo", "response": "declined"},
                ],
                "joinUrl": "https://meet.example/lease",
                "labels": [],
                "isRecurringEvent": False,
            },
            {
                "id": training,
                "title": "Training",
                "description": None,
                "location": None,
                "startUtc": text(at(1, "17:00")),
                "endUtc": text(at(1, "18:00")),
                "allDay": False,
                "status": "confirmed",
                "organizer": "me@provider-b.example",
                "attendees": [],
                "joinUrl": None,
                "labels": [],
                "isRecurringEvent": True,
            },
            {
                "id": fair,
                "title": "Book fair",
                "description": None,
                "location": None,
                "startUtc": text(day(2)),
                "endUtc": text(day(4)),
                "allDay": True,
                "status": "confirmed",
                "organizer": "me@provider-a.example",
                "attendees": [],
                "joinUrl": None,
                "labels": [],
                "isRecurringEvent": False,
            },
        ],
        "currentUserCalendarEmail": "me@provider-a.example",
        "meta": {
            "count": 4,
            "offset": 0,
            "totalCount": 4,
            "hasMore": False,
            "from": text(day()),
            "to": text(day(7)),
        },
    }


async def test_an_event_that_was_listed_is_read_by_its_id(filled):
    token = await filled.token()
    listed = (await filled.get("/events", token)).json()["events"]

    for event in listed:
        response = await filled.get(f"/events/{event['id']}", token)

        assert response.status_code == 200
        assert response.json() == {
            "event": event,
            "currentUserCalendarEmail": "me@provider-a.example",
        }


async def test_an_id_is_read_in_any_case(filled):
    listed = (await filled.get("/events")).json()["events"]

    response = await filled.get(f"/events/{listed[0]['id'].upper()}")

    assert response.json()["event"] == listed[0]


@pytest.mark.parametrize(
    "event_id",
    [
        "x",
        "1",
        "00000000-0000-0000-0000-00000000000",
        "{00000000-0000-0000-0000-000000000000}",
        "urn:uuid:00000000-0000-0000-0000-000000000000",
        "00000000000000000000000000000000",
        "%20",
        "",
        "٠0000000-0000-0000-0000-000000000000",
    ],
)
async def test_an_id_that_is_not_a_uuid_is_400(filled, event_id):
    response = await filled.get(f"/events/{event_id}")

    assert response.status_code == 400
    assert response.json() == error(response, "INVALID_ID", "The event id is not a UUID.")
    assert filled.calls() == []


async def test_an_unknown_id_is_404_without_an_upstream_call(filled):
    response = await filled.get("/events/00000000-0000-5000-8000-000000000000")

    assert response.status_code == 404
    assert response.json() == error(response, "EVENT_NOT_FOUND", "No event with this id.")
    assert filled.calls() == []


# -- which events


@pytest.mark.parametrize(
    ("bounds", "expected"),
    [
        pytest.param({"from_": 8}, (8, 15), id="from alone: a week"),
        pytest.param({"to": 3}, (0, 3), id="to alone: from today"),
        pytest.param({"to": -3}, (-10, -3), id="to alone in the past: a week"),
        pytest.param({"from_": -2, "to": 2}, (-2, 2), id="both"),
        pytest.param({"from_": ""}, (0, 7), id="an empty value is none"),
    ],
)
async def test_the_range_is_filled_in(filled, bounds, expected):
    query = {name: text(day(offset)) if offset != "" else "" for name, offset in bounds.items()}

    meta = (await filled.get("/events", **query)).json()["meta"]

    assert (meta["from"], meta["to"]) == tuple(text(day(bound)) for bound in expected)


@pytest.mark.parametrize(
    "written",
    [
        pytest.param("{}Z", id="UTC"),
        pytest.param("{}", id="no zone"),
        pytest.param("{}+00:00", id="an offset"),
        pytest.param("{} 00:00", id="a plus that was not encoded"),
        pytest.param("{}.000Z", id="a fraction"),
    ],
)
async def test_every_way_to_write_a_time_is_read(filled, written):
    clock = at(3, "12:30").strftime("%Y-%m-%dT%H:%M:%S")

    meta = (await filled.get("/events", from_=written.format(clock))).json()["meta"]

    assert meta["from"] == text(at(3, "12:30"))


async def test_an_offset_and_a_date_alone_are_read(filled):
    date = day(3).date()

    shifted = (await filled.get("/events", from_=f"{date}T00:00:00-06:00")).json()["meta"]
    alone = (await filled.get("/events", from_=str(date))).json()["meta"]

    assert shifted["from"] == text(at(3, "06:00"))
    assert alone["from"] == text(day(3))


@pytest.mark.parametrize("name", ["from_", "to"])
@pytest.mark.parametrize("value", ["tomorrow", "2026-13-01", "2026-01-01T25:00:00Z", "1"])
async def test_an_invalid_time_is_400(filled, name, value):
    response = await filled.get("/events", **{name: value})

    assert response.status_code == 400
    assert response.json()["error"] == "INVALID_PARAMETER"
    assert filled.calls() == []


@pytest.mark.parametrize(("start", "end"), [(2, 2), (3, 2)])
async def test_a_range_that_ends_before_it_starts_is_400(filled, start, end):
    response = await filled.get("/events", from_=text(day(start)), to=text(day(end)))

    assert response.status_code == 400
    assert response.json() == error(response, "INVALID_RANGE", "'to' must be after 'from'.")


async def test_a_default_end_beyond_the_calendar_is_no_fault_of_the_order(filled):
    response = await filled.get("/events", from_="9999-12-31")

    assert response.status_code == 400
    message = "Without 'to', 'from' must be before 9999-12-30."
    assert response.json() == error(response, "INVALID_RANGE", message)
    assert filled.calls() == []


async def test_an_excessive_range_is_shortened(filled):
    response = await filled.get("/events", from_="0001-01-01", to="9999-12-31")

    assert titles(response) == ["Training", "Budget 2027", "Lease talk", *["Training"] * 1,
                                "Book fair", "Training"]  # fmt: skip
    assert response.json()["meta"]["from"] == text(day(-7305))
    assert response.json()["meta"]["to"] == text(day(1828))


# -- filters


@pytest.mark.parametrize(
    ("q", "expected"),
    [
        pytest.param("lease", ["Lease talk"], id="title, any case"),
        pytest.param("EASE TA", ["Lease talk"], id="part of words"),
        pytest.param("old contract", ["Lease talk"], id="description"),
        pytest.param("long table", ["Budget 2027"], id="location"),
        pytest.param("  numbers ", ["Budget 2027"], id="trimmed"),
        pytest.param("carla", [], id="attendees are not looked at"),
        pytest.param("finance", [], id="labels are not looked at"),
        pytest.param("lease budget", [], id="the words in a row"),
        pytest.param("%", [], id="no wildcard"),
        pytest.param(
            " ", ["Budget 2027", "Lease talk", "Training", "Book fair"], id="blank is none"
        ),
    ],
)
async def test_q_is_part_of_title_description_or_location(filled, q, expected):
    assert titles(await filled.get("/events", q=q)) == expected


async def test_a_long_q_is_400(filled):
    response = await filled.get("/events", q="x" * 501)

    assert response.status_code == 400
    assert response.json() == {
        **error(response, "INVALID_PARAMETER", "q may have at most 500 characters."),
        "details": [{"field": "q", "message": "It may have at most 500 characters."}],
    }


@pytest.mark.parametrize(
    ("attendees", "expected"),
    [
        pytest.param("bo@work.example", ["Lease talk"], id="an attendee"),
        pytest.param("BO@Work.Example", ["Lease talk"], id="any case"),
        pytest.param(
            "bo@work.example, dan@else.example", ["Budget 2027", "Lease talk"], id="any of several"
        ),
        pytest.param("me@provider-b.example", ["Training"], id="the organiser"),
        pytest.param("o@work.example", [], id="no part of an address"),
        pytest.param("Bo", [], id="no name"),
        pytest.param("x@y.example,,", [], id="nobody"),
    ],
)
async def test_attendees_are_whole_addresses(filled, attendees, expected):
    assert titles(await filled.get("/events", attendees=attendees)) == expected


@pytest.mark.parametrize(
    ("attendees", "message"),
    [
        (",", "attendees must name at least one address."),
        (
            ",".join(f"a{number}@b.example" for number in range(51)),
            "attendees may name at most 50 addresses.",
        ),
    ],
)
async def test_no_or_too_many_attendees_are_400(filled, attendees, message):
    response = await filled.get("/events", attendees=attendees)

    assert response.status_code == 400
    assert response.json() == error(response, "INVALID_PARAMETER", message)


async def test_fifty_attendees_are_read(filled):
    many = ",".join([*(f"a{number}@b.example" for number in range(49)), "bo@work.example"])

    assert titles(await filled.get("/events", attendees=many)) == ["Lease talk"]


async def test_a_single_calendar_can_be_requested(filled):
    ids = await filled.ids()
    filled.world.forget_calls()

    response = await filled.get("/events", calendarId=ids["Me"])

    assert titles(response) == ["Lease talk"]
    assert [call["path"] for call in filled.calls()] == [
        "/calendar/v3/users/me/calendarList",
        "/calendar/v3/calendars/me@provider-a.example/events",
    ]


@pytest.mark.parametrize("value", ["x", "1.5", "99999999999999999999"])
async def test_a_calendar_id_that_is_not_a_number_is_400(filled, value):
    response = await filled.get("/events", calendarId=value)

    assert response.status_code == 400
    assert response.json()["error"] == "INVALID_PARAMETER"


@pytest.mark.parametrize("value", ["99", "0", "-1", "9223372036854775807"])
async def test_a_calendar_that_does_not_exist_is_404(filled, value):
    response = await filled.get("/events", calendarId=value)

    assert response.status_code == 404
    assert response.json() == error(
        response, "CALENDAR_NOT_FOUND", f"No calendar with the id {value}."
    )
    assert filled.calls() == []


async def test_includecancelled_is_a_boolean(filled):
    response = await filled.get("/events", includeCancelled="maybe")

    assert response.status_code == 400
    assert response.json()["error"] == "INVALID_PARAMETER"


# -- order and pages


async def test_pages_make_up_the_whole(filled):
    whole = (await filled.get("/events")).json()["events"]

    pages = [(await filled.get("/events", limit=1, offset=at_)).json() for at_ in range(5)]

    assert [event for page in pages for event in page["events"]] == whole
    assert [page["meta"]["hasMore"] for page in pages] == [True, True, True, False, False]
    assert [page["meta"]["count"] for page in pages] == [1, 1, 1, 1, 0]
    assert {page["meta"]["totalCount"] for page in pages} == {4}


@pytest.mark.parametrize(
    ("query", "message"),
    [
        ({"limit": 0}, "limit must be at least 1."),
        ({"limit": -1}, "limit must be at least 1."),
        ({"offset": -1}, "offset must be at least 0."),
    ],
)
@pytest.mark.parametrize("path", ["/events", "/events/by-contact"])
async def test_a_bad_limit_or_offset_is_400(filled, path, query, message):
    response = await filled.get(path, name="ana", **query)

    assert response.status_code == 400
    assert response.json() == error(response, "INVALID_PARAMETER", message)


@pytest.mark.parametrize(("limit", "applied"), [(1000, None), (1001, "1000"), (10**30, "1000")])
@pytest.mark.parametrize("path", ["/events", "/events/by-contact"])
async def test_a_limit_above_the_maximum_is_lowered_and_reported(filled, path, limit, applied):
    response = await filled.get(path, name="ana", limit=limit)

    assert response.status_code == 200
    assert response.headers.get("x-applied-limit") == applied


# -- what is told


async def test_calendars_are_listed_with_the_whole_body(filled):
    response = await filled.get("/calendars")

    ids = [calendar["calendarId"] for calendar in response.json()["calendars"]]
    assert response.status_code == 200
    assert ids == sorted(ids)
    assert response.json() == {
        "calendars": [
            {
                "calendarId": calendar_id,
                "calendarName": name,
                "provider": provider,
                "accountEmail": account,
                "isPrimary": primary,
                "timeZone": zone,
            }
            for calendar_id, name, provider, account, primary, zone in zip(
                ids,
                ["Me", "Home", "Calendar", "Club"],
                ["PROVIDER_A", "PROVIDER_A", "PROVIDER_B", "PROVIDER_B"],
                [
                    "me@provider-a.example",
                    "me@provider-a.example",
                    "me@provider-b.example",
                    "me@provider-b.example",
                ],
                [True, False, True, False],
                ["Europe/Stockholm", "Europe/Stockholm", None, None],
                strict=True,
            )
        ]
    }
