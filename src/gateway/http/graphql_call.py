"""
A request to POST /graphql as a call (docs/spec/graphql.md): one operation of one document.

    parse and measure → charge → validate → run → shape

The caller is authenticated first: the document of an unknown caller is never parsed. The work
before the charge is bounded by the document limits.
"""

import asyncio
import hashlib
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import msgspec
import orjson
from graphql import FieldNode, GraphQLError, OperationDefinitionNode, parse
from msgspec.structs import replace

from gateway.documents.stored import StoredDocuments
from gateway.http.documents.cost_report import report_cost
from gateway.http.request_state import request_state
from graph import errors
from graph.context import Context
from graph.documents.cost_limits import MAX_BYTES_WITH_FILES
from graph.documents.operations import Document, Graph
from graph.documents.request_body import GraphQLRequest, read_request
from graph.documents.suggestions import with_suggestion
from graph.effects import WriteHeld
from graph.execution.counting_executor import MAX_OBJECTS
from graph.request_log import WHOLE_REQUEST, Denial
from graph.shape import shape_of
from policy.caller import Caller
from policy.refusals import (
    Conflict,
    InvalidInput,
    NotFound,
    Refusal,
    TooManyRequests,
    Unauthenticated,
)
from policy.vocabulary import LAYER_BY_CODE, Code
from providers.failures import without_frames
from rest_compat.body import read_body
from rest_compat.calls import Call
from rest_compat.documents import document
from rest_compat.errors import CHALLENGE
from rest_compat.held.stored_calls import StoredCall
from rest_compat.idempotency import fingerprint, normal_path, read_key
from rest_compat.ledger import KEY_HEADER, Intent
from rest_compat.preferences import EFFECT_HEADER, NO_PREFERENCES, Preferences, read_expected_effect
from rest_compat.request import RestRequest
from rest_compat.responses import JSON, RestResponse
from rest_compat.table import Endpoint, RateBucket

if TYPE_CHECKING:
    from graph.documents.operation import Operation

PATH = "/graphql"
GRAPHQL_TYPE = "application/graphql-response+json"
NO_SURFACE = RateBucket(windows="graphql")  # of a request without a surface

Rows = Mapping[str, Endpoint]


class InvalidDocument(Refusal):
    """A document that does not parse, or does not fit the schema."""

    def __init__(self, problems: Sequence[GraphQLError], code: Code) -> None:
        super().__init__(problems[0].message, code=code)
        self.problems = problems


