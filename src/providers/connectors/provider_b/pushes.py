"""Notifications of mail and calendars: docs/spec/upstream/outlook-mail.md#notifications."""

from datetime import UTC, datetime, timedelta
from typing import Annotated

import msgspec

from providers.failures import Broken, Conflicted, Inaccessible, Missing, Refused
from providers.http.client import Upstream
from providers.ports.opening import Opening
from providers.ports.pushes import CannotNotify, Lack, Registration

LIFETIME = timedelta(minutes=4_200)  # older documents allow 4,230, newer ones 10,080
_ROOT = ("v1.0", "subscriptions")
_MAX_ID = 128


class _Subscription(msgspec.Struct):
    id: str
    ends: Annotated[datetime, msgspec.Meta(tz=True)] = msgspec.field(name="expirationDateTime")


class OutlookPushes:
    """The subscription of one account; implements `providers.ports.pushes.PushPort`."""

    def __init__(self, upstream: Upstream, resource: str) -> None:
        """*resource* is what is told of, as Graph names it."""
        self._upstream, self._resource = upstream, resource

    async def register(self, receiver: str, mark: str) -> Registration:
        """Have the URL *receiver* called, which the service calls first, before it answers."""
        body = {
            "changeType": "created,updated,deleted",
            "notificationUrl": receiver,
            "lifecycleNotificationUrl": receiver,
            "resource": self._resource,
            "clientState": mark,
            **_end(),
        }
        try:
            response = await self._upstream.call("POST", *_ROOT, json=body, changes=False)
        except (Inaccessible, Conflicted):
            raise
        except Refused as failure:
            if failure.status == 400:
                raise CannotNotify(Lack.PUBLIC_URL) from None
            raise
        made = response.decode(_Subscription)
        if not 0 < len(made.id) <= _MAX_ID:
            raise Broken
        return Registration(name=made.id, mark=mark, ends_ms=_milliseconds(made.ends))

    async def renew(self, name: str) -> int:
        """Let a subscription last, with the permissions of now."""
        response = await self._upstream.call("PATCH", *_ROOT, name, json=_end(), changes=False)
        return _milliseconds(response.decode(_Subscription).ends)

    async def end(self, name: str) -> None:
        try:
            await self._upstream.call("DELETE", *_ROOT, name, changes=False)
        except Missing:
            return


def open_mail_port(opening: Opening) -> OutlookPushes:
    """Open the notifications of a mailbox."""
    return OutlookPushes(opening.upstream(), "me/messages")


def open_calendar_port(opening: Opening) -> OutlookPushes:
    """Open the notifications of all calendars of an account; Graph takes no single one."""
    return OutlookPushes(opening.upstream(), "me/events")


def _end() -> dict[str, str]:
    ends = datetime.now(UTC) + LIFETIME
    return {"expirationDateTime": ends.strftime("%Y-%m-%dT%H:%M:%S.%fZ")}


def _milliseconds(moment: datetime) -> int:
    return round(moment.timestamp() * 1000)
