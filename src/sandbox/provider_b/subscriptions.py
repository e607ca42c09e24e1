"""
Subscriptions of Microsoft Graph to messages and events.

See docs/spec/upstream/outlook-mail.md#notifications and outlook-calendar.md#notifications.

While there are any, a loop looks for changes and calls their URLs; a call that is not answered by
2xx within three seconds is repeated.
"""

import asyncio
import json
import re
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any
from urllib.parse import quote, urlsplit
from uuid import uuid4

from sandbox.http import Handler, Request, Response
from sandbox.mail.ids import PROVIDER_B
from sandbox.provider_b.directory import TENANT_ID
from sandbox.provider_b.responses import GraphError, access_denied, empty, error_response, ok
from sandbox.state import SandboxState

MAX_MINUTES = 10_080
MAX_STATE = 128  # characters
VALIDATE_SECONDS, NOTIFY_SECONDS = 10.0, 3.0
LOOK_SECONDS = 0.05
_REQUIRED = frozenset({"changeType", "notificationUrl", "resource", "expirationDateTime"})
_KNOWN = _REQUIRED | {"lifecycleNotificationUrl", "clientState", "latestSupportedTlsVersion"}
_TABLE = """CREATE TABLE IF NOT EXISTS graph_subscription (
    id TEXT PRIMARY KEY, account TEXT NOT NULL, content TEXT NOT NULL, ends REAL NOT NULL,
    since INTEGER NOT NULL) STRICT"""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Resource:
    """
    A resource that can be subscribed to.

    Attributes:
        name: Of its entities.
        path: Pattern of what subscriptions call it.
        scopes: One of them is needed.
        last: Returns the number of the latest change.
        changes: Returns what was changed after a change, by id: the kind of the change.
    """

    name: str
    path: re.Pattern[str]
    scopes: frozenset[str]
    last: Callable[[SandboxState], int]
    changes: Callable[[SandboxState, int], dict[str, str]]


def _changed_mails(state: SandboxState, since: int) -> dict[str, str]:
    kinds = {
        event.immutable_id: "updated" if event.after else "deleted"
        for event in state.mails.history.since(PROVIDER_B, since)
    }
    for mail in state.mails.all(PROVIDER_B):
        if mail.created_change > since:
            kinds[mail.immutable_id] = "created"
        elif mail.change > since:
            kinds[mail.immutable_id] = "updated"
    return kinds


def _changed_events(state: SandboxState, since: int) -> dict[str, str]:
    """Return those of the account's own calendars, of series as a whole."""
    events = (
        event
        for calendar in state.calendars.calendars(PROVIDER_B)
        if calendar.can_edit
        for event in state.calendars.events(calendar)
        if event.change > since
    )
    return {
        event.id: "deleted"
        if event.is_deleted
        else "created"
        if event.created_change > since
        else "updated"
        for event in events
    }


_RESOURCES = (
    _Resource(
        name="Message",
        path=re.compile(r"/?me/(mailfolders\('inbox'\)/)?messages", re.IGNORECASE),
        scopes=frozenset({"Mail.Read", "Mail.ReadWrite", "Mail.ReadBasic"}),
        last=lambda state: state.mails.last_change(),
        changes=_changed_mails,
    ),
    _Resource(
        name="Event",
        path=re.compile(r"/?me/events", re.IGNORECASE),
        scopes=frozenset({"Calendars.Read", "Calendars.ReadWrite"}),
        last=lambda state: state.calendars.last_change(),
        changes=_changed_events,
    ),
)


def _resource(path: str) -> _Resource:
    for each in _RESOURCES:
        if each.path.fullmatch(path):
            return each
    raise GraphError(403, "ExtensionError", "Operation: Create; Exception: [Forbidden]")


def _may_use(request: Request, resource: _Resource) -> bool:
    scopes = request.grant.scopes if request.grant else ()
    return not resource.scopes.isdisjoint(scope.rsplit("/", 1)[-1] for scope in scopes)


def _invalid(message: str) -> GraphError:
    return GraphError(400, "InvalidRequest", message)


