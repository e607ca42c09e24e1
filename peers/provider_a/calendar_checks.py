"""Calendar checks of provider A (Google Calendar)."""

from datetime import UTC, datetime


def agree(peer, facts):
    listing(peer, facts)
    series(peer, facts)
    writing(peer)
    refusing(peer)
    busy(peer, facts)
    batching(peer, facts)


def listing(peer, facts):
    calendars = peer.run(peer.client.calendarList().list(minAccessRole="reader"))["items"]
    assert [calendar.get("primary", False) for calendar in calendars] == [True, False, False]
    assert calendars[0]["id"] == "me@a.test"
    for calendar in calendars:
        peer.run(peer.client.calendarList().get(calendarId=calendar["id"]))
        peer.run(peer.client.calendars().get(calendarId=calendar["id"]))
    peer.run(peer.client.colors().get())
    window = {"timeMin": facts["since"], "timeMax": facts["until"], "singleEvents": True}
    found = every(peer, calendarId="primary", orderBy="startTime", maxResults=7, **window)
    starts = [instant(entry["start"]) for entry in found]
    assert len(found) == len({entry["id"] for entry in found})
    told = {
        (entry.get("summary"), instant(entry["start"]), instant(entry["end"])) for entry in found
    }
    planned = {
        (title, start, end) for title, start, end, all_day in facts["planned"] if not all_day
    }
    assert planned <= told, planned - told
    timed = [at for at, one in zip(starts, found) if "dateTime" in one["start"]]
    assert timed == sorted(timed)
    # Empty pages that are not the last one.
    request, sizes = peer.client.events().list(calendarId="primary", q="potato", maxResults=3), []
    while request is not None:
        page = peer.run(request)
        sizes.append(len(page["items"]))
        request = peer.client.events().list_next(request, page)
    assert sum(sizes) == 1 and 0 in sizes, sizes
    off = [
        entry
        for entry in every(peer, calendarId="primary", showDeleted=True, **window)
        if entry["status"] == "cancelled"
    ]
    assert len(off) == facts["cancelled"], (len(off), facts["cancelled"])
    bare = [entry for entry in off if "recurringEventId" in entry]
    assert bare and not any("summary" in entry or "start" in entry for entry in bare)
    masked = peer.run(
        peer.client.events().list(
            calendarId="primary", fields="nextPageToken,items(id,start)", maxResults=5, **window
        )
    )
    assert all(set(item) <= {"id", "start"} for item in masked["items"])
    tokyo = peer.run(
        peer.client.events().list(
            calendarId="primary", timeZone="Asia/Tokyo", maxResults=5, **window
        )
    )
    assert tokyo["timeZone"] == "Asia/Tokyo"
    assert all(
        item["start"].get("dateTime", "+09:00").endswith("+09:00") for item in tokyo["items"]
    )


def series(peer, facts):
    masters = [item for item in every(peer, calendarId="primary") if "recurrence" in item]
    (hudson,) = (master for master in masters if master.get("summary") == "Hudson boats: call")
    times = {"timeMin": "2026-02-25T00:00:00Z", "timeMax": "2026-04-10T00:00:00Z"}
    found = peer.run(
        peer.client.events().instances(calendarId="primary", eventId=hudson["id"], **times)
    )["items"]
    # New York changes to daylight saving time three weeks before Stockholm; its local time stays.
    assert [item["start"]["dateTime"][11:] for item in found] == [
        "16:00:00+01:00",
        "16:00:00+01:00",
        "15:00:00+01:00",
        "15:00:00+01:00",
        "15:00:00+01:00",
        "16:00:00+02:00",
        "16:00:00+02:00",
    ], [item["start"] for item in found]
    one = peer.run(
        peer.client.events().get(calendarId="primary", eventId=found[3]["id"], timeZone="UTC")
    )
    assert one["start"]["dateTime"] == "2026-03-18T14:00:00Z"
    assert one["recurringEventId"] == hudson["id"]


