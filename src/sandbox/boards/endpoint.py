"""The one endpoint of the boards API: ``POST /v2`` with a document and its variables."""

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

from sandbox import error_bodies
from sandbox.boards import responses, schema
from sandbox.boards.complexity import ComplexityBudget, query_cost
from sandbox.boards.context import ExecutionContext
from sandbox.boards.errors import ApiError
from sandbox.boards.store import BoardStore
from sandbox.http import Handler, Request, Response
from sandbox.state import SandboxState

_MAX_DOCUMENTS = 200  # validated documents in the cache


def create_handler(state: SandboxState) -> Handler:
    """Return the handler of everything below ``/v2``."""
    return BoardsEndpoint(BoardStore(state.database, clock=state.clock))


class BoardsEndpoint:
    """The handler of requests to one store."""

    def __init__(self, store: BoardStore) -> None:
        self._store = store
        self._budget = ComplexityBudget(store.database, store.seconds)
        self._documents: dict[str, DocumentNode] = {}

    async def __call__(self, request: Request) -> Response | None:
        """Return the response; None when the path is not of this API."""
        if request.segments[1:] == ("get_schema",) and request.method == "GET":
            return Response(body=schema.sdl().encode(), headers={"content-type": "text/plain"})
        if request.segments[1:]:
            return None
        if request.method != "POST":
            return responses.bad_request("Use POST.")
        try:
            content = request.json()
            text, variables, name = _parse_body(content)
        except ValueError:
            return responses.bad_request("The body is not a GraphQL request.")
        return await self._execute(request, text, variables, name)

    async def _execute(
        self, request: Request, text: str, variables: dict[str, Any], name: str | None
    ) -> Response:
        version = responses.version_of(request)
        document = self._documents.get(text)
        if document is None:
            try:
                document = parse(text)
            except GraphQLSyntaxError as error:
                return responses.validation_response([error], version, code="ParseError")
            if problems := validate(schema.schema(), document):
                return responses.validation_response(problems, version)
            if len(self._documents) < _MAX_DOCUMENTS:
                self._documents[text] = document
        context = self._create_context(request, version)
        if context is None:
            return error_bodies.tasks(401)
        try:
            context.complexity = self._budget.charge(query_cost(document, variables), version)
        except ApiError as error:
            return responses.execution_response(None, [error], version)
        result = await _execute_document(document, context, variables, name)
        return responses.execution_response(result.data, result.errors or (), version)

    def _create_context(self, request: Request, version: str) -> ExecutionContext | None:
        if request.grant is None:
            return None
        user = self._store.user_by_email(request.grant.account)
        if user is None or user.status != "ACTIVE":
            return None
        uncharged = self._budget.charge(0, version)
        scopes = frozenset(request.grant.scopes)
        return ExecutionContext(
            store=self._store, user=user, scopes=scopes, version=version, complexity=uncharged
        )


async def _execute_document(
    document: DocumentNode, context: ExecutionContext, variables: dict[str, Any], name: str | None
) -> ExecutionResult:
    try:
        result = execute(
            schema.schema(),
            document,
            context_value=context,
            variable_values=variables,
            operation_name=name,
        )
    except GraphQLError as error:
        return ExecutionResult(data=None, errors=[error])
    return result if isinstance(result, ExecutionResult) else await result


def _parse_body(content: Any) -> tuple[str, dict[str, Any], str | None]:
    if not isinstance(content, dict) or not isinstance(content.get("query"), str):
        raise ValueError("no document")  # noqa: TRY004 - all are input errors
    variables = content.get("variables") or {}
    if isinstance(variables, str):
        variables = orjson.loads(variables)
    if not isinstance(variables, dict):
        raise ValueError("variables are an object")  # noqa: TRY004 - all are input errors
    name = content.get("operationName") or None
    return content["query"], variables, name if isinstance(name, str) else None
