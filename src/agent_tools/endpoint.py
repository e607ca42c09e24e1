"""Handles POST /mcp: the origin, the token, then the method of the message."""

import secrets
import time
from collections import OrderedDict
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import Any
from urllib.parse import urlsplit

import orjson
from starlette.types import Receive, Scope, Send

from agent_tools import answers, approval, confirmation, graph_tools, refusals, wire
from agent_tools.answers import Answer
from agent_tools.calls import CallResponder, call_request, endpoint_of
from agent_tools.choice import Choice, choice_of, choose
from agent_tools.confirmation import CallState
from agent_tools.ports import AgentFeed, Agents, Token
from agent_tools.rows import Tool
from agent_tools.table import TOOLS
from agent_tools.toolbox import CONFIRM, KEY, UsableTool, saved_definition, toolbox
from graph.errors import described
from policy.refusals import Refusal
from policy.vocabulary import Code, nearest
from rest_compat.body import parse, read_body
from rest_compat.calls import PlainCall
from rest_compat.contents import send_stream
from rest_compat.endpoint import Responder
from rest_compat.errors import CHALLENGE
from rest_compat.request import RestRequest
from rest_compat.responses import RestResponse, send_response
from rest_compat.table import Endpoint, RateBucket

MAX_BODY = 256 * 1024  # bytes; docs/spec/agents.md#limits
MAX_RESPONDERS = 256  # prepared documents that a process keeps
MAX_SAVED = 50  # saved documents that are tools
MAX_INSTRUCTIONS = 480  # characters
TTL_MS = 60_000

_BUCKET = RateBucket(windows="management")
_ROWS: Mapping[str, Tool] = {tool.name: tool for tool in TOOLS}
_LOOPBACK = ("127.0.0.1", "localhost", "::1")


