"""Provider B's calendar wire, over a small calendar; the client checks every answer's types."""

from dataclasses import replace
from datetime import date, datetime, timedelta

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from sandbox.calendar.records import (
    Attendee,
    EventContent,
    EventTime,
    NewEvent,
    Override,
    Recurrence,
    from_local,
)

ZONE = "Europe/Stockholm"
ME = Attendee(email="me@provider-b.example", name="Me", response="accepted")
ANN = Attendee(email="ann@x.test", name="Ann Miller", response="tentative")
JANUARY = {"startDateTime": "2026-01-01T00:00:00Z", "endDateTime": "2026-02-01T00:00:00Z"}
SCOPES = ("Calendars.ReadWrite", "User.Read")
NEVER = "0001-01-01T00:00:00Z"


def at(text, zone=ZONE):
    return from_local(datetime.fromisoformat(text), zone)


def content(start, end, **more):
    return EventContent(**{"start": at(start), "end": at(end), "organiser": ME, **more})


class Diary:
    """A calendar of five events, and a second one of a single."""

    def __init__(self, world):
        self.store = world.state.calendars
        self.own = self.store.add_calendar("provider-b", "Calendar", zone=ZONE, is_primary=True)
        self.other = self.store.add_calendar("provider-b", "Sites", zone=ZONE)
        keel = content("2026-01-07T09:00", "2026-01-07T10:00", title="Keel", location="Shed 3")
        self.keel = self.add(
            replace(
                keel,
                attendees=(ME, ANN),
                description="Planks & nails",
                video_link="https://m.test/k",
                categories=("Boats",),
            )
        )
        standup = content("2026-01-05T09:00", "2026-01-05T09:15", title="Stand-up")
        moved = replace(standup, start=at("2026-01-07T12:00"), end=at("2026-01-07T12:15"))
        self.standup = self.add(
            standup,
            Recurrence(rules=("FREQ=DAILY;COUNT=4",)),
            (
                Override(original=at("2026-01-06T09:00"), cancelled=True),
                Override(original=at("2026-01-07T09:00"), content=moved),
            ),
        )
        day = EventTime(ZONE, day=date(2026, 1, 6))
        self.holiday = self.add(
            replace(standup, title="Holiday", start=day, end=day.later(timedelta(days=1)))
        )
        self.off = self.add(replace(keel, title="Off", status="cancelled"))
        self.theirs = self.add(
            content(
                "2026-01-08T09:00",
                "2026-01-08T10:00",
                title="Called off",
                organiser=ANN,
                attendees=(ANN, ME),
                status="cancelled",
            )
        )
        site = content("2026-01-09T09:00", "2026-01-09T10:00", title="Site")
        self.site = self.store.add_events(self.other, (NewEvent(content=site),))[0]

    def add(self, kept, recurrence=None, overrides=()):
        new = NewEvent(content=kept, recurrence=recurrence, overrides=overrides)
        return self.store.add_events(self.own, (new,))[0]


@pytest.fixture
def diary(world):
    return Diary(world)


@pytest.fixture
def client(client_with):
    return client_with(*SCOPES)


async def view(client, path="/me/calendarView", **asked):
    answer = await client.get(path, params={**JANUARY, **asked})
    assert answer.status_code == 200, answer.text
    return answer.json()["value"]


def code(answer):
    return answer.json()["error"]["code"]


# Lists


async def test_a_view_expands_series_and_leaves_out_what_was_called_off_here(client, diary):
    found = await view(client, **{"$orderby": "start/dateTime", "$top": "50"})

    assert [
        (event["subject"], event["type"], event["start"]["dateTime"][:16]) for event in found
    ] == [
        ("Stand-up", "occurrence", "2026-01-05T08:00"),
        ("Holiday", "singleInstance", "2026-01-06T00:00"),
        ("Keel", "singleInstance", "2026-01-07T08:00"),
        ("Stand-up", "exception", "2026-01-07T11:00"),
        ("Stand-up", "occurrence", "2026-01-08T08:00"),
        ("Called off", "singleInstance", "2026-01-08T08:00"),
    ]
    assert [event["isCancelled"] for event in found] == [False] * 5 + [True]