def writing(peer):
    events = peer.client.events()
    zone = "America/New_York"
    body = {
        "summary": "Dröm",
        "start": {"dateTime": "2026-10-28T22:30:00", "timeZone": zone},
        "end": {"dateTime": "2026-10-29T00:30:00", "timeZone": zone},
        "recurrence": ["RRULE:FREQ=DAILY;COUNT=6", f"EXDATE;TZID={zone}:20261030T223000"],
        "attendees": [{"email": "ann@x.test", "optional": True}, {"email": "me@a.test"}],
        "conferenceData": {"createRequest": {"requestId": "abc"}},
        "reminders": {"useDefault": False, "overrides": [{"method": "popup", "minutes": 5}]},
    }
    made = peer.run(events.insert(calendarId="primary", body=body, conferenceDataVersion=1))
    assert made["hangoutLink"] and made["attendees"][1]["self"]
    key = {"calendarId": "primary", "eventId": made["id"]}
    found = peer.run(events.instances(**key, timeZone="UTC"))["items"]
    # Daylight saving time ends on the first of November.
    assert [entry["start"]["dateTime"] for entry in found] == [
        "2026-10-29T02:30:00Z",
        "2026-10-30T02:30:00Z",
        "2026-11-01T02:30:00Z",
        "2026-11-02T03:30:00Z",
        "2026-11-03T03:30:00Z",
    ]
    second = {"calendarId": "primary", "eventId": found[1]["id"]}
    moved = {
        "start": {"dateTime": "2026-10-30T04:00:00Z"},
        "end": {"dateTime": "2026-10-30T05:00:00Z"},
    }
    changed = peer.run(events.patch(**second, body={**moved, "summary": "Later"}))
    assert (changed["id"], changed["summary"]) == (found[1]["id"], "Later")
    peer.run(events.delete(calendarId="primary", eventId=found[2]["id"]))
    again = peer.run(events.instances(**key, timeZone="UTC"))["items"]
    assert [entry["start"]["dateTime"][:13] for entry in again] == [
        "2026-10-29T02",
        "2026-10-30T04",
        "2026-11-02T03",
        "2026-11-03T03",
    ]
    off = peer.run(events.get(calendarId="primary", eventId=found[2]["id"]))
    assert off["status"] == "cancelled" and "summary" not in off
    peer.run(events.update(**key, body={**body, "summary": "Whole"}))
    sync = None
    request = events.list(calendarId="primary")
    while request is not None:
        page = peer.run(request)
        sync = page.get("nextSyncToken", sync)
        request = events.list_next(request, page)
    peer.run(events.delete(**key))
    assert peer.run(events.get(**key))["status"] == "cancelled"
    news = peer.run(events.list(calendarId="primary", syncToken=sync))
    assert {item["status"] for item in news["items"]} == {"cancelled"}
    peer.refused(events.delete(**key), 410, "deleted")
    body = {"iCalUID": "x@y", "start": {"date": "2026-05-01"}, "end": {"date": "2026-05-03"}}
    copied = peer.run(events.import_(calendarId="primary", body=body))
    assert copied["start"] == {"date": "2026-05-01"}
    own = peer.run(
        peer.client.calendars().insert(body={"summary": "Neu", "timeZone": "Asia/Tokyo"})
    )
    peer.run(peer.client.calendars().patch(calendarId=own["id"], body={"summary": "Newer"}))
    peer.run(peer.client.calendars().delete(calendarId=own["id"]))
    peer.refused(peer.client.calendars().get(calendarId=own["id"]), 404, "notFound")


def refusing(peer):
    events = peer.client.events()
    hour = {
        "start": {"dateTime": "2026-01-01T10:00:00Z"},
        "end": {"dateTime": "2026-01-01T11:00:00Z"},
    }
    tides = peer.run(peer.client.calendarList().list())["items"][2]["id"]
    peer.refused(events.list(calendarId="primary", orderBy="startTime"), 400, "invalid")
    peer.refused(
        events.list(calendarId="primary", timeMin="2026-01-01T00:00:00"), 400, "badRequest"
    )
    window = {"timeMin": "2026-01-02T00:00:00Z", "timeMax": "2026-01-02T00:00:00Z"}
    peer.refused(events.list(calendarId="primary", **window), 400, "timeRangeEmpty")
    peer.refused(events.list(calendarId="primary", pageToken="nonsense"), 400, "invalid")
    peer.refused(events.list(calendarId="primary", syncToken="nonsense"), 410, "fullSyncRequired")
    peer.refused(events.list(calendarId="nobody@x.test"), 404, "notFound")
    peer.refused(events.get(calendarId="primary", eventId="nothing"), 404, "notFound")
    peer.refused(events.insert(calendarId=tides, body=hour), 403, "requiredAccessLevel")
    peer.refused(events.insert(calendarId="primary", body={}), 400, "required")
    back = {"start": hour["end"], "end": hour["start"]}
    peer.refused(events.insert(calendarId="primary", body=back), 400, "timeRangeEmpty")


def busy(peer, facts):
    body = {
        "timeMin": "2026-03-20T00:00:00Z",
        "timeMax": "2026-03-27T00:00:00Z",
        "items": [{"id": "primary"}, {"id": "nobody@x.test"}],
    }
    found = peer.run(peer.client.freebusy().query(body=body))["calendars"]
    assert found["nobody@x.test"]["errors"] == [{"domain": "global", "reason": "notFound"}]
    spans = [(item["start"], item["end"]) for item in found["primary"]["busy"]]
    assert spans == sorted(spans) and all(
        end < start for (_, end), (start, _) in zip(spans, spans[1:])
    )
    long = {**body, "timeMax": "2026-07-20T00:00:00Z"}
    peer.refused(peer.client.freebusy().query(body=long), 400, "timeRangeTooLong")


def batching(peer, facts):
    got = {}
    batch = peer.client.new_batch_http_request(
        callback=lambda name, answer, error: got.update({name: answer or error})
    )
    batch.add(
        peer.client.events().get(calendarId="primary", eventId="nothing"), request_id="missing"
    )
    batch.add(peer.client.calendarList().get(calendarId="primary"), request_id="calendar")
    batch.execute()
    assert got["missing"].status_code == 404
    assert got["calendar"]["primary"] is True


def every(peer, **asked):
    request, found = peer.client.events().list(**asked), []
    while request is not None:
        page = peer.run(request)
        found += page["items"]
        request = peer.client.events().list_next(request, page)
    return found


def instant(when):
    if "date" in when:
        return datetime.fromisoformat(when["date"]).replace(tzinfo=UTC).isoformat()
    return datetime.fromisoformat(when["dateTime"]).astimezone(UTC).isoformat()
