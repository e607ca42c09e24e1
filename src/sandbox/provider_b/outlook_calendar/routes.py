"""
The calendar wire of provider B: calendars, events, calendar views, schedules.

Source: wire report 1B, 2.2, 4.2, 7.
"""

from sandbox.http import Handler, Response
from sandbox.provider_b.endpoint import Call, Door, UserEndpoint
from sandbox.provider_b.outlook_calendar.calendar_access import Diary
from sandbox.provider_b.outlook_calendar.calendars import Calendars, check_group
from sandbox.provider_b.outlook_calendar.get_schedule import Schedule
from sandbox.provider_b.outlook_calendar.listing import Listing
from sandbox.provider_b.outlook_calendar.writing import Writing
from sandbox.state import SandboxState

# Below the user: the default calendar, any by its id, and by its group, which tells nothing more.
_GROUPED = "/calendarGroups/{group}/calendars/{calendar}"
_ROOTS = ("", "/calendar", "/calendars/{calendar}", _GROUPED)


def create_handler(state: SandboxState) -> Handler:
    """Return the wire of calendars below ``/v1.0``."""
    door = Door(state)
    diary = Diary(state)
    listing = Listing(diary)
    writing = Writing(diary, listing)
    schedule = Schedule(diary)

    def add(method: str, pattern: str, endpoint: UserEndpoint) -> None:
        is_grouped = pattern.startswith(_GROUPED)
        door.routes.add(method, pattern, _ungrouped(endpoint) if is_grouped else endpoint)

    for root in _ROOTS:
        add("GET", f"{root}/calendarView", listing.view)
        add("GET", f"{root}/events", listing.events)
        add("POST", f"{root}/events", writing.create)
        one = f"{root}/events/{{event}}"
        add("GET", one, listing.get)
        add("PATCH", one, writing.patch)
        add("DELETE", one, writing.delete)
        add("GET", f"{one}/instances", listing.instances)
        add("POST", f"{one}/cancel", writing.cancel)
        add("POST", f"{one}/accept", writing.accept)
        add("POST", f"{one}/decline", writing.decline)
        add("POST", f"{one}/tentativelyAccept", writing.tentatively)
    add("POST", "/calendar/getSchedule", schedule.answer)
    Calendars(diary).join(door)
    return door.handler()


def _ungrouped(endpoint: UserEndpoint) -> UserEndpoint:
    def answer(call: Call, *, group: str, **taken: str) -> Response:
        check_group(group)
        return endpoint(call, **taken)

    return answer
