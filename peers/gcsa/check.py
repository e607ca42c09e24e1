"""
Check the sandbox's Google Calendar with gcsa, unchanged, over a socket.

gcsa names no address of the API, so its service object, which is Google's own client, is built from
the same discovery document with the sandbox's address. It asks for nothing that is not served, as
long as access rules, settings and ``quickAdd`` stay out.
"""

import json
from datetime import datetime, timedelta, timezone
from importlib.resources import files
from pathlib import Path

from gcsa.attendee import Attendee
from gcsa.event import Event, Transparency
from gcsa.google_calendar import GoogleCalendar
from gcsa.recurrence import DAILY, Recurrence
from google.oauth2.credentials import Credentials
from googleapiclient.discovery import build_from_document
from googleapiclient.errors import HttpError
from serving import served

SEED = Path(__file__).resolve().parents[1] / "provider_a" / "seed.py"


def main() -> None:
    with served(SEED) as facts:
        client = connect(f"{facts['url']}/provider-a", facts["calendar"])
        listing(client, facts["meetings"])
        writing(client)
        series(client)
        busy(client)
        refusing(client)
    print("gcsa agrees")


def connect(base, token):
    credentials = Credentials(token)
    client = GoogleCalendar(credentials=credentials)
    text = files("googleapiclient.discovery_cache").joinpath("documents/calendar.v3.json")
    document = json.loads(text.read_text("utf-8"))
    document["rootUrl"] = f"{base}/"
    document["baseUrl"] = document["rootUrl"] + document["servicePath"]
    document.pop("mtlsRootUrl", None)
    client.service = build_from_document(document, credentials=credentials)
    return client


def listing(client, facts):
    calendars = list(client.get_calendar_list(min_access_role="reader"))
    assert [calendar.primary or False for calendar in calendars] == [True, False, False]
    assert client.get_calendar_list_entry("primary").calendar_id == "me@a.test"
    assert client.get_calendar(calendars[1].calendar_id).summary
    since, until = (datetime.fromisoformat(facts[name]) for name in ("since", "until"))
    events = list(client.get_events(since, until, single_events=True, order_by="startTime"))
    titles = {
        (event.summary, event.start.isoformat())
        for event in events
        if isinstance(event.start, datetime)
    }
    starts = {
        (summary, datetime.fromisoformat(start).timestamp())
        for summary, start, _, is_all_day in facts["planned"]
        if not is_all_day
    }
    read = {(summary, datetime.fromisoformat(start).timestamp()) for summary, start in titles}
    assert starts <= read, starts - read
    matches = list(client.get_events(since, until, query="potato"))
    assert len(matches) == 1, matches
    assert client.list_event_colors() and client.list_calendar_colors()


def writing(client):
    start = datetime(2026, 3, 24, 9, tzinfo=timezone.utc)
    event = client.add_event(
        Event(
            "Bürgertreff",
            start=start,
            end=start + timedelta(hours=1),
            location="Quay 4",
            description="<tags> & more",
            attendees=[Attendee("ann@x.test", display_name="Ann")],
            transparency=Transparency.OPAQUE,
        )
    )
    read = client.get_event(event.event_id)
    assert (read.summary, read.location, read.start) == ("Bürgertreff", "Quay 4", start)
    assert [guest.email for guest in read.attendees] == ["ann@x.test"]
    read.summary = "Town meeting"
    assert client.update_event(read).summary == "Town meeting"
    (matches,) = client.get_events(start, start + timedelta(hours=2), query="Town")
    client.delete_event(matches)
    assert "Town meeting" not in [
        left.summary for left in client.get_events(start, start + timedelta(hours=2))
    ]


def series(client):
    start = datetime(2026, 3, 26, 7, tzinfo=timezone.utc)
    event = client.add_event(
        Event(
            "Stand-up",
            start=start,
            end=start + timedelta(minutes=15),
            timezone="Europe/Stockholm",
            recurrence=[Recurrence.rule(freq=DAILY, count=5)],
        )
    )
    occurrences = list(client.get_instances(event, start, start + timedelta(days=9)))
    assert len(occurrences) == 5
    assert occurrences[0].start.astimezone(timezone.utc) == start
    client.delete_event(event)


def busy(client):
    start = datetime(2026, 4, 27, 1, tzinfo=timezone.utc)
    event = client.add_event(Event("Night", start=start, end=start + timedelta(hours=1)))
    taken = client.get_free_busy(
        time_min=start - timedelta(hours=1), time_max=start + timedelta(hours=3)
    )
    assert any(
        period.start <= start and start + timedelta(hours=1) <= period.end for period in taken
    )
    client.delete_event(event)


def refusing(client):
    for call in (
        lambda: client.get_event("nowhere"),
        lambda: client.get_calendar("nobody@nowhere.test"),
    ):
        try:
            call()
        except HttpError as problem:
            assert problem.status_code == 404, problem
        else:
            raise AssertionError("not refused")


if __name__ == "__main__":
    main()