async def test_without_an_order_the_latest_is_first(client, diary):
    starts = [event["start"]["dateTime"] for event in await view(client)]

    assert starts == sorted(starts, reverse=True)


async def test_events_are_singles_and_series_not_occurrences(client, diary):
    found = (await client.get("/me/events")).json()["value"]

    assert [(event["subject"], event["type"]) for event in found] == [
        ("Keel", "singleInstance"),
        ("Stand-up", "seriesMaster"),
        ("Holiday", "singleInstance"),
        ("Called off", "singleInstance"),
    ]


async def test_every_calendar_has_a_view_of_its_own(client, diary):
    path = f"/me/calendars/{diary.other.id}/calendarView"
    (group,) = (await client.get("/me/calendarGroups")).json()["value"]
    grouped = f"/me/calendarGroups/{group['id']}/calendars/{diary.other.id}/calendarView"

    assert [event["subject"] for event in await view(client, path)] == ["Site"]
    assert [event["subject"] for event in await view(client, grouped)] == ["Site"]
    assert "Site" not in [event["subject"] for event in await view(client)]


async def test_an_event_has_every_member(client, diary):
    found = (await client.get(f"/me/events/{diary.keel.id}")).json()

    place = {
        "displayName": "Shed 3",
        "locationType": "default",
        "uniqueId": "Shed 3",
        "uniqueIdType": "private",
    }
    me = {"emailAddress": {"name": "Me", "address": "me@provider-b.example"}}
    expected = {
        "subject": "Keel",
        "bodyPreview": "Planks & nails",
        "categories": ["Boats"],
        "iCalUId": diary.keel.uid,
        "originalStartTimeZone": "W. Europe Standard Time",
        "isAllDay": False,
        "isOrganizer": True,
        "isOnlineMeeting": True,
        "onlineMeeting": {"joinUrl": "https://m.test/k"},
        "showAs": "busy",
        "sensitivity": "normal",
        "isReminderOn": False,
        "seriesMasterId": None,
        "recurrence": None,
        "responseStatus": {"response": "organizer", "time": NEVER},
        "start": {"dateTime": "2026-01-07T08:00:00.0000000", "timeZone": "UTC"},
        "end": {"dateTime": "2026-01-07T09:00:00.0000000", "timeZone": "UTC"},
        "location": place,
        "locations": [place],
        "organizer": me,
        "attendees": [
            {"type": "required", "status": {"response": "organizer", "time": NEVER}, **me},
            {
                "type": "required",
                "status": {"response": "tentativelyAccepted", "time": NEVER},
                "emailAddress": {"name": "Ann Miller", "address": "ann@x.test"},
            },
        ],
    }
    assert {name: found[name] for name in expected} == expected
    assert found["body"]["contentType"] == "html"
    assert "Planks &amp; nails" in found["body"]["content"]


# Preferences


@pytest.mark.parametrize(
    ("zone", "start"),
    [
        ("UTC", "2026-01-07T08:00:00.0000000"),
        ("Asia/Tokyo", "2026-01-07T17:00:00.0000000"),
        ("Pacific Standard Time", "2026-01-07T00:00:00.0000000"),
    ],
)
async def test_times_are_in_the_preferred_zone(client, diary, zone, start):
    headers = {"prefer": f'outlook.timezone="{zone}"'}

    answer = await client.get(f"/me/events/{diary.keel.id}", headers=headers)
    day = await client.get(f"/me/events/{diary.holiday.id}", headers=headers)

    assert answer.json()["start"] == {"dateTime": start, "timeZone": zone}
    assert day.json()["start"] == {"dateTime": "2026-01-06T00:00:00.0000000", "timeZone": zone}
    assert answer.headers["preference-applied"] == f'outlook.timezone="{zone}"'


