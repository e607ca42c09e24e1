"""The application of agents, and the services that it calls; see `agent_tools.ports`."""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

import msgspec
from graphql import GraphQLField, GraphQLSchema
from starlette.types import ASGIApp, Receive, Scope, Send

from agent_tools.endpoint import AgentEndpoint
from agent_tools.ports import Facts, SavedTool
from gateway.documents import checks, prepared
from gateway.feeds.agent_feed import AgentFeed
from gateway.feeds.stream import ChangesStream
from gateway.feeds.streams import POLL
from gateway.http.dispatch import CONSOLE
from gateway.http.entry import MANAGEMENT_COST
from gateway.http.graphql_call import GraphQLCall
from gateway.http.request_state import request_state
from gateway.ratelimit.buckets import AGENTS_PATH
from gateway.sign_in.metadata import challenge
from gateway.version import API_VERSION
from graph.documents.operations import Graph
from graph.documents.saved_operation import SavedOperation
from graph.shape import masked_by, shape_of
from policy.caller import Caller
from policy.refusals import InvalidInput
from policy.vocabulary import AgentTools, Surface, WriteMode
from providers.bounded_map import BoundedMap
from rest_compat.endpoint import Responder
from rest_compat.readers import READERS
from rest_compat.request import RestRequest
from rest_compat.responses import send_response
from rest_compat.table import ENDPOINTS, Endpoint

if TYPE_CHECKING:
    from gateway.services import Services

_CONTEXT = b"agent tools"  # of sealed states
_CACHED_TOKENS = 256
_CHECKED = 2_048  # texts of saved documents, per process


def application(
    services: "Services",
    rows: Mapping[str, Endpoint],
    stream: ChangesStream,
    clock: Callable[[], float],
) -> ASGIApp:
    """Build the application; *rows* are the calls of REST that write, by root field."""
    base = Responder(
        endpoint=ENDPOINTS[0],
        prepare=prepared.of_table,
        calls=services.calls,
        reader=READERS["json"],
    )
    endpoint = AgentEndpoint(
        AgentServices(services, prepared.graph()),
        base,
        AgentFeed(stream),
        rows=rows,
        base_url=services.settings.base_url,
        version=API_VERSION,
        challenge=challenge(services.settings.base_url, AGENTS_PATH),
        releases_at=f"{services.settings.base_url}{CONSOLE}/writes/"
        if services.settings.console
        else None,
        structured=services.settings.agents_structured_content,
        clock=clock,
    )

    async def serve(scope: Scope, receive: Receive, send: Send) -> None:
        if POLL not in scope:
            await endpoint(scope, receive, send)
            return
        scope["state"]["route"] = AGENTS_PATH
        response = await stream.respond(RestRequest(scope, receive), {})
        await send_response(response, send, head=False)

    return serve


class AgentToken(msgspec.Struct, frozen=True, dict=True):
    """The token of a request; see `agent_tools.ports.Token`."""

    caller: Caller
    shape: GraphQLSchema

    @property
    def token_id(self) -> int:
        return self.caller.token_id

    @cached_property
    def facts(self) -> Facts:
        grant = self.caller.grant
        boards, columns = grant.task_boards, grant.writable_task_fields
        return Facts(
            drafts=self.caller.holds_mail,
            confirms=WriteMode.EFFECT in self.caller.write_modes,
            approves=WriteMode.APPROVE in self.caller.write_modes,
            graph=grant.agent_tools is AgentTools.GRAPH,
            limits_documents=grant.documents is not None,
            limits_recipients=grant.recipients is not None,
            boards=None if boards is None else tuple(board.board_id for board in boards),
            columns=None if columns is None else tuple(sorted(columns)),
        )

    @property
    def accounts(self) -> str:
        usable = (each for each in self.caller.connections if not self.caller.excludes(each))
        return ", ".join(f"{each.account_email} ({each.kind}, {each.id})" for each in usable)

    @property
    def restrictions(self) -> str:
        kinds = {connection.kind for connection in self.caller.connections}
        surfaces = (surface for surface in Surface if surface in kinds)
        return " ".join(filter(None, map(self.caller.access_info, surfaces)))


class AgentServices:
    """`agent_tools.ports.Agents`. One per process that serves agents."""

    def __init__(self, services: "Services", graph: Graph) -> None:
        self.schema = graph.schema
        self._calls, self._entry, self._graph = services.calls, services.entry, graph
        self._saved, self._keyring = services.documents, services.keyring
        self._tokens: BoundedMap[int, AgentToken] = BoundedMap(_CACHED_TOKENS)
        self._fits: BoundedMap[tuple[GraphQLSchema, str], SavedOperation | None] = BoundedMap(
            _CHECKED
        )

    async def authenticate(self, scope: Scope) -> AgentToken:
        caller = await self._entry.authenticate(scope, MANAGEMENT_COST)
        request_state(scope).caller = caller
        token = self._tokens.get(caller.token_id)
        if token is None or token.caller is not caller:
            token = AgentToken(caller, shape_of(self.schema, caller))
            self._tokens[caller.token_id] = token
        return token

    def is_masked(self, field: GraphQLField) -> bool:
        return masked_by(field) is not None

    def prepare(self, text: str) -> SavedOperation:
        return checks.prepare(self._graph, text)

    async def saved(self, token: AgentToken) -> Sequence[SavedTool]:
        documents = (await self._saved.list()).documents
        if not any(token.caller.may_run(document.name) for document in documents):
            return ()
        return await asyncio.to_thread(self._usable, token, await self._saved.texts())

    def _usable(
        self, token: AgentToken, texts: Sequence[tuple[Any, str, str | None]]
    ) -> Sequence[SavedTool]:
        return [
            SavedTool(
                document=document, operation=operation, text=text, description=description or ""
            )
            for document, text, description in texts
            if token.caller.may_run(document.name)
            and (operation := self._fit(token.shape, document.digest, text)) is not None
        ]

    def _fit(self, shape: GraphQLSchema, digest: str, text: str) -> SavedOperation | None:
        """Return the operation of a saved document; None: the shape has not all of it."""
        key = (shape, digest)
        if key not in self._fits:
            try:
                operation = checks.prepare(self._graph, text)
            except InvalidInput:  # it was saved by another version
                self._fits[key] = None
            else:
                is_usable = checks.outside(shape, operation) is None
                self._fits[key] = operation if is_usable else None
        return self._fits[key]

    async def query(self, request: RestRequest, body: bytes) -> bytes:
        return (await self._calls.run(GraphQLCall(request, self._graph, sent=body))).body

    def seal(self, payload: bytes) -> str:
        return self._keyring.seal(payload, context=_CONTEXT)

    def unseal(self, text: str) -> bytes:
        return self._keyring.unseal(text, context=_CONTEXT)