class AgentEndpoint:
    """Answers agents; one per process. It keeps nothing of a client between two requests."""

    def __init__(  # noqa: PLR0913 - what all handlers share
        self,
        agents: Agents,
        base: Responder,
        feed: AgentFeed,
        *,
        rows: Mapping[str, Endpoint],
        base_url: str,
        version: str,
        challenge: str,
        structured: bool = False,
        releases_at: str | None = None,
        clock: Callable[[], float] = time.time,
    ) -> None:
        """
        *base* has what all handlers of REST share, *rows* are its calls that write, by root field.

        *challenge* are the parameters of `WWW-Authenticate` by which clients find out how to sign
        in.

        *releases_at*: where a person releases a held write, without its id; None: nowhere.

        *structured*: results also have `structuredContent`, the JSON of their text.
        """
        self._agents = agents
        self._base = base
        self._feed = feed
        self._rows = rows
        self._host = urlsplit(base_url)
        self._version = version
        self._challenge = challenge
        self._structured = structured
        self._releases_at = releases_at
        self._clock = clock
        self._responders: OrderedDict[tuple[str, str | None], CallResponder] = OrderedDict()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one HTTP request."""
        response = await self.respond(RestRequest(scope, receive))
        if response.stream is not None:
            await send_stream(response, response.stream, receive, send)
        else:
            await send_response(response, send, head=scope["method"] == "HEAD")

    async def respond(self, request: RestRequest) -> RestResponse:
        """Answer one HTTP request; refusals are responses too."""
        request.scope.setdefault("state", {})["route"] = "/mcp"
        message: wire.Message | None = None
        try:
            self._require_post(request)
            token = await self._agents.authenticate(request.scope)
            message = await self._read(request)
            return await self._answer(request, message, token)
        except Refusal as refusal:
            error = wire.refused(described(refusal, surface=None, request_id=""))
        except wire.WireError as wire_error:
            error = wire_error
        return wire.error_response(error, message).with_headers(*self._headers_of(error))

    def _headers_of(self, error: wire.WireError) -> tuple[tuple[str, str], ...]:
        if error.status == 401:
            return (("WWW-Authenticate", f"{CHALLENGE}, {self._challenge}"),)
        if error.status == 405:
            return (("Allow", "POST"),)
        if error.status == 429:
            return (("Retry-After", str((error.data or {}).get("retryAfter", 1))),)
        return ()

    async def _read(self, request: RestRequest) -> wire.Message:
        """
        Read the body, which is charged also if it is not a message.

        Raises:
            Refusal: 400, 408 or 413; or 429.
            WireError: See `wire.read_message`.
        """
        declared = request.header("content-length")
        body = await read_body(request.receive, declared=declared, limit=MAX_BODY)
        try:
            return wire.read_message(request, parse(body))
        except (Refusal, wire.WireError):
            await self._charge(request)
            raise

    def _require_post(self, request: RestRequest) -> None:
        """
        Refuse other methods, and the pages of other sites, whose requests a browser sends.

        Raises:
            WireError: 405 or 403.
        """
        if request.method != "POST":
            raise wire.WireError(wire.INVALID_REQUEST, "Use POST.", status=405)
        origin = request.header("origin")
        if origin is None:
            return
        sent, own = urlsplit(origin), self._host
        is_own = (sent.scheme, sent.netloc) == (own.scheme, own.netloc)
        if not is_own and not (sent.hostname in _LOOPBACK and own.hostname in _LOOPBACK):
            raise wire.WireError(wire.INVALID_REQUEST, "This origin is not allowed.", status=403)

    async def _charge(self, request: RestRequest) -> None:
        """
        Charge a request that runs no document, and record it.

        Raises:
            Refusal: 401 or 429.
        """
        response = await self._base.calls.run(PlainCall(request, _BUCKET, _nothing))
        if response.causes:
            raise response.causes[0]

    async def _answer(
        self, request: RestRequest, message: wire.Message, token: Token
    ) -> RestResponse:
        if message.method == "tools/call" and message.id is not None:
            result = await self._call(request, message, token)
            return wire.result_response(message, result, self._version)
        if message.is_modern and message.id is not None and message.method in self._feed.methods:
            return await self._feed.answer(
                request, message, token, charge=self._charge, list_tools=self._definitions
            )
        await self._charge(request)
        if message.id is None:
            return RestResponse(status=202)
        result = await self._describe(message, token)
        return wire.result_response(message, result, self._version)

    async def _describe(self, message: wire.Message, token: Token) -> Mapping[str, Any]:
        """
        Answer a method that calls no tool.

        Raises:
            WireError: There is no such method in the revision of the message.
        """
        cached = {"ttlMs": TTL_MS, "cacheScope": "private"} if message.is_modern else {}
        if message.method == "tools/list":
            return {"tools": await self._definitions(token), **cached}
        capabilities = self._feed.capabilities(token) if message.is_modern else {"tools": {}}
        about = {"capabilities": capabilities, "instructions": self._instructions(token)}
        if message.is_modern and message.method == "server/discover":
            return {"supportedVersions": [wire.MODERN], **about, **cached}
        if not message.is_modern and message.method == "initialize":
            requested = message.params.get("protocolVersion")
            version = requested if requested in wire.LEGACY else wire.LEGACY[0]
            server = wire.server_info(self._version)
            return {"protocolVersion": version, "serverInfo": server, **about}
        if not message.is_modern and message.method == "ping":
            return {}
        raise wire.WireError(wire.METHOD_NOT_FOUND, "Method not found", status=404)

    def _instructions(self, token: Token) -> str:
        """Return what a model is told at first, at most 120 tokens."""
        today = datetime.fromtimestamp(self._clock(), UTC)
        parts = (
            f"Accounts: {token.accounts}." if token.accounts else "",
            f"Today is {today:%A, %Y-%m-%d}; times are UTC.",
            token.restrictions,
        )
        return " ".join(filter(None, parts))[:MAX_INSTRUCTIONS]

    async def _definitions(self, token: Token) -> list[Mapping[str, Any]]:
        definitions = [tool.definition for tool in self._toolbox(token).values()]
        if self._has_graph(token):
            definitions += graph_tools.DEFINITIONS.values()
        definitions += map(saved_definition, (await self._agents.saved(token))[:MAX_SAVED])
        return [dict(definition) for definition in definitions]

    def _toolbox(self, token: Token) -> Mapping[str, UsableTool]:
        return toolbox(token.shape, token.facts, self._agents.is_masked)

    async def _call(
        self, request: RestRequest, message: wire.Message, token: Token
    ) -> Mapping[str, Any]:
        """
        Call a tool.

        Raises:
            Refusal: 401 or 429.
            WireError: The message names no tool, or a state that is not valid.
        """
        name, sent = message.params.get("name"), message.params.get("arguments")
        if sent is None:
            sent = {}
        if not isinstance(name, str) or not isinstance(sent, dict):
            await self._charge(request)
            raise wire.WireError(wire.INVALID_PARAMS, "params need a name, and arguments.")
        if name in graph_tools.DEFINITIONS and self._has_graph(token):
            return self._shown(await self._call_graph(request, name, sent, token))
        chosen = await self._choose(name, sent, token)
        if chosen is None:
            await self._charge(request)
            return self._shown(self._unknown(name, token))
        return await self._run(request, message, token, chosen, sent)

    async def _choose(self, name: str, sent: Mapping[str, Any], token: Token) -> Choice | None:
        """Return the document of a call; None: there is no such tool."""
        usable, tool = self._toolbox(token).get(name), _ROWS.get(name)
        if tool is not None and (usable is not None or tool.drafts in (None, token.facts.drafts)):
            agents = self._agents
            return choose(tool, usable, sent, schema=agents.schema, is_masked=agents.is_masked)
        saved = await self._agents.saved(token) if tool is None else ()
        matching = (choice_of(each) for each in saved if each.document.name == name)
        return next(matching, None)

    async def _run(
        self,
        request: RestRequest,
        message: wire.Message,
        token: Token,
        chosen: Choice,
        sent: Mapping[str, Any],
    ) -> Mapping[str, Any]:
        writes = self._responder(chosen).endpoint.method == "POST"
        confirms = writes and token.facts.confirms
        if writes and token.facts.approves:
            return await self._ask_for_release(request, message, token, chosen, sent)
        key, effect = sent.get(KEY) if writes else None, sent.get(CONFIRM) if confirms else None
        state = self._state(token, chosen, sent)
        if confirms and effect is None and message.is_modern:
            answered = confirmation.read_confirmation(message.params, state)
            if answered is not None and not answered.accepted:
                await self._charge(request)
                return self._shown(confirmation.declined())
            if answered is not None:
                effect, key = answered.digest, key or answered.key
        response = await self._respond(request, chosen, sent, key=key, effect=effect)
        if response.status == 428 and message.elicits:  # shows the effect, and did nothing
            return confirmation.input_required(orjson.loads(response.body)["effect"], state)
        return self._shown(self._answer_of(response, chosen, sent))

    async def _ask_for_release(
        self,
        request: RestRequest,
        message: wire.Message,
        token: Token,
        chosen: Choice,
        sent: Mapping[str, Any],
    ) -> Mapping[str, Any]:
        """
        Make the call of a write that waits for a person, whom the client may ask to open its page.

        Made again with the state, the call has the key of the first one and finds its write.

        Raises:
            WireError: The state is not valid.
        """
        key, earlier = sent.get(KEY), message.params.get("requestState")
        state = self._state(token, chosen, sent)
        opens = message.opens_urls and self._releases_at is not None
        if opens:
            key = key or state.read(earlier) or f"page-{secrets.token_urlsafe(18)}"
        effect = sent.get(CONFIRM) if token.facts.confirms else None
        response = await self._respond(request, chosen, sent, key=key, effect=effect)
        if not response.hold:
            return self._shown(self._answer_of(response, chosen, sent))
        held, page = orjson.loads(response.body), self._releases_at
        if opens and earlier is None and approval.waits(held):
            return approval.input_required(held, f"{page}{held['id']}", state.seal(str(key)))
        return self._shown(approval.answer_of(held))

    async def _respond(
        self, request: RestRequest, chosen: Choice, sent: Mapping[str, Any], **terms: str | None
    ) -> RestResponse:
        made = call_request(request, sent, others=chosen.others, refused=chosen.refused, **terms)
        return await self._responder(chosen).respond(made, {})

    def _state(self, token: Token, chosen: Choice, sent: Mapping[str, Any]) -> CallState:
        call = confirmation.call_digest(chosen.name, sent)
        return CallState(agents=self._agents, token_id=token.token_id, call=call, now=self._clock())

    def _answer_of(self, response: RestResponse, chosen: Choice, sent: Mapping[str, Any]) -> Answer:
        if response.status == 428:
            return confirmation.as_text(orjson.loads(response.body)["effect"])
        if response.status >= 400:
            return refusals.refused(response, chosen.call)
        result: Any = orjson.loads(response.body)
        if chosen.saved is not None:
            return answers.whole(result)
        return answers.answer_of(result, chosen.call, sent)

    def _responder(self, chosen: Choice) -> CallResponder:
        """Return the handler of a document, which its first call prepares."""
        key = (chosen.text, chosen.saved)
        responder = self._responders.get(key)
        if responder is None:
            operation = self._agents.prepare(chosen.text)
            base = self._base
            responder = CallResponder(
                endpoint=endpoint_of(operation, chosen.name),
                prepare=base.prepare,
                calls=base.calls,
                reader=base.reader,
                prepared=operation,
                document=chosen.text,
                row=self._rows.get(operation.root_name),
                call=chosen.call,
                saved=chosen.saved,
            )
            self._responders[key] = responder
            if len(self._responders) > MAX_RESPONDERS:
                self._responders.popitem(last=False)
        else:
            self._responders.move_to_end(key)
        return responder

    def _has_graph(self, token: Token) -> bool:
        return token.facts.graph and not token.facts.limits_documents

    async def _call_graph(
        self, request: RestRequest, name: str, sent: Mapping[str, Any], token: Token
    ) -> Answer:
        if name == graph_tools.SCHEMA:
            await self._charge(request)
            return graph_tools.describe(token.shape, sent.get("topic"))
        body = graph_tools.read_only(sent)
        if isinstance(body, Answer):
            await self._charge(request)
            return body
        return graph_tools.answer_of(await self._agents.query(request, body))

    def _unknown(self, name: str, token: Token) -> Answer:
        tool, known = _ROWS.get(name), list(self._toolbox(token))
        if tool is not None and tool.other in known:
            drafts = "leaves mail as drafts" if token.facts.drafts else "sends mail itself"
            sentence = f"This token {drafts}."
            return refusals.refusal(Code.OPERATION_NOT_ALLOWED, sentence, f"Use {tool.other}.")
        sentence = refusals.unknown_tool(name, nearest(name, known))
        listed = f"Tools: {', '.join(known)}." if known else ""
        return refusals.refusal(Code.NOT_FOUND, sentence, listed)

    def _shown(self, answer: Answer) -> Mapping[str, Any]:
        """Return *answer* as a result of `tools/call`."""
        takes_value = self._structured and isinstance(answer.value, dict)
        if takes_value:
            answer = answers.structured(answer)
        result: dict[str, Any] = {"content": [{"type": "text", "text": answer.text}]}
        if answer.is_error:
            result["isError"] = True
        if answer.outside:
            result["_meta"] = {answers.OUTSIDE: True}
        if takes_value:
            result["structuredContent"] = answer.value
        return result


async def _nothing(_context: Any) -> RestResponse:
    return RestResponse(status=200)