async def test_bodies_come_as_text_when_preferred(client, diary):
    headers = {"prefer": 'outlook.body-content-type="text"'}

    found = (await client.get(f"/me/events/{diary.keel.id}", headers=headers)).json()

    assert found["body"] == {"contentType": "text", "content": "Planks & nails"}


async def test_both_spaces_of_ids_name_the_same(client, diary):
    prefer = {"prefer": 'IdType="ImmutableId"'}
    plain = {event["id"]: event["subject"] for event in await view(client)}
    answer = await client.get("/me/calendarView", params=JANUARY, headers=prefer)
    lasting = {event["id"]: event["subject"] for event in answer.json()["value"]}

    assert not plain.keys() & lasting.keys()
    for name, subject in (*plain.items(), *lasting.items()):
        found = (await client.get(f"/me/events/{name}")).json()
        assert (found["subject"], found["id"] in plain) == (subject, True)
        again = (await client.get(f"/me/events/{name}", headers=prefer)).json()
        assert again["id"] in lasting


# Options


async def test_pages_are_followed_by_their_links(client, diary):
    asked = {"$top": "4", "$orderby": "start/dateTime", "$count": "true", "$select": "subject"}
    first = (await client.get("/me/calendarView", params={**JANUARY, **asked})).json()
    second = (await client.get(first["@odata.nextLink"])).json()

    assert (len(first["value"]), len(second["value"]), first["@odata.count"]) == (4, 2, 6)
    assert "@odata.nextLink" not in second
    names = {name for event in (*first["value"], *second["value"]) for name in event}
    assert names == {"@odata.etag", "id", "subject"}


async def test_the_default_page_has_ten_events(client, diary):
    for number in range(12):
        diary.add(content("2026-01-10T09:00", "2026-01-10T10:00", title=str(number)))

    assert len(await view(client)) == 10
    assert len(await view(client, **{"$top": "1000"})) == 18


FILTERS = {
    "a flag": ("isAllDay eq true", ["Holiday"]),
    "a word": ("showAs eq 'busy' and subject eq 'keel'", ["Keel"]),
    "a time": ("start/dateTime ge '2026-01-08T08:00:00Z'", ["Stand-up", "Called off"]),
    "a time without seconds": ("start/dateTime lt '2026-01-05T08:01'", ["Stand-up"]),
    "a day": ("start/dateTime lt '2026-01-06'", ["Stand-up"]),
    "a category": ("categories/any(one:one eq 'Boats')", ["Keel"]),
    "the organiser": ("organizer/emailAddress/address eq 'ann@x.test'", ["Called off"]),
}


@pytest.mark.parametrize(("text", "found"), FILTERS.values(), ids=FILTERS)
async def test_a_filter_chooses(client, diary, text, found):
    shown = await view(client, **{"$filter": text, "$orderby": "start/dateTime"})

    assert [event["subject"] for event in shown] == found


async def test_creation_times_cannot_be_selected_in_a_view(client, diary):
    (one, *_) = await view(client, **{"$select": "subject,createdDateTime"})

    assert one.keys() == {"@odata.etag", "id", "subject"}


REFUSED = {
    "no window": ({}, "ErrorInvalidParameter"),
    "half a window": ({"startDateTime": "2026-01-01"}, "ErrorInvalidParameter"),
    "no time": ({**JANUARY, "endDateTime": "soon"}, "ErrorInvalidParameter"),
    "a window backwards": (
        {"startDateTime": "2026-01-02", "endDateTime": "2026-01-01"},
        "ErrorInvalidParameter",
    ),
    "too long a window": (
        {"startDateTime": "2019-11-12", "endDateTime": "2024-11-12"},
        "ErrorInvalidRequest",
    ),
    "words": ({**JANUARY, "$search": "keel"}, "ErrorInvalidUrlQuery"),
    "an unknown member": ({**JANUARY, "$select": "title"}, "RequestBroker--ParseUri"),
    "too large a page": ({**JANUARY, "$top": "1001"}, "RequestBroker--ParseUri"),
}


