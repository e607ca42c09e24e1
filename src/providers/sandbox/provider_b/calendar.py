"""
The calendar wire of provider B: calendars, events, calendar views, schedules.

Source: wire report 1B, 2.2, 4.2, 7.
"""

from providers.sandbox.ground import Ground
from providers.sandbox.provider_b.calendar_calendars import Calendars, check_group
from providers.sandbox.provider_b.calendar_diary import Diary
from providers.sandbox.provider_b.calendar_listing import Listing
from providers.sandbox.provider_b.calendar_schedule import Schedule
from providers.sandbox.provider_b.calendar_writing import Writing
from providers.sandbox.provider_b.door import Call, Door, UserEndpoint
from providers.sandbox.wire import Answer, Handler

# Below the user: the default calendar, any by its id, and by its group, which tells nothing more.
_GROUPED = "/calendarGroups/{group}/calendars/{calendar}"
_ROOTS = ("", "/calendar", "/calendars/{calendar}", _GROUPED)


def open_wire(ground: Ground) -> Handler:
    """Return the wire of calendars below ``/v1.0``."""
    door = Door(ground)
    diary = Diary(ground)
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
    def answer(call: Call, *, group: str, **taken: str) -> Answer:
        check_group(group)
        return endpoint(call, **taken)

    return answer
