"""Notifications of a mailbox, to a topic of Pub/Sub: docs/spec/upstream/gmail.md#notifications."""

import msgspec

from providers.connectors.provider_a.batch import ROOT
from providers.connectors.provider_a.gmail.response_types import Profile
from providers.failures import Broken, Inaccessible, Missing, Refused
from providers.http.client import Upstream
from providers.ports.opening import Opening
from providers.ports.pushes import CannotNotify, Lack, Registration


class _Watch(msgspec.Struct):
    expiration: str


class GmailPushes:
    """The watch of one mailbox; implements `providers.ports.pushes.PushPort`."""

    def __init__(self, upstream: Upstream) -> None:
        self._upstream = upstream

    async def register(self, receiver: str, _mark: str) -> Registration:
        """Have the topic *receiver* notified; each notification names the mailbox's address."""
        params = (("fields", "emailAddress"),)
        profile = await self._upstream.call("GET", *ROOT, "profile", params=params)
        address = profile.decode(Profile).email_address
        if not address:
            raise Broken
        ends_ms = await self.renew(receiver)
        return Registration(name=receiver, mark=address.casefold(), ends_ms=ends_ms)

    async def renew(self, name: str) -> int:
        """Watch for seven days from now; a mailbox has one watch, which this makes or replaces."""
        try:
            response = await self._upstream.call(
                "POST", *ROOT, "watch", json={"topicName": name}, changes=False
            )
        except Missing:
            raise CannotNotify(Lack.TOPIC) from None
        except Inaccessible:
            raise
        except Refused as failure:
            if failure.status == 403:
                raise CannotNotify(Lack.TOPIC_RIGHT) from None
            if failure.status == 400:
                raise CannotNotify(Lack.TOPIC_REFUSED) from None
            raise
        expiration = response.decode(_Watch).expiration
        if not expiration.isascii() or not expiration.isdecimal() or len(expiration) > 15:
            raise Broken
        return int(expiration)

    async def end(self, _name: str) -> None:
        await self._upstream.call("POST", *ROOT, "stop", changes=False)


def open_port(opening: Opening) -> GmailPushes:
    """Open the notifications of a connection."""
    return GmailPushes(opening.upstream())