@pytest.mark.parametrize(("asked", "why"), REFUSED.values(), ids=REFUSED)
async def test_an_invalid_parameter_is_rejected(client, diary, asked, why):
    answer = await client.get("/me/calendarView", params=asked)

    assert (answer.status_code, code(answer)) == (400, why)


async def test_an_unknown_zone_is_refused(client, diary):
    headers = {"prefer": 'outlook.timezone="Middle Earth"'}

    answer = await client.get("/me/calendarView", params=JANUARY, headers=headers)

    assert (answer.status_code, code(answer)) == (400, "TimeZoneNotSupportedException")


@pytest.mark.parametrize("given", ["2026-01-07T08:00:00", "2026-01-07T10:00:00+02:00"])
async def test_a_window_counts_at_utc_unless_it_says_otherwise(client, diary, given):
    asked = {"startDateTime": given, "endDateTime": "2026-01-07T08:00:01Z"}
    answer = await client.get(
        "/me/calendarView", params=asked, headers={"prefer": 'outlook.timezone="Asia/Tokyo"'}
    )

    assert [event["subject"] for event in answer.json()["value"]] == ["Keel"]


# One event


async def test_deleted_and_unknown_events_are_not_found(client, diary):
    series = diary.standup.id
    (first, *_) = (
        event
        for event in await view(client, **{"$orderby": "start/dateTime"})
        if event["type"] == "occurrence"
    )

    assert code(await client.get(f"/me/events/{diary.off.id}")) == "ErrorItemNotFound"
    assert code(await client.get(f"/me/events/{series[:-5]}AAAA=")) == "ErrorItemNotFound"
    assert code(await client.get("/me/events/nothing")) == "ErrorInvalidIdMalformed"
    wrong = first["id"].replace("3038", "3131")  # an hour at which the series does not begin
    assert code(await client.get(f"/me/events/{wrong}")) == "ErrorItemNotFound"


async def test_an_event_is_found_in_its_own_calendar_only(client, diary):
    inside = await client.get(f"/me/calendars/{diary.other.id}/events/{diary.site.id}")
    outside = await client.get(f"/me/calendars/{diary.own.id}/events/{diary.site.id}")

    assert (inside.status_code, outside.status_code) == (200, 404)


async def test_instances_of_a_series_can_be_listed(client, diary):
    found = await view(client, f"/me/events/{diary.standup.id}/instances")

    assert [(event["type"], event["seriesMasterId"]) for event in found] == [
        ("occurrence", diary.standup.id),
        ("exception", diary.standup.id),
        ("occurrence", diary.standup.id),
    ]


PATTERNS = {
    "every other week": (
        "FREQ=WEEKLY;INTERVAL=2;BYDAY=MO,TH",
        {"type": "weekly", "interval": 2, "daysOfWeek": ["monday", "thursday"]},
        {"type": "noEnd"},
    ),
    "the last Friday": (
        "FREQ=MONTHLY;BYDAY=-1FR;COUNT=3",
        {"type": "relativeMonthly", "daysOfWeek": ["friday"], "index": "last"},
        {"type": "numbered", "numberOfOccurrences": 3},
    ),
    "the tenth": (
        "FREQ=MONTHLY;BYMONTHDAY=10;UNTIL=20260301T225959Z",
        {"type": "absoluteMonthly", "dayOfMonth": 10},
        {"type": "endDate", "endDate": "2026-03-01"},
    ),
    "every year": (
        "FREQ=YEARLY",
        {"type": "absoluteYearly", "month": 1, "dayOfMonth": 5},
        {"type": "noEnd", "startDate": "2026-01-05"},
    ),
}


