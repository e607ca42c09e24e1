"""The invented company's mail and events, as files of Dovecot (Maildir) and Radicale."""

import hashlib
import json
import os
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, date, datetime
from pathlib import Path

from icalendar import Calendar, Event, vCalAddress, vRecur

from sandbox.calendar.records import EventContent, EventTime, NewEvent
from sandbox.mail.records import NewMail
from sandbox.world.accounts import DemoAccount, demo_accounts
from sandbox.world.calendar.events import planned_events
from sandbox.world.mail.conversations import conversation_mails
from sandbox.world.mail.texts import load_scripts
from sandbox.world.people import PEOPLE

DOMAIN = "workshop.harbourlight.example"
OWNER, COLLEAGUE = f"nora@{DOMAIN}", f"jonas@{DOMAIN}"
_LETTERS = ("yard_letters", "studio_letters")
_CALENDARS = {"yard": "Workshop", "slip": "Slipway & Crane"}
_FOLDERS = {"sent": ".Sent", "drafts": ".Drafts", "trash": ".Trash", "spam": ".Junk"}


def write_mail(folder: Path) -> None:
    """Fill the mailboxes below *folder*."""
    today = datetime.now(UTC).date()
    owner = replace(PEOPLE["nora"], email=OWNER)
    account = DemoAccount(mailbox="own-server", today=today, owner=owner, team_list="yard")
    for number, mail in enumerate(_mails(account), 1):
        _write_message(folder / "nora" / "Maildir", number, mail)
    for part in ("cur", "new", "tmp"):
        (folder / "jonas" / "Maildir" / part).mkdir(parents=True, exist_ok=True)


def write_calendars(folder: Path, user: str) -> None:
    """Fill the calendars of *user* in Radicale's storage *folder*."""
    home = folder / "collection-root" / user
    yard, _ = demo_accounts(datetime.now(UTC).date())
    for key, name in _CALENDARS.items():
        calendar = home / key
        calendar.mkdir(parents=True)
        properties = {"tag": "VCALENDAR", "D:displayname": name}
        (calendar / ".Radicale.props").write_text(json.dumps(properties))
        for event_key, event in planned_events(yard):
            if event_key == key and event.uid:
                uid = f"own-{event.uid}"
                file = hashlib.sha256(uid.encode()).hexdigest()[:24]
                (calendar / f"{file}.ics").write_bytes(_calendar_object(uid, event))


def _mails(account: DemoAccount) -> Iterator[NewMail]:
    for name in _LETTERS:
        for script in load_scripts(name):
            yield from conversation_mails(account, script)


def _write_message(maildir: Path, number: int, mail: NewMail) -> None:
    folder = maildir / _FOLDERS.get(mail.folder, "")
    for part in ("cur", "new", "tmp"):
        (folder / part).mkdir(parents=True, exist_ok=True)
    received = (mail.received_ms or 0) / 1000
    flags = ("F" if mail.is_starred else "") + ("S" if mail.is_read else "")
    file = folder / "cur" / f"{int(received)}.M{number}.demo:2,{flags}"
    file.write_bytes(mail.raw)
    os.utime(file, (received, received))  # Dovecot's received time


def _calendar_object(uid: str, event: NewEvent) -> bytes:
    calendar = Calendar()
    calendar.add("version", "2.0")
    calendar.add("prodid", "-//Harbourlight//Demo//EN")
    series = _component(uid, event.content)
    if event.recurrence is not None:
        for rule in event.recurrence.rules:
            series.add("rrule", vRecur.from_ical(rule))
        for added in event.recurrence.added:
            series.add("rdate", _time(added))
        for dropped in (*event.recurrence.dropped, *_cancelled(event)):
            series.add("exdate", _time(dropped))
    calendar.add_component(series)
    for override in event.overrides:
        if override.content is not None and not override.cancelled:
            instance = _component(uid, override.content)
            instance.add("recurrence-id", _time(override.original))
            calendar.add_component(instance)
    calendar.add_missing_timezones()
    return bytes(calendar.to_ical())


def _cancelled(event: NewEvent) -> Iterator[EventTime]:
    return (override.original for override in event.overrides if override.cancelled)


def _component(uid: str, content: EventContent) -> Event:
    component = Event()
    component.add("uid", uid)
    component.add("dtstamp", datetime.now(UTC))
    component.add("dtstart", _time(content.start))
    component.add("dtend", _time(content.end))
    component.add("summary", content.title or "")
    component.add("description", content.description)
    component.add("location", content.location)
    component.add("status", content.status.upper())
    component.add("transp", "TRANSPARENT" if content.shows_as == "free" else "OPAQUE")
    if content.organiser is not None:
        component.add("organizer", vCalAddress(f"mailto:{content.organiser.email}"))
    for person in content.attendees:
        attendee = vCalAddress(f"mailto:{person.email}")
        attendee.params["CN"] = person.name
        component.add("attendee", attendee, encode=False)
    return component


def _time(time: EventTime) -> datetime | date:
    if time.day is not None:
        return time.day
    from zoneinfo import ZoneInfo  # noqa: PLC0415 - of this function alone

    return time.instant.astimezone(ZoneInfo(time.zone))
