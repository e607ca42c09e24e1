"""
The roles of people in calendars of somebody else, as owners of calendars give them.

See docs/spec/upstream/outlook-calendar.md#shared-calendars.
"""

from enum import StrEnum

from sandbox.calendar.records import StoredCalendar
from sandbox.provider_b.mailbox_rights import Right, rights_in
from sandbox.storage.database import Database


class CalendarRole(StrEnum):
    """A role of Graph's `calendarRoleType`, the least first."""

    NONE = "none"
    FREE_BUSY_READ = "freeBusyRead"
    LIMITED_READ = "limitedRead"
    READ = "read"
    WRITE = "write"
    DELEGATE = "delegateWithoutPrivateEventAccess"
    DELEGATE_OF_PRIVATE = "delegateWithPrivateEventAccess"


EDITS = frozenset({CalendarRole.WRITE, CalendarRole.DELEGATE, CalendarRole.DELEGATE_OF_PRIVATE})
READS = EDITS | {CalendarRole.READ}
READS_SUBJECTS = READS | {CalendarRole.LIMITED_READ}


def share(database: Database, calendar: StoredCalendar, person: str, role: CalendarRole) -> None:
    """Give a person this role in a calendar, and no other."""
    database.set_meta(_key(calendar, person), role)


def role_in(database: Database, calendar: StoredCalendar, person: str) -> CalendarRole:
    """
    Return the role of the person with this address.

    Full access to the mailbox is full access to its calendars. Without a role, a person of the
    same organization has the default one, which the primary calendar alone has.
    """
    if opens_all(database, calendar.mailbox, person):
        return CalendarRole.DELEGATE_OF_PRIVATE
    default = CalendarRole.FREE_BUSY_READ if calendar.is_primary else CalendarRole.NONE
    return CalendarRole(database.meta(_key(calendar, person), default) or default)


def opens_all(database: Database, mailbox: str, person: str) -> bool:
    """Whether a person has full access to the mailbox."""
    return Right.FULL_ACCESS in rights_in(database, mailbox, person)


def _key(calendar: StoredCalendar, person: str) -> str:
    return f"calendar-role:{calendar.id}:{person.casefold()}"
