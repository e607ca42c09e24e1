"""
Pulls from a subscription of Google Pub/Sub: docs/spec/upstream/gmail.md#notifications.

Nothing of a message is used but the address of the mailbox that has changed.
"""

import base64
import binascii
from collections.abc import Sequence

import msgspec

from providers.connectors.provider_a.failures import classify
from providers.failures import Broken, ClientRefused, Missing, NeedsReauth, Refused
from providers.http.client import Credentials, Origins, Response, Upstream
from providers.http.response import decode_json
from providers.ports.pushes import CannotNotify, Lack

SCOPE = "https://www.googleapis.com/auth/pubsub"
PULL_SECONDS = 90.0  # that the service may wait for a message, and our patience
MAX_MESSAGES = 100  # of one pull
MAX_BYTES = 1024 * 1024  # of one pull; a notification has some 400
MAX_DATA = 4096  # characters of one message's data
MAX_ACK_ID = 4096  # characters
_CONSUME = "pubsub.subscriptions.consume"


class Pulled(msgspec.Struct, frozen=True):
    """
    A message.

    Attributes:
        ack_id: What acknowledges it.
        mailbox: The address of a mailbox, in lower case; "": it names none.
    """

    ack_id: str
    mailbox: str


class _Message(msgspec.Struct):
    data: object = ""


class _Received(msgspec.Struct):
    ack_id: str = msgspec.field(name="ackId", default="")
    message: _Message = msgspec.field(default_factory=_Message)


class _Pull(msgspec.Struct):
    messages: list[_Received] = msgspec.field(name="receivedMessages", default_factory=list)


class _Notification(msgspec.Struct):
    mailbox: str = msgspec.field(name="emailAddress")


class _Allowed(msgspec.Struct):
    permissions: list[str] = []


class PubSub:
    """One subscription."""

    def __init__(
        self, origins: Origins, url: str, subscription: str, credentials: Credentials
    ) -> None:
        """*url* is the service's; *subscription* is its path, `projects/…/subscriptions/…`."""
        self._verbs = {
            verb: Upstream(
                origins,
                f"{url}/v1/{subscription}:{verb}",
                connection="pubsub",
                name="pubsub",
                credentials=credentials,
                classify=classify,
            )
            for verb in ("pull", "acknowledge", "testIamPermissions")
        }

    async def pull(self) -> Sequence[Pulled]:
        """
        Wait for messages; none came within some time that the service chooses: an empty list.

        Raises:
            CannotNotify: The deployment lacks something.
            ProviderFailure: As with `Upstream.call`.
        """
        response = await self._call("pull", {"maxMessages": MAX_MESSAGES})
        received = response.decode(_Pull).messages
        return [
            Pulled(each.ack_id, _mailbox(each.message.data))
            for each in received
            if 0 < len(each.ack_id) <= MAX_ACK_ID
        ]

    async def acknowledge(self, messages: Sequence[Pulled]) -> None:
        """Have *messages* delivered no more; raises as `pull`."""
        if messages:
            await self._call("acknowledge", {"ackIds": [each.ack_id for each in messages]})

    async def may_pull(self) -> bool:
        """Return whether there is the subscription, and we may pull; raises as `pull`."""
        response = await self._call("testIamPermissions", {"permissions": [_CONSUME]})
        return _CONSUME in response.decode(_Allowed).permissions

    async def _call(self, verb: str, body: object) -> Response:
        try:
            return await self._verbs[verb].call(
                "POST", json=body, changes=False, deadline=PULL_SECONDS, max_bytes=MAX_BYTES
            )
        except Missing:
            raise CannotNotify(Lack.SUBSCRIPTION) from None
        except (ClientRefused, NeedsReauth):
            raise CannotNotify(Lack.SERVICE_ACCOUNT) from None
        except Refused as failure:
            if failure.status == 403:
                raise CannotNotify(Lack.SUBSCRIPTION_RIGHT) from None
            if failure.status == 400:
                raise CannotNotify(Lack.SUBSCRIPTION_KIND) from None
            raise


def _mailbox(data: object) -> str:
    if not isinstance(data, str) or len(data) > MAX_DATA:
        return ""
    try:
        content = base64.b64decode(data.translate(_STANDARD), validate=True)
        return decode_json(content, _Notification).mailbox.casefold()
    except (Broken, binascii.Error, ValueError):
        return ""


_STANDARD = str.maketrans("-_", "+/")  # the guide says base64url, the reference base64
