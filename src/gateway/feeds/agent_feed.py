"""
The feed of changes for agents: docs/spec/agents.md#wake-ups. See `agent_tools.ports.AgentFeed`.

`changes://feed` begins a feed, `changes://feed?since=…` goes on with one. To read it is the call
`GET /api/access/changes` with that query; to listen to it is one of the streams.
"""

import hashlib
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Final
from urllib.parse import parse_qs, quote, urlencode

import orjson

from agent_tools import wire
from agent_tools.ports import Charge, ListTools, Token
from agent_tools.toolbox import root_field
from gateway.feeds.stream import LIMIT, ChangesStream, feed_request
from gateway.version import API_VERSION
from rest_compat.request import RestRequest
from rest_compat.responses import RestResponse

URI: Final = "changes://feed"
MAX_URI = 2_000  # characters
_READ, _LISTEN = "resources/read", "subscriptions/listen"
_SUBSCRIPTION = "io.modelcontextprotocol/subscriptionId"
_JSON = "application/json"
_RESOURCE = {
    "uri": URI,
    "name": "changes",
    "description": "The changes from now on: read it for a cursor, or listen to it.",
    "mimeType": _JSON,
}
_TEMPLATE = {
    "uriTemplate": f"{URI}{{?since,surfaces,limit}}",
    "name": "changes_since",
    "description": "What has changed since a cursor, and the next cursor.",
    "mimeType": _JSON,
}
_LISTS: Mapping[str, tuple[str, Mapping[str, str]]] = MappingProxyType(
    {
        "resources/list": ("resources", _RESOURCE),
        "resources/templates/list": ("resourceTemplates", _TEMPLATE),
    }
)
_CACHED = {"ttlMs": 60_000, "cacheScope": "private"}


class AgentFeed:
    """Answers the methods about the feed. One per process that serves agents."""

    methods = frozenset({*_LISTS, _READ, _LISTEN})

    def __init__(self, stream: ChangesStream) -> None:
        self._stream = stream

    def capabilities(self, token: Token) -> Mapping[str, Any]:
        resources = {"resources": {"subscribe": True}} if _has_feed(token) else {}
        return {"tools": {"listChanged": True}, **resources}

    async def answer(
        self,
        request: RestRequest,
        message: wire.Message,
        token: Token,
        *,
        charge: Charge,
        list_tools: ListTools,
    ) -> RestResponse:
        if message.method == _READ and (query := _query(message.params.get("uri"))) is not None:
            return await self._read(request, message, query)
        if message.method == _LISTEN and (wanted := _filter(message)) is not None:
            frames = _Frames(message, wanted, token, list_tools)
            return await self._listen(request, frames, charge)
        await charge(request)
        if message.method in _LISTS:
            member, entry = _LISTS[message.method]
            entries = [entry] if _has_feed(token) else []
            return wire.result_response(message, {member: entries, **_CACHED}, API_VERSION)
        problem = f"There is no such resource; there is {URI}."
        if message.method == _LISTEN:
            problem = "notifications must be a filter of notifications."
        raise wire.WireError(wire.INVALID_PARAMS, problem)

    async def _read(self, request: RestRequest, message: wire.Message, query: str) -> RestResponse:
        response = await self._stream.feed.respond(feed_request(request, query.encode()), {})
        _require_success(response)
        uri = message.params["uri"]
        contents = [{"uri": uri, "mimeType": _JSON, "text": response.body.decode()}]
        result = {"contents": contents, "ttlMs": 0, "cacheScope": "private"}
        return wire.result_response(message, result, API_VERSION)

    async def _listen(
        self, request: RestRequest, frames: "_Frames", charge: Charge
    ) -> RestResponse:
        """Answer with a stream; without one where nothing can be told."""
        if not frames.honored:
            await charge(request)
            body = frames.begin + frames.end(is_changed=False)
            return RestResponse(status=200, body=body, content_type="text/event-stream")
        await frames.news()  # of which later ones differ
        if frames.cursor is None:
            response = await self._stream.watch(feed_request(request, b""), frames)
        else:
            query = {"since": frames.cursor, "limit": LIMIT} if frames.cursor else {"limit": 1}
            made = feed_request(request, urlencode(query).encode())
            response = await self._stream.open(made, frames.cursor, frames)
        _require_success(response)
        return response


class _Frames:
    """
    The messages of one stream; see `gateway.feeds.stream.Frames`.

    Attributes:
        cursor: From where the feed is listened to; empty: from now on; None: it is not.
        honored: The part of the filter that is served.
    """

    def __init__(
        self, message: wire.Message, wanted: Mapping[str, Any], token: Token, list_tools: ListTools
    ) -> None:
        uris = wanted.get("resourceSubscriptions") or ()
        feeds = [(uri, since) for uri in uris if (since := _since(uri)) is not None][:1]
        self.cursor: str | None = feeds[0][1] if feeds else None
        self._has_tools = wanted.get("toolsListChanged") is True
        self.honored: dict[str, Any] = {"toolsListChanged": True} if self._has_tools else {}
        if feeds:
            self.honored["resourceSubscriptions"] = [feeds[0][0]]
        self._meta = {_SUBSCRIPTION: message.id}
        self._result = wire.result_response(message, {"_meta": self._meta}, API_VERSION).body
        self._token, self._list_tools, self._listed = token, list_tools, b""

    @property
    def begin(self) -> bytes:
        return self._notification("subscriptions/acknowledged", notifications=self.honored)

    def event(self, cursor: str) -> bytes:
        uri = f"{URI}?since={quote(cursor, safe='')}"
        return self._notification("resources/updated", uri=uri)

    async def news(self) -> bytes:
        """Return what tells that the saved documents among the tools have changed."""
        if not self._has_tools:
            return b""
        definitions = orjson.dumps(await self._list_tools(self._token))
        before, self._listed = self._listed, hashlib.sha256(definitions).digest()
        return self._tools_changed() if before not in (b"", self._listed) else b""

    def end(self, *, is_changed: bool) -> bytes:
        last = _frame(self._result)
        return self._tools_changed() + last if is_changed and self._has_tools else last

    def _tools_changed(self) -> bytes:
        return self._notification("tools/list_changed")

    def _notification(self, name: str, **params: Any) -> bytes:
        about = {"_meta": self._meta, **params}
        body = {"jsonrpc": "2.0", "method": f"notifications/{name}", "params": about}
        return _frame(orjson.dumps(body))


def _has_feed(token: Token) -> bool:
    return root_field(token.shape, "changes") is not None and not token.facts.limits_documents


def _filter(message: wire.Message) -> Mapping[str, Any] | None:
    """Return the filter of notifications of a message; None: it has none that can be read."""
    wanted = message.params.get("notifications")
    if not isinstance(wanted, dict):
        return None
    return wanted if isinstance(wanted.get("resourceSubscriptions", []), list) else None


def _query(uri: Any) -> str | None:
    """Return the query of a URI of the feed; None: it is another one."""
    if not isinstance(uri, str) or len(uri) > MAX_URI or not uri.isascii():
        return None
    start, _, query = uri.partition("?")
    return query if start == URI and "#" not in query else None


def _since(uri: Any) -> str | None:
    """Return the cursor of a URI that is listened to, empty without one; None: it is another."""
    query = _query(uri)
    if not query:
        return query
    values = parse_qs(query, keep_blank_values=True)
    return values["since"][0] if values.keys() == {"since"} else None


def _frame(message: bytes) -> bytes:
    return b"data: %b\n\n" % message


def _require_success(response: RestResponse) -> None:
    if response.errors:
        raise wire.refused(response.errors[0], bad_request=wire.INVALID_PARAMS)