@pytest.mark.parametrize(("rule", "pattern", "stretch"), PATTERNS.values(), ids=PATTERNS)
async def test_a_rule_is_shown_as_a_pattern(client, diary, rule, pattern, stretch):
    kept = diary.add(content("2026-01-05T09:00", "2026-01-05T10:00"), Recurrence(rules=(rule,)))

    shown = (await client.get(f"/me/events/{kept.id}")).json()["recurrence"]

    assert {name: shown["pattern"][name] for name in pattern} == pattern
    assert {name: shown["range"][name] for name in stretch} == stretch


# Writing


def timed(start="2026-03-28T09:00:00", end="2026-03-28T10:00:00", **more):
    zone = more.pop("zone", "W. Europe Standard Time")
    return {
        "subject": "Mast",
        "start": {"dateTime": start, "timeZone": zone},
        "end": {"dateTime": end, "timeZone": zone},
        **more,
    }


def weekly(**stretch):
    return {
        "pattern": {"type": "daily", "interval": 1},
        "range": {
            "type": "numbered",
            "numberOfOccurrences": 3,
            "startDate": "2026-03-28",
            **stretch,
        },
    }


async def test_a_new_series_keeps_its_local_time(client, diary):
    answer = await client.post("/me/events", json=timed(recurrence=weekly()))
    made = answer.json()
    asked = {"startDateTime": "2026-03-01", "endDateTime": "2026-05-01"}
    path = f"/me/events/{made['id']}/instances"
    found = (await client.get(path, params=asked)).json()["value"]

    assert (answer.status_code, made["type"]) == (201, "seriesMaster")
    assert answer.headers["location"].endswith(f"/events('{made['id']}')")
    assert [event["start"]["dateTime"][8:13] for event in found] == ["28T08", "29T07", "30T07"]


@pytest.mark.parametrize(
    "shown", [pattern for pattern, *_ in PATTERNS.values()], ids=list(PATTERNS)
)
async def test_a_pattern_comes_back_as_the_rule_it_was(client, diary, shown):
    kept = diary.add(content("2026-01-05T09:00", "2026-01-05T10:00"), Recurrence(rules=(shown,)))
    pattern = (await client.get(f"/me/events/{kept.id}")).json()["recurrence"]

    body = timed("2026-01-05T09:00:00", "2026-01-05T10:00:00", recurrence=pattern)
    made = (await client.post("/me/events", json=body)).json()

    window = {"startDateTime": "2026-01-01", "endDateTime": "2029-01-01", "$top": "1000"}
    starts = [
        [
            event["start"]["dateTime"]
            for event in (await client.get(f"/me/events/{name}/instances", params=window)).json()[
                "value"
            ]
        ]
        for name in (kept.id, made["id"])
    ]
    assert starts[0] == starts[1]


async def test_one_occurrence_is_changed_and_another_deleted(client, diary):
    path = f"/me/events/{diary.standup.id}/instances"
    first, _, last = await view(client, path)

    changed = await client.patch(f"/me/events/{first['id']}", json={"subject": "Late"})
    deleted = await client.delete(f"/me/events/{last['id']}")

    assert (changed.json()["type"], changed.json()["subject"]) == ("exception", "Late")
    assert deleted.status_code == 204
    assert [event["subject"] for event in await view(client, path)] == ["Late", "Stand-up"]
    assert (await client.get(f"/me/events/{last['id']}")).status_code == 404


async def test_an_invitation_is_answered_by_a_guest_only(client, diary):
    theirs = diary.add(
        content("2026-01-09T09:00", "2026-01-09T10:00", organiser=ANN, attendees=(ANN, ME))
    )
    path = f"/me/events/{theirs.id}"

    accepted = await client.post(f"{path}/tentativelyAccept", json={})
    shown = (await client.get(path)).json()
    own = await client.post(f"/me/events/{diary.keel.id}/accept", json={})
    not_own = await client.patch(path, json={"subject": "Mine"})
    declined = await client.post(f"{path}/decline")

    assert (accepted.status_code, declined.status_code) == (202, 202)
    assert shown["responseStatus"]["response"] == "tentativelyAccepted"
    assert shown["attendees"][1]["status"]["response"] == "tentativelyAccepted"
    assert (own.status_code, code(own)) == (400, "ErrorInvalidRequest")
    assert (not_own.status_code, code(not_own)) == (403, "ErrorAccessDenied")
    assert (await client.get(path)).status_code == 404


