"""`GET /events`, `/events/{eventId}` and `/calendars`: parameters, order, whole bodies."""

import agendaworld
import pytest
from agendaworld import ANA, BO, CARLA, at, day, meeting, text, whole_days

from providers.sandbox.calendarrecords import Guest, Override, Recurrence, moment


@pytest.fixture
def filled(agendas):
    """The calendars with what most tests look at."""
    agendaworld.fill(agendas)
    return agendas


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
        next(one for one in response.json()["events"] if one["title"] == title)["id"]
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
async def test_what_is_no_uuid_is_400(agendas, event_id):
    response = await agendas.get(f"/events/{event_id}")

    assert response.status_code == 400
    assert response.json() == error(response, "INVALID_ID", "The event id is not a UUID.")
    assert agendas.calls() == []


async def test_an_id_that_was_never_given_out_is_404_without_a_call(agendas):
    response = await agendas.get("/events/00000000-0000-5000-8000-000000000000")

    assert response.status_code == 404
    assert response.json() == error(response, "EVENT_NOT_FOUND", "No event with this id.")
    assert agendas.calls() == []


@pytest.mark.parametrize(("calendar", "found"), [("work", 200), ("office", 404)])
async def test_a_deleted_event_is_told_as_upstream_tells_it(agendas, calendar, found):
    stored = agendas.plant(calendar, "gone", meeting(at(1, "09:00"), at(1, "10:00"), "Gone"))
    event = (await agendas.get("/events")).json()["events"][0]
    agendas.world.sandbox.ground.calendars.delete(stored)

    response = await agendas.get(f"/events/{event['id']}")

    assert response.status_code == found
    if found == 200:
        assert response.json()["event"]["status"] == "cancelled"


# -- which events


async def test_without_a_range_it_is_today_and_six_days_more(agendas):
    for offset in (-1, 0, 6, 7):
        agendas.plant(
            "work", str(offset), meeting(at(offset, "11:00"), at(offset, "12:00"), str(offset))
        )

    assert titles(await agendas.get("/events")) == ["0", "6"]


@pytest.mark.parametrize(
    ("asked", "expected"),
    [
        pytest.param({"from_": 8}, (8, 15), id="from alone: a week"),
        pytest.param({"to": 3}, (0, 3), id="to alone: from today"),
        pytest.param({"to": -3}, (-10, -3), id="to alone in the past: a week"),
        pytest.param({"from_": -2, "to": 2}, (-2, 2), id="both"),
        pytest.param({"from_": ""}, (0, 7), id="an empty value is none"),
    ],
)
async def test_the_range_is_filled_in(agendas, asked, expected):
    query = {name: text(day(offset)) if offset != "" else "" for name, offset in asked.items()}

    meta = (await agendas.get("/events", **query)).json()["meta"]

    assert (meta["from"], meta["to"]) == tuple(text(day(one)) for one in expected)


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
async def test_every_way_to_write_a_time_is_read(agendas, written):
    clock = at(3, "12:30").strftime("%Y-%m-%dT%H:%M:%S")

    meta = (await agendas.get("/events", from_=written.format(clock))).json()["meta"]

    assert meta["from"] == text(at(3, "12:30"))


async def test_an_offset_and_a_date_alone_are_read(agendas):
    date = day(3).date()

    shifted = (await agendas.get("/events", from_=f"{date}T00:00:00-06:00")).json()["meta"]
    alone = (await agendas.get("/events", from_=str(date))).json()["meta"]

    assert shifted["from"] == text(at(3, "06:00"))
    assert alone["from"] == text(day(3))


@pytest.mark.parametrize("name", ["from_", "to"])
@pytest.mark.parametrize("value", ["tomorrow", "2026-13-01", "2026-01-01T25:00:00Z", "1"])
async def test_what_is_no_time_is_400(agendas, name, value):
    response = await agendas.get("/events", **{name: value})

    assert response.status_code == 400
    assert response.json()["error"] == "INVALID_PARAMETER"
    assert agendas.calls() == []


@pytest.mark.parametrize(("start", "end"), [(2, 2), (3, 2)])
async def test_a_range_that_ends_before_it_starts_is_400(agendas, start, end):
    response = await agendas.get("/events", from_=text(day(start)), to=text(day(end)))

    assert response.status_code == 400
    assert response.json() == error(response, "INVALID_RANGE", "'to' must be after 'from'.")


@pytest.mark.parametrize(
    ("start", "end", "belongs"),
    [
        pytest.param("08:00", "10:00", False, id="ends as the range starts"),
        pytest.param("08:00", "10:01", True, id="ends within"),
        pytest.param("10:00", "10:00", True, id="no length, at the start"),
        pytest.param("11:30", "11:30", True, id="no length, within"),
        pytest.param("12:00", "12:00", False, id="no length, at the end"),
        pytest.param("11:59", "13:00", True, id="starts within"),
        pytest.param("12:00", "13:00", False, id="starts as the range ends"),
        pytest.param("08:00", "13:00", True, id="all around"),
    ],
)
@pytest.mark.parametrize("calendar", ["work", "office"])
async def test_what_overlaps_belongs_to_the_range(agendas, calendar, start, end, belongs):
    agendas.plant(calendar, "one", meeting(at(1, start), at(1, end), "One"))

    response = await agendas.get("/events", from_=text(at(1, "10:00")), to=text(at(1, "12:00")))

    assert titles(response) == (["One"] if belongs else [])


