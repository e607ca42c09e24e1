"""
Protocols of the services that this package calls, besides `rest_compat.calls.Calls`.

`gateway` passes the implementations in. This package knows neither policy decisions nor providers.
"""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from typing import Any, Protocol

import msgspec
from graphql import GraphQLField, GraphQLSchema
from starlette.types import Scope

from agent_tools.wire import Message
from graph.documents.saved_operation import SavedOperation
from rest_compat.request import RestRequest
from rest_compat.responses import RestResponse
from rest_compat.saved.document import SavedDocument


class Facts(msgspec.Struct, frozen=True, kw_only=True):
    """
    Settings of a token that its tools depend on, besides its shape (docs/spec/agents.md#tools).

    Attributes:
        drafts: Whether mail is left as a draft for a person to send.
        confirms: Whether writes to an account need the digest of its effect.
        approves: Whether writes to an account wait for a person.
        graph: Whether the token has the tools of the graph.
        limits_documents: Whether the token runs saved documents only.
        limits_recipients: Whether the token may not write to everyone.
        boards: The only boards that it may see; None: any.
        columns: The only columns of task items that it may write; None: any.
    """

    drafts: bool = False
    confirms: bool = False
    approves: bool = False
    graph: bool = False
    limits_documents: bool = False
    limits_recipients: bool = False
    boards: tuple[str, ...] | None = None
    columns: tuple[str, ...] | None = None


class Token(Protocol):
    """
    The authenticated access token of a request.

    Attributes:
        shape: The part of the schema that it can use.
        accounts: Addresses of its connections with their ids, as a sentence; empty without any.
        restrictions: Its `accessInfo` sentences of all surfaces, joined.
    """

    @property
    def token_id(self) -> int: ...
    @property
    def shape(self) -> GraphQLSchema: ...
    @property
    def facts(self) -> Facts: ...
    @property
    def accounts(self) -> str: ...
    @property
    def restrictions(self) -> str: ...


class SavedTool(msgspec.Struct, frozen=True, kw_only=True):
    """A saved document that is a tool; *description* is the operator's, or empty."""

    document: SavedDocument
    operation: SavedOperation
    text: str
    description: str


Charge = Callable[[RestRequest], Awaitable[None]]
ListTools = Callable[[Token], Awaitable[Sequence[Mapping[str, Any]]]]


class AgentFeed(Protocol):
    """
    Answers the methods about the feed of changes, in the revision that has streams.

    Attributes:
        methods: Their names.
    """

    @property
    def methods(self) -> AbstractSet[str]: ...

    def capabilities(self, token: Token) -> Mapping[str, Any]:
        """Return the capabilities of the server for *token*."""

    async def answer(
        self,
        request: RestRequest,
        message: Message,
        token: Token,
        *,
        charge: Charge,
        list_tools: ListTools,
    ) -> RestResponse:
        """
        Answer a request; *charge* charges it unless it is a call of the feed.

        Raises:
            Refusal: 429.
            WireError: It is not valid, or the feed refused it.
        """


class Agents(Protocol):
    """
    The services of the gateway for agents.

    Attributes:
        schema: The whole schema.
    """

    @property
    def schema(self) -> GraphQLSchema: ...

    async def authenticate(self, scope: Scope) -> Token:
        """
        Return the token of a request; nothing is charged for a valid one.

        Raises:
            Refusal: 401 or 429, described.
        """

    def is_masked(self, field: GraphQLField) -> bool:
        """Return whether *field* of a shape is hidden from the token."""

    def prepare(self, text: str) -> SavedOperation:
        """Parse, validate and plan a document of one root field."""

    async def saved(self, token: Any) -> Sequence[SavedTool]:
        """Return the saved documents that *token*, of `authenticate`, can run, oldest first."""

    async def query(self, request: RestRequest, body: bytes) -> bytes:
        """Run *body*, a request of `POST /graphql`, within *request*; return the response to it."""

    def seal(self, payload: bytes) -> str:
        """Seal *payload* as text that only this deployment opens."""

    def unseal(self, text: str) -> bytes:
        """
        Open what `seal` returned.

        Raises:
            ValueError: It is damaged, or was sealed elsewhere.
        """
