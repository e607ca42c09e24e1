"""Endpoints of calendars and calendar groups; the account has a single group."""

import hashlib
from base64 import b64encode
from dataclasses import replace
from typing import Any
from uuid import NAMESPACE_URL, uuid5

from sandbox.calendar.records import StoredCalendar
from sandbox.http import Response
from sandbox.provider_b.endpoint import UserCall, UserEndpoints
from sandbox.provider_b.odata import query_options
from sandbox.provider_b.odata.schema import Kind, Shape
from sandbox.provider_b.outlook_calendar.calendar_access import READ_BASIC, WRITE, CalendarAccess
from sandbox.provider_b.outlook_mail.mailbox import check_id
from sandbox.provider_b.responses import GraphError, access_denied, empty, not_found, ok

_OWNER = Shape(
    name="microsoft.graph.emailAddress", members={"name": Kind.STRING, "address": Kind.STRING}
)
_SHAPE = Shape(
    name="microsoft.graph.calendar",
    members={
        "id": Kind.STRING,
        "name": Kind.STRING,
        "color": Kind.STRING,
        "hexColor": Kind.STRING,
        "isDefaultCalendar": Kind.BOOLEAN,
        "changeKey": Kind.STRING,
        "canShare": Kind.BOOLEAN,
        "canViewPrivateItems": Kind.BOOLEAN,
        "canEdit": Kind.BOOLEAN,
        "allowedOnlineMeetingProviders": Kind.STRING,
        "defaultOnlineMeetingProvider": Kind.STRING,
        "isTallyingResponses": Kind.BOOLEAN,
        "isRemovable": Kind.BOOLEAN,
        "owner": _OWNER,
    },
    collections=frozenset(("allowedOnlineMeetingProviders",)),
    exact=frozenset(("id", "changeKey")),
)
_GROUP = Shape(
    name="microsoft.graph.calendarGroup",
    members=dict.fromkeys(("id", "name", "classId", "changeKey"), Kind.STRING),
)
_DEFAULT_TOP = 10
_SUFFIX = hashlib.shake_256(b"calendar-group").hexdigest(24)
_GROUP_ID = f"AAMkAGNDM4YTQ0ZDAtYjU2Yy00ZWEyLTk4MzctZmUzMjgzYTRhN2QwAEYAAAAAA-{_SUFFIX}_AAA="


