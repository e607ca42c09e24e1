"""
The path that providers call to tell of changes (docs/spec/changes.md#notifications).

It names the registration by the digest of a secret, which each notification has. So a path alone,
as logs of proxies have it, forges nothing. What else is received is not used.
"""

import hmac
import html
import re
from collections.abc import Awaitable, Callable

import msgspec
from starlette.types import Scope

from gateway.feeds.push.arrivals import Arrivals
from gateway.feeds.push.registrations import RegistrationStore, digest
from gateway.store.further_tables import PushRegistration
from policy.refusals import NotFound
from rest_compat.body import read_body
from rest_compat.request import RestRequest
from rest_compat.responses import RestResponse
from rest_compat.unknown_paths import NOTHING

PREFIX = "/notifications/"
ROUTE = PREFIX + "{registration}"
MAX_BODY = 1024 * 1024  # bytes; a notification has some 800
MAX_TOKEN = 1000  # characters
_MARK = re.compile(r"[0-9a-f]{64}")
_ACCEPTED = RestResponse(status=202)


class _Notification(msgspec.Struct):
    registration: str = msgspec.field(name="subscriptionId", default="")
    secret: str = msgspec.field(name="clientState", default="")
    event: str = msgspec.field(name="lifecycleEvent", default="")


class _Notifications(msgspec.Struct):
    value: list[_Notification]


_decoder = msgspec.json.Decoder(_Notifications)


class NotificationReceiver:
    """Handler of POST below `PREFIX`."""

    def __init__(
        self,
        store: RegistrationStore,
        arrivals: Arrivals,
        *,
        target: str | None,
        charge: Callable[[Scope], Awaitable[None]],
    ) -> None:
        """
        Answer calls of registrations for *target*, a digest; None: there are none.

        *charge* counts a request as one with a wrong credential.
        """
        self._store, self._arrivals = store, arrivals
        self._target, self._charge = target, charge

    async def receive(self, request: RestRequest) -> RestResponse:
        """
        Answer a provider, at once: it gives us three seconds, and ten to know its URL.

        Raises:
            NotFound: There is no such registration.
            Refusal: 413, the body is too large; 429, too many such requests of the address.
        """
        row = await self._row(request)
        if row is None:
            return await self._refuse(request)
        tokens = request.query.get("validationToken", ())
        if tokens:
            is_being_made = not row.name and not row.failure
            has_ended = row.ends_at <= self._store.now()
            if not is_being_made or has_ended or len(tokens[0]) > MAX_TOKEN:
                return await self._refuse(request)
            text = html.escape(tokens[0]).encode()
            return RestResponse(status=200, body=text, content_type="text/plain; charset=utf-8")
        declared = request.header("content-length")
        body = await read_body(request.receive, declared=declared, limit=MAX_BODY)
        events = _events(body, row)
        if not events:
            await self._charge(request.scope)
            return _ACCEPTED
        if "subscriptionRemoved" in events:
            await self._store.lost(row.connection_id)
        elif "reauthorizationRequired" in events:
            await self._store.renew_soon(row.connection_id)
        if events & {"", "missed", "subscriptionRemoved"}:
            self._arrivals.add([row.connection_id])
        return _ACCEPTED

    async def _row(self, request: RestRequest) -> PushRegistration | None:
        mark = request.path.removeprefix(PREFIX)
        if self._target is None or not _MARK.fullmatch(mark):
            return None
        return await self._store.of_mark(mark, self._target)

    async def _refuse(self, request: RestRequest) -> RestResponse:
        await self._charge(request.scope)
        raise NotFound(NOTHING)


def _events(body: bytes, row: PushRegistration) -> set[str]:
    """Return the lifecycle events of the notifications that are genuine; "": a change."""
    try:
        notifications = _decoder.decode(body).value
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return set()
    return {
        each.event
        for each in notifications
        if row.name
        and hmac.compare_digest(each.registration.encode(), row.name.encode())
        and hmac.compare_digest(digest(each.secret), row.mark)
    }
