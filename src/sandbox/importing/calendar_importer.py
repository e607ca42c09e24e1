"""Import of a calendar file into a calendar of the sandbox."""

from collections.abc import Mapping
from pathlib import Path

from sandbox.calendar.records import NewEvent, StoredCalendar
from sandbox.calendar.store import CalendarStore
from sandbox.importing import ical_files
from sandbox.importing.report import ALREADY_THERE, CannotImport, ImportReport, Progress
from sandbox.mail.store import MailStore
from sandbox.storage.database import Database

SUFFIX = ".ics"


def import_calendar(
    store: Database, *, into: str, path: Path, progress: Progress, options: Mapping[str, str]
) -> ImportReport:
    """
    Import the events of an .ics file into the calendar that the file names.

    Events that exist already are skipped. There are no options.
    """
    if options:
        raise CannotImport(f"A calendar takes no options, such as {min(options)}.")
    calendars = CalendarStore(store)
    own_calendar = calendars.primary(into)
    account = MailStore(store).account(into).email
    try:
        calendar_file = ical_files.read(path.read_bytes(), zone=own_calendar.zone, account=account)
    except ValueError as problem:
        raise CannotImport(str(problem)) from None
    name = calendar_file.name or path.stem
    target = _calendar(calendars, into, name, calendar_file.zone or own_calendar.zone)
    known_uids = {event.uid for event in calendars.events(target) if not event.is_deleted}
    skipped = [(event.name, event.reason) for event in calendar_file.unusable]
    new_events: list[NewEvent] = []
    for event in calendar_file.events:
        if event.uid in known_uids:
            skipped.append((event.content.title or event.uid, ALREADY_THERE))
            continue
        known_uids.add(event.uid)
        new_events.append(event)
    calendars.add_events(target, new_events)
    progress(len(calendar_file.events))
    return ImportReport(imported=len(new_events), skipped=tuple(skipped))


def _calendar(calendars: CalendarStore, into: str, name: str, zone: str) -> StoredCalendar:
    for calendar in calendars.calendars(into):
        if calendar.name.casefold() == name.casefold() and not calendar.is_primary:
            return calendar
    return calendars.add_calendar(into, name, zone=zone)