class CalendarEndpoints:
    """The endpoints of calendars and calendar groups."""

    def __init__(self, access: CalendarAccess) -> None:
        self._access = access
        self._store = access.state.calendars

    def add_routes(self, endpoints: UserEndpoints) -> None:
        """Add the routes."""
        add = endpoints.routes.add
        add("GET", "/calendar", self.get)
        add("PATCH", "/calendar", self.patch)
        add("GET", "/calendarGroups", self.groups)
        for root in ("/calendars", "/calendarGroups/{group}/calendars"):
            add("GET", root, self.list)
            add("POST", root, self.create)
            add("GET", f"{root}/{{calendar}}", self.get)
            add("PATCH", f"{root}/{{calendar}}", self.patch)
            add("DELETE", f"{root}/{{calendar}}", self.delete)

    def list(self, call: UserCall, group: str = "") -> Response:
        """``GET /calendars``: 404 for people with roles in single calendars of the mailbox."""
        access = self._access.opened(call, *READ_BASIC)
        if not access.is_whole:
            raise not_found()
        check_group(group)
        options = query_options.parse(call.request.query, _SHAPE, expandable={}, max_top=1000)
        records = query_options.filter_and_sort(
            [_record(access, calendar) for calendar in access.calendars()], options
        )
        top = options.top or call.page_size or _DEFAULT_TOP
        start = options.skip or 0
        body: dict[str, Any] = {"@odata.context": call.odata_context("calendars")}
        if options.count:
            body["@odata.count"] = len(records)
        body["value"] = [
            query_options.select_members(record, options.select)
            for record in records[start : start + top]
        ]
        if start + top < len(records):
            link = query_options.next_link(call.url, call.request.query, skip=start + top)
            body["@odata.nextLink"] = link
        return ok(body)

    def get(self, call: UserCall, calendar: str = "", group: str = "") -> Response:
        """``GET /calendars/{id}``, and ``GET /calendar`` for the default calendar."""
        access = self._access.opened(call, *READ_BASIC)
        check_group(group)
        return _answer(call, access, access.calendar(calendar))

    def create(self, call: UserCall, group: str = "") -> Response:
        """``POST /calendars``: 201, or 409 when the name is taken."""
        access = self._access.opened(call, *WRITE)
        if not access.is_whole:
            raise access_denied()
        check_group(group)
        name = _free_name(call, access)
        added = self._store.add_calendar(access.mailbox, name, zone=access.primary().zone)
        return _answer(call, access, added, 201)

    def patch(self, call: UserCall, calendar: str = "", group: str = "") -> Response:
        """``PATCH /calendars/{id}``: the name."""
        access = self._access.opened(call, *WRITE)
        check_group(group)
        stored = access.writable(calendar)
        if "name" in call.json() and call.json()["name"] != stored.name:
            stored = self._store.put_calendar(replace(stored, name=_free_name(call, access)))
        return _answer(call, access, stored)

    def delete(self, call: UserCall, calendar: str, group: str = "") -> Response:
        """``DELETE /calendars/{id}``: any but the default calendar."""
        access = self._access.opened(call, *WRITE)
        check_group(group)
        stored = access.writable(calendar)
        if stored.is_primary:
            raise GraphError(
                400, "ErrorDeleteDistinguishedFolder", "Distinguished folders cannot be deleted."
            )
        self._store.put_calendar(replace(stored, is_deleted=True))
        return empty(204)

    def groups(self, call: UserCall) -> Response:
        """``GET /calendarGroups``."""
        self._access.opened(call, *READ_BASIC)
        options = query_options.parse(call.request.query, _GROUP, expandable={})
        group = {
            "id": _GROUP_ID,
            "name": "My Calendars",
            "classId": str(uuid5(NAMESPACE_URL, "my-calendars")),
            "changeKey": "DwAAABYAAAAA",
        }
        body = {"@odata.context": call.odata_context("calendarGroups")}
        return ok({**body, "value": [query_options.select_members(group, options.select)]})


def check_group(group: str) -> None:
    """
    Check the id of a calendar group; "" is always valid.

    Raises:
        GraphError: The id is malformed or unknown.
    """
    if group and group != _GROUP_ID:
        check_id(group)
        raise not_found()


def _answer(
    call: UserCall, access: CalendarAccess, calendar: StoredCalendar, status: int = 200
) -> Response:
    options = query_options.parse(call.request.query, _SHAPE, expandable={})
    context = {"@odata.context": call.odata_context("calendars/$entity")}
    record = query_options.select_members(_record(access, calendar), options.select)
    return ok({**context, **record}, status)


def _free_name(call: UserCall, access: CalendarAccess) -> str:
    name = call.json().get("name")
    if not isinstance(name, str) or not name.strip():
        raise GraphError(400, "ErrorInvalidParameter", "The calendar's name is missing.")
    if name.casefold() in {calendar.name.casefold() for calendar in access.calendars()}:
        raise GraphError(
            409, "ErrorFolderExists", "A folder with the specified name already exists."
        )
    return name


def _record(access: CalendarAccess, calendar: StoredCalendar) -> dict[str, Any]:
    is_owners = not access.person
    return {
        "id": calendar.id,
        "name": calendar.name,
        "color": "auto",
        "hexColor": "" if calendar.is_primary else calendar.colour,
        "isDefaultCalendar": calendar.is_primary,
        "changeKey": f"DwAAABYAAAAC{b64encode(calendar.change.to_bytes(9, 'big')).decode()}",
        "canShare": calendar.is_primary and is_owners,
        "canViewPrivateItems": calendar.can_edit and access.sees_private(calendar),
        "canEdit": access.can_edit(calendar),
        "allowedOnlineMeetingProviders": ["teamsForBusiness"],
        "defaultOnlineMeetingProvider": "teamsForBusiness",
        "isTallyingResponses": calendar.is_primary,
        "isRemovable": not calendar.is_primary and is_owners,
        "owner": {"name": access.owner.name, "address": access.account},
    }
