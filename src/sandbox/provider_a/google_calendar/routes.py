"""
Paths of the Google Calendar API, and the checks of every call.

See docs/spec/upstream/google-calendar.md.
"""

from collections.abc import Callable
from typing import Any

from sandbox.http import Handler, Request, Response, Router, json_response
from sandbox.provider_a import partial_response
from sandbox.provider_a.errors import GoogleError
from sandbox.provider_a.google_calendar import field_names, parameters
from sandbox.provider_a.google_calendar.calendar_access import CalendarAccess
from sandbox.provider_a.google_calendar.calendars import CalendarEndpoints
from sandbox.provider_a.google_calendar.events import EventReadEndpoints
from sandbox.provider_a.google_calendar.freebusy import FreeBusyEndpoint
from sandbox.provider_a.google_calendar.writing import EventWriteEndpoints
from sandbox.state import SandboxState

_ROOT = ("calendar", "v3")


def create_handler(state: SandboxState) -> Handler:
    """Return the handler of paths below ``calendar/v3``."""
    access = CalendarAccess(state)
    routes = _routes(access)

    async def handle(request: Request) -> Response | None:
        if request.segments[:2] != _ROOT:
            return None
        below = request.segments[2:]
        route = routes.find(request.method, below)
        if route is None:
            return None
        return _respond(request, below, lambda: route[0](request, **route[1]))

    return handle


def _respond(request: Request, below: tuple[str, ...], run: Callable[[], Any]) -> Response:
    """Check the parameters, run an endpoint, and apply ``fields`` to its content."""
    try:
        parameters.check(request, below)
        selection = partial_response.parse(request.first("fields"))
        partial_response.check(selection, field_names.KNOWN)
        content = run()
    except GoogleError as error:
        return error.response()
    except partial_response.BadSelection as problem:
        return GoogleError(400, str(problem), "invalidParameter").response()
    if content is None:
        return Response(status=204)
    headers = {"cache-control": "private, max-age=0", "vary": "Origin, X-Origin"}
    return json_response(partial_response.apply(content, selection), headers=headers)


def _routes(access: CalendarAccess) -> Router:
    calendars, events = CalendarEndpoints(access), EventReadEndpoints(access)
    writing, busy = EventWriteEndpoints(access, events), FreeBusyEndpoint(access)
    calendar_path, events_path = "calendars/{calendar}", "calendars/{calendar}/events"
    routes = Router()
    rows: tuple[tuple[str, str, Any], ...] = (
        ("GET", "users/me/calendarList", calendars.list),
        ("GET", "users/me/calendarList/{calendar}", calendars.entry),
        ("POST", "calendars", calendars.insert),
        ("GET", calendar_path, calendars.get),
        ("PATCH", calendar_path, calendars.change),
        ("PUT", calendar_path, calendars.change),
        ("DELETE", calendar_path, calendars.delete),
        ("GET", events_path, events.list),
        ("POST", events_path, writing.insert),
        ("POST", f"{events_path}/import", writing.import_),
        ("GET", f"{events_path}/{{event}}", events.get),
        ("PATCH", f"{events_path}/{{event}}", writing.patch),
        ("PUT", f"{events_path}/{{event}}", writing.update),
        ("DELETE", f"{events_path}/{{event}}", writing.delete),
        ("GET", f"{events_path}/{{event}}/instances", events.instances),
        ("POST", "freeBusy", busy.query),
        ("GET", "colors", calendars.colours),
    )
    for method, pattern, endpoint in rows:
        routes.add(method, pattern, endpoint)
    return routes
