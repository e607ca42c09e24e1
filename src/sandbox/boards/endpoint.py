"""The board provider's one endpoint: ``POST /v2``, a document and its variables."""

from typing import Any

import orjson
from graphql import (
    DocumentNode,
    ExecutionResult,
    GraphQLError,
    GraphQLSyntaxError,
    execute,
    parse,
    validate,
)

from sandbox.boards import responses, schema
from sandbox.boards.complexity import Budget, cost_of
from sandbox.boards.context import Desk
from sandbox.boards.errors import Refused
from sandbox.boards.store import BoardStore
from sandbox.error_bodies import tasks as shaped
from sandbox.http import Handler, Request, Response
from sandbox.state import SandboxState

_MOST_DOCUMENTS = 200  # kept after they were found valid


def create_handler(state: SandboxState) -> Handler:
    """Return the handler of everything below ``/v2``."""
    return Door(BoardStore(state.database, clock=state.clock))


class Door:
    """The endpoint over one store."""

    def __init__(self, store: BoardStore) -> None:
        self._store = store
        self._budget = Budget(store.db, store.seconds)
        self._valid: dict[str, DocumentNode] = {}

    async def __call__(self, request: Request) -> Response | None:
        """Answer a call."""
        if request.segments[1:] == ("get_schema",) and request.method == "GET":
            return Response(body=schema.sdl().encode(), headers={"content-type": "text/plain"})
        if request.segments[1:]:
            return None
        if request.method != "POST":
            return responses.unreadable("Use POST.")
        try:
            content = request.json()
            text, variables, name = _read(content)
        except ValueError:
            return responses.unreadable("The body is not a GraphQL request.")
        return await self._answer(request, text, variables, name)

    async def _answer(
        self, request: Request, text: str, variables: dict[str, Any], name: str | None
    ) -> Response:
        version = responses.version_of(request)
        document = self._valid.get(text)
        if document is None:
            try:
                document = parse(text)
            except GraphQLSyntaxError as problem:
                return responses.invalid([problem], version, code="ParseError")
            if problems := validate(schema.schema(), document):
                return responses.invalid(problems, version)
            if len(self._valid) < _MOST_DOCUMENTS:
                self._valid[text] = document
        desk = self._desk(request, version)
        if desk is None:
            return shaped(401)
        try:
            desk.meter = self._budget.charge(cost_of(document, variables), version)
        except Refused as refusal:
            return responses.answered(None, [refusal], version)
        outcome = await _executed(document, desk, variables, name)
        return responses.answered(outcome.data, outcome.errors or (), version)

    def _desk(self, request: Request, version: str) -> Desk | None:
        if request.grant is None:
            return None
        me = self._store.user_named(request.grant.account)
        if me is None or me.status != "ACTIVE":
            return None
        free = self._budget.charge(0, version)
        scopes = frozenset(request.grant.scopes)
        return Desk(store=self._store, me=me, scopes=scopes, version=version, meter=free)


async def _executed(
    document: DocumentNode, desk: Desk, variables: dict[str, Any], name: str | None
) -> ExecutionResult:
    try:
        outcome = execute(
            schema.schema(),
            document,
            context_value=desk,
            variable_values=variables,
            operation_name=name,
        )
    except GraphQLError as problem:
        return ExecutionResult(data=None, errors=[problem])
    return outcome if isinstance(outcome, ExecutionResult) else await outcome


def _read(content: Any) -> tuple[str, dict[str, Any], str | None]:
    if not isinstance(content, dict) or not isinstance(content.get("query"), str):
        raise ValueError("no document")  # noqa: TRY004 - all are input errors
    variables = content.get("variables") or {}
    if isinstance(variables, str):
        variables = orjson.loads(variables)
    if not isinstance(variables, dict):
        raise ValueError("variables are an object")  # noqa: TRY004 - all are input errors
    name = content.get("operationName") or None
    return content["query"], variables, name if isinstance(name, str) else None