@dataclass(frozen=True, slots=True)
class _Subscription:
    id: str
    account: str
    content: dict[str, Any]
    ends: float
    since: int

    @property
    def resource(self) -> _Resource:
        """The resource that it is about."""
        return _resource(str(self.content["resource"]))


class Subscriptions:
    """The subscriptions of all accounts."""

    def __init__(self, state: SandboxState) -> None:
        self._state, self._db = state, state.database
        self._db.define(_TABLE)

    def all(self) -> list[_Subscription]:
        """Return those that have not ended."""
        rows = self._db.rows(
            "SELECT id, account, content, ends, since FROM graph_subscription WHERE ends > ?",
            self._state.clock(),
        )
        return [
            _Subscription(
                id=str(row[0]),
                account=str(row[1]),
                content=json.loads(str(row[2])),
                ends=float(row[3] or 0),
                since=int(row[4] or 0),
            )
            for row in rows
        ]

    def readable(self, request: Request) -> list[_Subscription]:
        """Return those of the account whose resources the token may read."""
        account = request.grant.account if request.grant else ""
        own = [each for each in self.all() if each.account == account]
        return [each for each in own if _may_use(request, each.resource)]

    def find(self, request: Request) -> _Subscription:
        """Return the subscription that a call names; 404 without it, or for somebody else's."""
        for each in self.readable(request):
            if each.id == request.segments[2]:
                return each
        raise GraphError(404, "ResourceNotFound", "The object was not found.")

    async def create(self, request: Request) -> Response:
        body = _body(request, _KNOWN)
        if missing := sorted(_REQUIRED - body.keys()):
            raise _invalid(f"Subscription property '{missing[0]}' is required.")
        kinds = set(str(body["changeType"]).split(","))
        if not kinds <= {"created", "updated", "deleted"}:
            raise _invalid("Unsupported changeType.")
        resource = _resource(str(body["resource"]))
        if not _may_use(request, resource):
            raise access_denied()
        if len(str(body.get("clientState", ""))) > MAX_STATE:
            raise _invalid("The clientState is too long.")
        ends = self._end(body)
        for name in ("notificationUrl", "lifecycleNotificationUrl"):
            if name in body:
                await self._validate(str(body[name]))
        content = {**body, "id": str(uuid4())}
        account = request.grant.account if request.grant else ""
        last = resource.last(self._state)
        self._db.run(
            "INSERT INTO graph_subscription VALUES (?, ?, ?, ?, ?)",
            content["id"],
            account,
            json.dumps(content),
            ends,
            last,
        )
        self._state.outbound.keep("graph", self._run)
        return ok(content, 201)

    def renew(self, request: Request) -> Response:
        """``PATCH``: a new end, which authorizes again."""
        known = self.find(request)
        body = _body(request, frozenset({"expirationDateTime"}))
        content = {**known.content, **body}
        self._db.run(
            "UPDATE graph_subscription SET ends = ?, content = ? WHERE id = ?",
            self._end(body),
            json.dumps(content),
            known.id,
        )
        return ok(content)

    def delete(self, request: Request) -> Response:
        self.remove(self.find(request).id)
        return empty(204)

    def remove(self, id_: str) -> None:
        """Remove a subscription, as the service may at any time."""
        self._db.run("DELETE FROM graph_subscription WHERE id = ?", id_)

    async def tell_of_life(self, event: str) -> list[int]:
        """Send a lifecycle notification of each subscription; return the statuses."""
        statuses = []
        for each in self.all():
            if event == "subscriptionRemoved":
                self.remove(each.id)
            item = {**self._common(each), "lifecycleEvent": event}
            url = str(each.content["lifecycleNotificationUrl"])
            statuses.append(await self._notify(url, [item]))
        return statuses

    async def _run(self) -> None:
        while subscriptions := self.all():
            for each in subscriptions:
                with suppress(OSError):
                    await self._tell(each)
            await asyncio.sleep(LOOK_SECONDS)

    async def _tell(self, each: _Subscription) -> None:
        last = each.resource.last(self._state)
        if last <= each.since:
            return
        kinds = each.resource.changes(self._state, each.since)
        wanted = str(each.content["changeType"]).split(",")
        items = [self._item(each, id_, kind) for id_, kind in kinds.items() if kind in wanted]
        if items and await self._notify(str(each.content["notificationUrl"]), items) // 100 != 2:
            return
        self._db.run("UPDATE graph_subscription SET since = ? WHERE id = ?", last, each.id)

    def _item(self, each: _Subscription, id_: str, kind: str) -> dict[str, Any]:
        name = each.resource.name
        path = f"Users/{each.account}/{name}s/{id_}"
        data = {"@odata.type": f"#Microsoft.Graph.{name}", "@odata.id": path, "id": id_}
        return {**self._common(each), "changeType": kind, "resource": path, "resourceData": data}

    def _common(self, each: _Subscription) -> dict[str, Any]:
        return {
            "subscriptionId": each.id,
            "subscriptionExpirationDateTime": each.content["expirationDateTime"],
            "clientState": each.content.get("clientState"),
            "tenantId": TENANT_ID,
        }

    async def _notify(self, url: str, items: list[dict[str, Any]]) -> int:
        body = json.dumps({"value": items}).encode()
        send = self._state.outbound.send
        status, _, _ = await send(url, "application/json", body, NOTIFY_SECONDS)
        return status

    async def _validate(self, url: str) -> None:
        """Call a URL with a token, which must come back as it is."""
        parts = urlsplit(url)
        if parts.scheme != "https" and parts.hostname not in {"127.0.0.1", "localhost"}:
            raise _invalid("Subscription notification URL must use HTTPS.")
        token = f"Validation: Testing client application reachability for subscription {uuid4()}"
        target = f"{url}{'&' if parts.query else '?'}validationToken={quote(token)}"
        try:
            status, kind, body = await self._state.outbound.send(
                target, "text/plain; charset=utf-8", b"", VALIDATE_SECONDS
            )
        except OSError:
            status, kind, body = 0, "", b""
        is_text = kind.partition(";")[0].strip() == "text/plain"
        if status != 200 or not is_text or body != token.encode():
            message = (
                "Subscription validation request failed. Notification endpoint must respond with "
                "200 OK to validation request."
            )
            raise GraphError(400, "ValidationError", message)

    def _end(self, body: dict[str, Any]) -> float:
        try:
            ends = datetime.fromisoformat(str(body["expirationDateTime"])).astimezone(UTC)
        except (KeyError, ValueError):
            raise _invalid("Subscription expirationDateTime is not valid.") from None
        left = ends.timestamp() - self._state.clock()
        if not 0 < left <= MAX_MINUTES * 60:
            message = f"Subscription expiration can only be {MAX_MINUTES} minutes in the future."
            raise GraphError(400, "ExtensionError", message)
        return ends.timestamp()