class GraphQLCall(Call):
    """One request; its `context` is None until it is charged."""

    def __init__(  # noqa: PLR0913 - what a request has
        self,
        request: RestRequest,
        graph: Graph,
        saved: StoredDocuments | None = None,
        *,
        rows: Rows | None = None,
        sent: bytes | None = None,
        preferences: Preferences = NO_PREFERENCES,
    ) -> None:
        """
        *rows* are the calls of REST that write, by root field: a key is bound to them; without
        them it is not read. *sent* is the body; None: it is read from *request*.
        """
        super().__init__(request, NO_SURFACE)
        self.is_document = True
        self.partial_fail, self.wait = preferences.partial_fail, preferences.wait
        self.context: Context | None = None
        self._graph = graph
        self._saved = saved
        self._rows = rows
        self._sent = sent
        self._preferences = preferences
        self._read: GraphQLRequest | Refusal = InvalidInput("The body was not read.")
        self._measured: Document | Refusal = self._read
        self._operation: Operation | None = None
        self._ran = self._is_answered = False

    async def measure(self, caller: Caller) -> RateBucket:
        """Read, parse and measure; a document that *caller* may not run costs as none does."""
        self._read = read = await self._read_request()
        self._measured = self._parse(read)
        if isinstance(read, Refusal) or isinstance(self._measured, Refusal):
            return self.bucket
        limit, digest = caller.grant.documents, read.document_id
        if limit is not None and digest and not limit.allows(await self._names_of(digest)):
            return self.bucket
        _, cost = self._graph.choose_operation(self._measured, read.operation)
        charges = cost.charges(read.variables)
        return RateBucket(windows=next(iter(charges)), costs=tuple(charges.items()))

    async def _read_request(self) -> GraphQLRequest | Refusal:
        """Read the body; a `documentId` becomes the text of the saved document."""
        try:
            body = self._sent if self._sent is not None else await _receive(self.request)
            self._sent = body
            request = read_request(body, with_id=True)
            if request.document_id is None:
                return request
            text = await self._saved.text_of(request.document_id) if self._saved else None
        except Refusal as refusal:
            return without_frames(refusal)
        if text is None:
            message = "There is no saved document with this documentId."
            return NotFound(message, code=Code.DOCUMENT_NOT_FOUND)
        return replace(request, query=text)

    def _parse(self, read: GraphQLRequest | Refusal) -> Document | Refusal:
        if isinstance(read, Refusal):
            return read
        try:
            document = self._graph.parse(read.query)
            _, cost = self._graph.choose_operation(document, read.operation)
            cost.check(read.variables)
        except GraphQLError as error:
            return InvalidDocument([without_frames(error)], Code.GRAPHQL_PARSE_FAILED)
        except Refusal as refusal:
            return without_frames(refusal)
        return document

    async def _names_of(self, digest: str) -> Sequence[str]:
        return await self._saved.names_of(digest) if self._saved is not None else ()

    async def require_allowed(self, context: Context) -> GraphQLRequest:
        """
        Return the request, if the token is not limited to other saved documents.

        Raises:
            Refusal: It is, or the body is not a request.
        """
        self.context, read = context, self._read
        if isinstance(read, Refusal):
            if context.caller.limits_documents and read.code is Code.DOCUMENT_NOT_FOUND:
                context.check_document(())
            raise read
        if context.caller.limits_documents:
            text = hashlib.sha256(read.query.encode()).hexdigest()
            context.check_document(await self._names_of(read.document_id or text))
        return read

    async def pass_gates(self, context: Context) -> None:
        """
        Check the limit to saved documents, then validate the document.

        The gates of root fields are asked when they run: a refused field is null, and its siblings
        answer.
        """
        if self._preferences.cost:
            report_cost(context, request_state(self.request.scope))
        read, document = await self.require_allowed(context), self._measured
        if isinstance(document, Refusal):
            raise document
        if document.validation_errors is None:
            await asyncio.sleep(0)  # validation is a second long step
        document = self._graph.validate(read.query, document)
        if not document.operations:
            await asyncio.sleep(0)  # and a new document's plan and run a third
        if document.validation_errors:
            raise InvalidDocument(document.validation_errors, Code.GRAPHQL_VALIDATION_FAILED)
        self._operation = operation = self._graph.operation(document, read.operation)
        if operation.kind == "mutation":
            dry_run = read.dry_run or self._preferences.dry_run
            context.ask_for_effect(dry_run=dry_run, expected=read.expected_effect)
        if context.budget is None:
            context.budget = MAX_OBJECTS
        log = context.request_log
        log.fields, log.variables = operation.running_fields(read.variables), read.variables

    def read_terms(self, context: Context) -> str | None:
        """Read the key of a mutation whose gates pass; another refuses as it does without one."""
        operation = self._operation
        if operation is None or operation.kind != "mutation" or self._rows is None:
            return None
        try:
            operation.admit(context, context.request_log.variables)
        except Refusal:
            return None
        key = read_key(self.request.header_values(KEY_HEADER))
        expected = read_expected_effect(self.request.header_values(EFFECT_HEADER))
        if expected is not None and context.expected_effect is None:  # the extension goes before it
            context.ask_for_effect(dry_run=context.is_dry_run, expected=expected)
        return key

    async def intent(self, key: str, context: Context) -> Intent:
        """Return the intent of the mutation: that of its REST row, seen by another document."""
        if self._operation is None or self._rows is None or self._sent is None:
            raise RuntimeError("a key was read without a mutation")
        sent = hashlib.sha256(self._sent).digest()
        root = self._operation.root_call(context.request_log.variables)
        name, arguments = root if root is not None else ("", None)
        row = self._rows.get(name)
        return Intent(
            token_id=context.caller.token_id,
            method=row.method if row is not None else "POST",
            path=normal_path(row, arguments or {}) if row is not None else PATH,
            key=key,
            fingerprint=fingerprint(arguments, sent, expected=context.expected_effect),
            view=sent,
            former_path=PATH,
            former_fingerprint=sent,
        )

    def stored(self) -> StoredCall:
        """Return the request with the text of its document, which may be removed meanwhile."""
        read = self._read
        if isinstance(read, Refusal):
            raise TypeError(read)
        members = {
            "query": read.query,
            "variables": read.variables,
            "operationName": read.operation,
        }
        headers = [(b"accept", self._accepted.encode("latin-1"))]
        if self.partial_fail:
            headers.append((b"prefer", b"partial=fail"))
        return StoredCall(orjson.dumps(members), tuple(headers))

    # -- the reply

    async def run(self, context: Context) -> RestResponse:
        """Run the operation, and shape its result."""
        self._ran = self._is_answered = True
        operation = self._operation
        if operation is None:
            raise RuntimeError("the document was not validated")
        result = await operation.execute(context.request_log.variables, context)
        if result.data is None and result.errors and "path" not in result.errors[0]:
            return self._report(result.errors, result.causes)
        content: dict[str, Any] = {"data": result.data}
        if result.errors:
            content["errors"] = list(result.errors)
        extensions: dict[str, Any] = {}
        if operation.surfaces or context.cost is not None:
            extensions["access"] = operation.access(context)
        if context.cost is not None:
            extensions["access"]["cost"] = context.cost(operation.surfaces)
        if result.unlisted:
            extensions["unlistedErrors"] = result.unlisted
        if context.effect is not None:
            extensions |= {"dryRun": True, "effect": context.effect}
        if extensions:
            content["extensions"] = extensions
        roots = (
            error["extensions"]["httpStatus"] for error in result.errors if len(error["path"]) == 1
        )
        return RestResponse(
            status=200,
            body=msgspec.json.encode(content),
            content_type=self._content_type,
            outcome_status=next(roots, None),
            errors=result.errors,
            causes=result.causes,
            hold=_hold(result.causes),
        )

    def refuse(self, refusal: BaseException, request_id: str) -> RestResponse:
        """Shape a refusal as an error without a path, and log it once the request is charged."""
        if self.context is not None:
            surface = self._operation.surface if self._operation is not None else None
            denial = errors.denial(refusal, surface=surface)
            self.context.request_log.denials[WHOLE_REQUEST] = denial
        if isinstance(refusal, InvalidDocument):
            return self._report(self._describe(refusal, request_id), ())
        headers: tuple[tuple[str, str], ...] = ()
        if isinstance(refusal, Unauthenticated):
            headers = (("WWW-Authenticate", CHALLENGE),)
        if isinstance(refusal, TooManyRequests):
            headers = (("Retry-After", str(refusal.retry_after)),)
        error = errors.described(refusal, surface=None, request_id=request_id)
        reply = self._report([error], (refusal,)).with_headers(*headers)
        return replace(reply, hold=_hold((refusal,)))

    def _describe(self, refusal: InvalidDocument, request_id: str) -> list[dict[str, Any]]:
        described = [
            errors.describe_request(error, refusal.code, request_id=request_id)
            for error in refusal.problems
        ]
        if self.context is not None and refusal.code is Code.GRAPHQL_VALIDATION_FAILED:
            shape = shape_of(self._graph.schema, self.context.caller)
            for error in described:
                error["message"] = with_suggestion(error["message"], shape)
        return described

    def _report(
        self, reported: Sequence[dict[str, Any]], causes: Sequence[BaseException]
    ) -> RestResponse:
        return RestResponse(
            status=reported[0]["extensions"]["httpStatus"],
            body=msgspec.json.encode({"errors": reported}),
            content_type=self._content_type,
            errors=tuple(reported),
            causes=tuple(causes),
        )

    @property
    def _content_type(self) -> str:
        return GRAPHQL_TYPE if GRAPHQL_TYPE in self._accepted else JSON

    @property
    def _accepted(self) -> str:
        return self.request.header("accept") or ""

    def kept(self, reply: RestResponse, context: Context) -> RestResponse:
        """Return the stored *reply* of an earlier run, and log what stopped the mutation then."""
        self._is_answered = True
        if not self._ran and (stored := orjson.loads(reply.body).get("errors")):
            extensions = stored[0]["extensions"]
            code, status = Code(extensions["code"]), extensions["httpStatus"]
            denial = Denial(layer=LAYER_BY_CODE[code], code=code, status=status)
            context.request_log.denials[WHOLE_REQUEST] = denial
        return replace(reply, content_type=self._content_type)

    def finish(self, reply: RestResponse, context: Context | None) -> RestResponse:
        """
        Return *reply* with the applied preferences.

        The reply to a well-formed request is 200 for 400 if the client names JSON alone, as GraphQL
        over HTTP asks; see docs/spec/graphql.md#statuses.
        """
        is_formed = self._is_answered or (
            isinstance(self._read, GraphQLRequest) and self._operation is None
        )
        is_legacy = JSON in self._accepted and GRAPHQL_TYPE not in self._accepted
        if is_formed and is_legacy and reply.status == 400:
            reply = replace(reply, status=200)
        is_dry_run = context is not None and context.is_dry_run
        has_waited = context is not None and context.has_waited
        applied = replace(
            self._preferences,
            dry_run=self._preferences.dry_run and is_dry_run,
            wait=self._preferences.wait * has_waited,
        )
        return reply.with_headers(*applied.applied)