async def test_a_cancelled_meeting_is_removed_for_the_organizer(client, diary):
    answer = await client.post(f"/me/events/{diary.keel.id}/cancel", json={"Comment": "Rain"})
    not_mine = await client.post(f"/me/events/{diary.theirs.id}/cancel", json={})

    assert answer.status_code == 202
    assert not_mine.status_code == 400
    assert (await client.get(f"/me/events/{diary.keel.id}")).status_code == 404


BAD_BODIES = {
    "nothing": {},
    "no end": {"start": {"dateTime": "2026-01-01T00:00:00", "timeZone": "UTC"}},
    "no time": timed("soon"),
    "a guest without an address": timed(attendees=[{"type": "required"}]),
    "an unknown way to show": timed(showAs="maybe"),
    "an unknown importance": timed(importance="9999-12-31"),
    "an unknown sensitivity": timed(sensitivity="secret"),
    "a list for a word": timed(showAs=["busy"]),
    "an unknown pattern": timed(recurrence={"pattern": {"type": "hourly"}, "range": {}}),
    "a series without occurrences": timed(recurrence=weekly(numberOfOccurrences=0)),
    "long ago": timed("0999-01-01T00:00:00", "0999-01-01T01:00:00"),
}


@pytest.mark.parametrize("body", BAD_BODIES.values(), ids=BAD_BODIES)
async def test_an_invalid_event_is_rejected_and_not_stored(client, diary, body):
    before = diary.store.last_change()

    answer = await client.post("/me/events", json=body)

    assert (answer.status_code, code(answer)) == (400, "ErrorPropertyValidationFailure")
    assert diary.store.last_change() == before


async def test_an_end_before_the_start_is_refused(client, diary):
    answer = await client.post("/me/events", json=timed(end="2026-03-28T08:00:00"))

    assert code(answer) == "ErrorCalendarEndDateIsEarlierThanStartDate"


async def test_a_stale_etag_is_rejected(client, diary):
    path = f"/me/events/{diary.keel.id}"
    tag = (await client.get(path)).json()["@odata.etag"]

    first = await client.patch(path, json={"subject": "1"}, headers={"if-match": tag})
    second = await client.patch(path, json={"subject": "2"}, headers={"if-match": tag})

    assert first.status_code == 200
    assert (second.status_code, code(second)) == (412, "ErrorIrresolvableConflict")


# Calendars, schedules, permissions


async def test_the_calendars_are_listed_the_default_one_first(client, diary):
    found = (await client.get("/me/calendars?$select=name,isDefaultCalendar,owner")).json()

    assert [
        (event["name"], event["isDefaultCalendar"], event["owner"]["address"])
        for event in found["value"]
    ] == [("Calendar", True, "me@provider-b.example"), ("Sites", False, "me@provider-b.example")]
    assert (await client.get("/me/calendar")).json()["id"] == diary.own.id


async def test_a_calendar_is_made_renamed_and_deleted(client, diary):
    made = await client.post("/me/calendars", json={"name": "Neu"})
    path = f"/me/calendars/{made.json()['id']}"
    again = await client.post("/me/calendars", json={"name": "neu"})
    renamed = await client.patch(path, json={"name": "Newer"})

    assert (made.status_code, again.status_code) == (201, 409)
    assert renamed.json()["name"] == "Newer"
    assert (await client.delete(path)).status_code == 204
    assert (await client.get(path)).status_code == 404
    assert (await client.delete(f"/me/calendars/{diary.own.id}")).status_code == 400