def create_handler(state: SandboxState) -> Handler:
    """Return the handler of ``/v1.0/subscriptions``."""
    subscriptions = Subscriptions(state)

    async def handle(request: Request) -> Response | None:
        if request.segments[1:2] != ("subscriptions",) or len(request.segments) > 3:
            return None
        try:
            return await run(request)
        except GraphError as error:
            return error_response(error, request)

    async def run(request: Request) -> Response:
        if not any(_may_use(request, resource) for resource in _RESOURCES):
            raise access_denied()
        match request.method, len(request.segments):
            case "POST", 2:
                return await subscriptions.create(request)
            case "GET", 2:
                return ok({"value": [each.content for each in subscriptions.readable(request)]})
            case "GET", 3:
                return ok(subscriptions.find(request).content)
            case "PATCH", 3:
                return subscriptions.renew(request)
            case "DELETE", 3:
                return subscriptions.delete(request)
        raise GraphError(405, "MethodNotAllowed", "The method is not allowed.")

    return handle


def _body(request: Request, known: frozenset[str]) -> dict[str, Any]:
    try:
        body = request.json()
    except ValueError:
        raise GraphError(400, "BadRequest", "Unable to read JSON request payload.") from None
    if not isinstance(body, dict) or not body.keys() <= known:
        raise GraphError(400, "BadRequest", "The request body has unknown properties.")
    return body