@pytest.mark.parametrize("zone", ["UTC", "Europe/Stockholm", "America/Los_Angeles"])
@pytest.mark.parametrize("calendar", ["work", "office"])
async def test_a_whole_day_is_a_day_of_utc_whatever_its_zone(agendas, calendar, zone):
    agendas.plant(calendar, "day", whole_days(3, 4, "Day", zone=zone))

    early = await agendas.get("/events", from_=text(day(3)), to=text(at(3, "01:00")))
    late = await agendas.get("/events", from_=text(at(3, "23:00")), to=text(day(4)))
    after = await agendas.get("/events", from_=text(day(4)), to=text(day(5)))
    before = await agendas.get("/events", from_=text(day(2)), to=text(day(3)))

    assert [titles(one) for one in (early, late, after, before)] == [["Day"], ["Day"], [], []]


async def test_a_range_of_millennia_is_cut_to_what_is_near(filled):
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


async def test_a_long_q_is_400(agendas):
    response = await agendas.get("/events", q="x" * 501)

    assert response.status_code == 400
    assert response.json() == error(
        response, "INVALID_PARAMETER", "q must have 1 to 500 characters."
    )


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
async def test_no_or_too_many_attendees_are_400(agendas, attendees, message):
    response = await agendas.get("/events", attendees=attendees)

    assert response.status_code == 400
    assert response.json() == error(response, "INVALID_PARAMETER", message)


async def test_fifty_attendees_are_read(filled):
    many = ",".join([*(f"a{number}@b.example" for number in range(49)), "bo@work.example"])

    assert titles(await filled.get("/events", attendees=many)) == ["Lease talk"]


async def test_one_calendar_is_asked_alone(filled):
    ids = await filled.ids()
    filled.world.forget_calls()

    response = await filled.get("/events", calendarId=ids["Me"])

    assert titles(response) == ["Lease talk"]
    assert [call["path"] for call in filled.calls()] == [
        "/calendar/v3/calendars/me@provider-a.example/events"
    ]


@pytest.mark.parametrize("value", ["x", "1.5", "99999999999999999999"])
async def test_a_calendar_that_is_no_number_is_400(agendas, value):
    response = await agendas.get("/events", calendarId=value)

    assert response.status_code == 400
    assert response.json()["error"] == "INVALID_PARAMETER"


@pytest.mark.parametrize("value", ["99", "0", "-1", "9223372036854775807"])
async def test_a_calendar_that_does_not_exist_is_404(agendas, value):
    response = await agendas.get("/events", calendarId=value)

    assert response.status_code == 404
    assert response.json() == error(
        response, "CALENDAR_NOT_FOUND", f"No calendar with the id {value}."
    )
    assert agendas.calls() == []


async def test_cancelled_events_come_only_when_asked_for(agendas):
    agendas.plant(
        "work",
        "series",
        meeting(at(0, "11:00"), at(0, "12:00"), "Series"),
        recurrence=Recurrence(rules=("FREQ=DAILY;COUNT=2",)),
        overrides=(Override(original=moment(at(1, "11:00")), cancelled=True),),
    )
    agendas.plant(
        "office",
        "off",
        meeting(at(2, "11:00"), at(2, "12:00"), "Off", organiser=CARLA, status="cancelled"),
    )

    usual = await agendas.get("/events")
    everything = await agendas.get("/events", includeCancelled="TRUE")

    assert titles(usual) == ["Series"]
    assert [
        (one["title"], one["status"], one["startUtc"]) for one in everything.json()["events"]
    ] == [
        ("Series", "confirmed", text(at(0, "11:00"))),
        ("", "cancelled", text(at(1, "11:00"))),
        ("Off", "cancelled", text(at(2, "11:00"))),
    ]
    for event in everything.json()["events"]:
        again = await agendas.get(f"/events/{event['id']}")
        assert again.json()["event"] == event


async def test_includecancelled_is_a_boolean(agendas):
    response = await agendas.get("/events", includeCancelled="maybe")

    assert response.status_code == 400
    assert response.json()["error"] == "INVALID_PARAMETER"


# -- order and pages


async def test_order_is_by_start_then_id(agendas):
    for name in "abc":
        agendas.plant("work", f"w{name}", meeting(at(1, "09:00"), at(1, "10:00"), "Same"))
        agendas.plant("club", f"c{name}", meeting(at(1, "09:00"), at(1, "11:00"), "Same"))
    agendas.plant("home", "first", meeting(at(1, "08:59"), at(1, "12:00"), "First"))

    events = (await agendas.get("/events")).json()["events"]

    assert events[0]["title"] == "First"
    assert [one["id"] for one in events[1:]] == sorted(one["id"] for one in events[1:])
    assert len(events) == 7