def busy_question(**more):
    return {
        "schedules": ["me@provider-b.example", "nobody@x.test"],
        "startTime": {"dateTime": "2026-01-07T08:00:00", "timeZone": "UTC"},
        "endTime": {"dateTime": "2026-01-07T12:00:00", "timeZone": "UTC"},
        "availabilityViewInterval": 60,
        **more,
    }


async def test_a_schedule_lists_busy_times(client, diary):
    diary.add(content("2026-01-07T10:30", "2026-01-07T11:30", shows_as="oof", is_private=True))

    answer = await client.post("/me/calendar/getSchedule", json=busy_question())
    me, nobody = answer.json()["value"]

    assert me["availabilityView"] == "2332"
    assert [
        (schedule_item["status"], schedule_item.get("subject"))
        for schedule_item in me["scheduleItems"]
    ] == [("busy", "Keel"), ("oof", None), ("busy", "Stand-up")]
    assert nobody["error"]["responseCode"] == "ErrorMailRecipientNotFound"


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"endTime": {"dateTime": "2026-04-01T00:00:00"}}, "ErrorTimeIntervalTooBig"),
        ({"endTime": {"dateTime": "2026-01-07T07:00:00"}}, "ErrorInvalidTimeInterval"),
        ({"availabilityViewInterval": 4}, "ErrorInvalidParameter"),
        ({"schedules": []}, "ErrorInvalidParameter"),
        ({"startTime": "now"}, "ErrorInvalidParameter"),
    ],
    ids=["too long", "backwards", "too fine", "nobody", "no time"],
)
async def test_an_invalid_schedule_request_is_rejected(client, diary, change, why):
    answer = await client.post("/me/calendar/getSchedule", json=busy_question(**change))

    assert (answer.status_code, code(answer)) == (400, why)


async def test_scopes_limit_what_a_token_may_do(client_with, diary):
    reader, basic, mail = (
        client_with(scope) for scope in ("Calendars.Read", "Calendars.ReadBasic", "Mail.Read")
    )

    assert (await reader.post("/me/events", json=timed())).status_code == 403
    assert (await mail.get("/me/calendars")).status_code == 403
    (shown, *_) = await view(basic)
    assert not {"body", "bodyPreview"} & shown.keys()


async def test_an_application_asks_for_somebody_by_name(client_with, diary):
    client = client_with("Calendars.Read", app_only=True)

    assert code(await client.get("/me/calendars")) == "BadRequest"
    assert await view(client, "/users/me@provider-b.example/calendarView")


VALUES = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-9, 9),
    st.text(max_size=8),
    st.sampled_from(("2026-01-01T00:00:00", "0001-01-01T00:00:00Z", "9999-12-31", "UTC", "daily")),
)
JSON = st.recursive(
    VALUES,
    lambda inner: st.one_of(
        st.lists(inner, max_size=2),
        st.dictionaries(
            st.sampled_from(
                ("dateTime", "timeZone", "pattern", "range", "type", "emailAddress", "address")
            ),
            inner,
            max_size=3,
        ),
    ),
    max_leaves=6,
)
MEMBERS = st.sampled_from(
    (
        "start", "end", "subject", "body", "location", "recurrence", "attendees", "showAs",
        "sensitivity", "importance", "isAllDay", "categories", "reminderMinutesBeforeStart",
    )
)  # fmt: skip


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(body=st.dictionaries(MEMBERS, JSON, max_size=6))
async def test_any_event_is_stored_or_rejected(client, diary, body):
    made = await client.post("/me/events", json=body)
    changed = await client.patch(f"/me/events/{diary.keel.id}", json=body)

    assert made.status_code in {201, 400}
    assert changed.status_code in {200, 400}
    assert (await client.get("/me/calendarView", params=JANUARY)).status_code == 200
    assert (await client.get("/me/events")).status_code == 200
