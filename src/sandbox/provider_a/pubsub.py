"""
Subscriptions of Google Pub/Sub: pulls, acknowledgements and the test of rights.

See docs/spec/upstream/gmail.md#notifications.
"""

import asyncio
import json
import time
from typing import Any

from sandbox.http import Handler, Request, Response, json_response
from sandbox.provider_a.errors import GoogleError, require_scope
from sandbox.provider_a.gmail.watches import Watches
from sandbox.provider_a.topics import Topics
from sandbox.state import SandboxState

WAIT_SECONDS = 10.0  # of a pull
MAX_MESSAGES = 1000
_CONSUME = "pubsub.subscriptions.consume"


def create_handler(state: SandboxState) -> Handler:
    """Return the handler of ``/v1/projects/{project}/subscriptions/{name}:{verb}``."""
    topics, watches = Topics(state.database, clock=state.clock), Watches(state)

    async def handle(request: Request) -> Response | None:
        segments = request.segments
        if len(segments) != 5 or segments[1] != "projects" or segments[3] != "subscriptions":
            return None
        name, _, verb = segments[4].partition(":")
        if request.method != "POST" or verb not in {"pull", "acknowledge", "testIamPermissions"}:
            return None
        subscription = "/".join((*segments[1:4], name))
        try:
            require_scope(request.grant, "pubsub", "cloud-platform")
            account = request.grant.account if request.grant else ""
            return json_response(await _run(verb, subscription, account, _body(request)))
        except GoogleError as error:
            return error.response()

    async def _run(verb: str, subscription: str, account: str, body: dict[str, Any]) -> Any:
        if verb == "testIamPermissions":
            try:
                topics.check(subscription, account)
            except GoogleError as error:
                if error.status != 400:
                    return {}
            return {"permissions": [_CONSUME]} if _CONSUME in body["permissions"] else {}
        topics.check(subscription, account)
        if verb == "acknowledge":
            topics.acknowledge(body["ackIds"])
            return {}
        ends = time.monotonic() + (0 if body.get("returnImmediately") else WAIT_SECONDS)
        while True:
            watches.tell()
            received = topics.take(subscription, min(body["maxMessages"], MAX_MESSAGES))
            if received or time.monotonic() >= ends:
                return {"receivedMessages": received} if received else {}
            await asyncio.sleep(0.05)

    return handle


_NAMES = {"pull": "maxMessages", "acknowledge": "ackIds", "testIamPermissions": "permissions"}


def _body(request: Request) -> dict[str, Any]:
    verb = request.segments[4].partition(":")[2]
    try:
        body = json.loads(request.body or b"{}")
    except ValueError:
        raise GoogleError(400, "Invalid JSON payload received.", "parseError") from None
    known = {_NAMES[verb], "returnImmediately"} if verb == "pull" else {_NAMES[verb]}
    unknown = sorted(body.keys() - known) if isinstance(body, dict) else ["?"]
    if unknown:
        message = f'Invalid JSON payload received. Unknown name "{unknown[0]}": Cannot find field.'
        raise GoogleError(400, message, "invalid")
    value = body.get(_NAMES[verb])
    is_valid = isinstance(value, int) and value > 0 if verb == "pull" else isinstance(value, list)
    if not is_valid or not value:
        raise GoogleError(400, f"You have passed an invalid argument ({_NAMES[verb]}).")
    return dict(body)