async def test_pages_make_up_the_whole(filled):
    whole = (await filled.get("/events")).json()["events"]

    pages = [(await filled.get("/events", limit=1, offset=at_)).json() for at_ in range(5)]

    assert [one for page in pages for one in page["events"]] == whole
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
async def test_a_bad_limit_or_offset_is_400(agendas, path, query, message):
    response = await agendas.get(path, name="ana", **query)

    assert response.status_code == 400
    assert response.json() == error(response, "INVALID_PARAMETER", message)


@pytest.mark.parametrize(("limit", "applied"), [(1000, None), (1001, "1000"), (10**30, "1000")])
@pytest.mark.parametrize("path", ["/events", "/events/by-contact"])
async def test_a_limit_above_the_maximum_is_lowered_and_told(agendas, path, limit, applied):
    response = await agendas.get(path, name="ana", limit=limit)

    assert response.status_code == 200
    assert response.headers.get("x-applied-limit") == applied


async def test_the_default_is_fifty(agendas):
    agendas.plant(
        "work",
        "often",
        meeting(at(0, "00:00"), at(0, "00:30"), "Often"),
        recurrence=Recurrence(rules=("FREQ=HOURLY;COUNT=60",)),
    )

    body = (await agendas.get("/events")).json()

    assert len(body["events"]) == 50
    assert body["meta"] == {
        "count": 50,
        "offset": 0,
        "totalCount": 60,
        "hasMore": True,
        "from": text(day()),
        "to": text(day(7)),
    }


@pytest.mark.parametrize("calendar", ["work", "office"])
async def test_many_upstream_pages_are_read(agendas, monkeypatch, calendar):
    from providers.provider_a import calendar as calendar_a
    from providers.provider_b import calendar as calendar_b

    monkeypatch.setattr(calendar_a, "PAGE", 7)
    monkeypatch.setattr(calendar_b, "PAGE", 7)
    agendas.plant(
        calendar,
        "often",
        meeting(at(1, "00:00"), at(1, "00:30"), "Often"),
        recurrence=Recurrence(rules=("FREQ=HOURLY;COUNT=60",)),
    )

    body = (await agendas.get("/events", limit=1000)).json()

    assert body["meta"]["totalCount"] == 60
    assert len({one["id"] for one in body["events"]}) == 60
    assert len(agendas.calls()) > 9


# -- what is told


async def test_every_answer_of_an_attendee_is_told(agendas):
    guests = tuple(
        Guest(email=f"{word}@x.example", name=word.title(), response=word)
        for word in ("accepted", "declined", "tentative", "needsAction")
    )
    for calendar in ("work", "office"):
        content = meeting(at(1, "09:00"), at(1, "10:00"), calendar, organiser=ANA, attendees=guests)
        agendas.plant(calendar, calendar, content)

    for event in (await agendas.get("/events")).json()["events"]:
        assert [one["response"] for one in event["attendees"]] == [
            "accepted",
            "declined",
            "tentative",
            "needsAction",
        ]


@pytest.mark.parametrize("calendar", ["work", "office"])
async def test_an_event_without_a_title_has_an_empty_one(agendas, calendar):
    agendas.plant(calendar, "untitled", meeting(at(1, "09:00"), at(1, "10:00"), None))

    assert titles(await agendas.get("/events")) == [""]


async def test_both_copies_of_a_meeting_are_events_of_their_own(agendas):
    content = meeting(at(1, "09:00"), at(1, "10:00"), "Both", attendees=(ANA, BO))
    agendas.plant("work", "a", content, uid="same@x.example")
    agendas.plant("office", "b", content, uid="same@x.example")

    events = (await agendas.get("/events")).json()["events"]

    assert [one["title"] for one in events] == ["Both", "Both"]
    assert events[0]["id"] != events[1]["id"]


async def test_times_of_a_series_keep_their_ids_when_one_is_moved(agendas):
    stored = agendas.plant(
        "work",
        "series",
        meeting(at(1, "09:00"), at(1, "10:00"), "Series"),
        recurrence=Recurrence(rules=("FREQ=DAILY;COUNT=3",)),
    )
    before = (await agendas.get("/events")).json()["events"]
    moved = stored.content.at(moment(at(5, "15:00")))
    agendas.world.sandbox.ground.calendars.override(
        stored, moment(at(2, "09:00")), moved, cancelled=False
    )

    after = (await agendas.get("/events")).json()["events"]

    assert [one["id"] for one in after] == [before[0]["id"], before[2]["id"], before[1]["id"]]
    assert after[2]["startUtc"] == text(at(5, "15:00"))


async def test_calendars_are_listed_with_the_whole_body(agendas):
    response = await agendas.get("/calendars")

    ids = [one["calendarId"] for one in response.json()["calendars"]]
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