def _hold(causes: Sequence[BaseException]) -> str:
    """Return the id of the write that waits for a person, if that is one of *causes*."""
    held = (cause.held for cause in causes if isinstance(cause, WriteHeld))
    return next((str(each["id"]) for each in held if each is not None), "")


async def _receive(request: RestRequest) -> bytes:
    """
    Read the whole body.

    Raises:
        Refusal: It did not arrive whole, or is not JSON.
    """
    declared = request.header("content-length")
    body = await read_body(request.receive, declared=declared, limit=MAX_BYTES_WITH_FILES)
    media_type = (request.header("content-type") or "").partition(";")[0].strip().lower()
    if body and media_type != JSON and not media_type.endswith("+json"):
        message = "Send the body as JSON, with the header Content-Type: application/json."
        raise Conflict(message, code=Code.UNSUPPORTED_MEDIA_TYPE)
    return body


def mutation_rows(endpoints: Iterable[Endpoint]) -> Rows:
    """Return the row of each mutation, by the name of its root field."""
    rows = {}
    for row in endpoints:
        if row.method == "GET":
            continue
        operation, *_ = parse(document(row.document), no_location=True).definitions
        if isinstance(operation, OperationDefinitionNode):
            (root,) = operation.selection_set.selections
            if isinstance(root, FieldNode):
                rows[root.name.value] = row
    return rows
