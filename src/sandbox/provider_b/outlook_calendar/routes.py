"""
Routes of calendars, events, calendar views and schedules.

See docs/spec/upstream/outlook-calendar.md.
"""

from sandbox.http import Handler, Request, Response
from sandbox.mail.ids import PROVIDER_B, SHARED_B
from sandbox.provider_b.endpoint import UserCall, UserEndpoint, UserEndpoints
from sandbox.provider_b.outlook_calendar.calendar_access import CalendarAccess
from sandbox.provider_b.outlook_calendar.calendars import CalendarEndpoints, check_group
from sandbox.provider_b.outlook_calendar.get_schedule import GetScheduleEndpoint
from sandbox.provider_b.outlook_calendar.listing import EventReadEndpoints
from sandbox.provider_b.outlook_calendar.writing import EventWriteEndpoints
from sandbox.state import SandboxState

# Below the user: the default calendar, a calendar by its id, and by its group and id.
_GROUPED = "/calendarGroups/{group}/calendars/{calendar}"
_ROOTS = ("", "/calendar", "/calendars/{calendar}", _GROUPED)


def create_handler(state: SandboxState) -> Handler:
    """Return the handler of calendars below ``/v1.0``."""
    team = CalendarAccess(state=state, mailbox=SHARED_B, is_shared=True)
    person = CalendarAccess(state=state, mailbox=PROVIDER_B, is_shared=False)
    shared, own = _endpoints(team, person), _endpoints(person, team)

    async def handle(request: Request) -> Response | None:
        return shared.answer(request) or own.answer(request)

    return handle


def _endpoints(access: CalendarAccess, other: CalendarAccess) -> UserEndpoints:
    endpoints = UserEndpoints(access.state, access.mailbox)
    listing = EventReadEndpoints(access)
    writing = EventWriteEndpoints(access, listing)
    schedule = GetScheduleEndpoint(access, [other])

    def add(method: str, pattern: str, endpoint: UserEndpoint) -> None:
        is_grouped = pattern.startswith(_GROUPED)
        endpoints.routes.add(method, pattern, _without_group(endpoint) if is_grouped else endpoint)

    for root in _ROOTS:
        add("GET", f"{root}/calendarView", listing.view)
        add("GET", f"{root}/events", listing.events)
        add("POST", f"{root}/events", writing.create)
        event_path = f"{root}/events/{{event}}"
        add("GET", event_path, listing.get)
        add("PATCH", event_path, writing.patch)
        add("DELETE", event_path, writing.delete)
        add("GET", f"{event_path}/instances", listing.instances)
        add("POST", f"{event_path}/cancel", writing.cancel)
        add("POST", f"{event_path}/accept", writing.accept)
        add("POST", f"{event_path}/decline", writing.decline)
        add("POST", f"{event_path}/tentativelyAccept", writing.tentatively)
    add("POST", "/calendar/getSchedule", schedule.answer)
    CalendarEndpoints(access).add_routes(endpoints)
    return endpoints


def _without_group(endpoint: UserEndpoint) -> UserEndpoint:
    def answer(call: UserCall, *, group: str, **taken: str) -> Response:
        check_group(group)
        return endpoint(call, **taken)

    return answer
