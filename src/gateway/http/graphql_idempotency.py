"""Mutations of `POST /graphql` under an `Idempotency-Key`: run once, as over REST."""

import hashlib
from collections.abc import Iterable, Mapping, Sequence

import msgspec
import orjson
from graphql import FieldNode, OperationDefinitionNode, parse
from msgspec.structs import replace

from gateway.http.calls import Calls
from graph.context import Context
from graph.documents.operation import Operation
from graph.request_execution import HttpResponse, RunOperation
from graph.request_log import WHOLE_REQUEST, Denial
from policy.refusals import Refusal
from policy.vocabulary import LAYER_BY_CODE, Code
from rest_compat.documents import document
from rest_compat.idempotency import fingerprint, normal_path, read_key
from rest_compat.ledger import Intent
from rest_compat.preferences import read_expected_effect
from rest_compat.responses import RestResponse
from rest_compat.table import Endpoint

PATH = "/graphql"

Rows = Mapping[str, Endpoint]


class IdempotentMutation(msgspec.Struct, frozen=True):
    """
    A request and its `Idempotency-Key`, if any; see docs/spec/idempotency.md#graphql.

    Attributes:
        keys: The values of the header.
        effects: Those of `If-Effect`.
        body: The whole body.
        rows: The REST row of each mutation, by its name; a key is bound to it.
    """

    keys: Sequence[str]
    effects: Sequence[str]
    body: bytes
    calls: Calls
    rows: Rows

    async def __call__(
        self, operation: Operation, context: Context, run: RunOperation
    ) -> HttpResponse:
        """
        Run the mutation, or return the stored reply of an earlier run.

        Raises:
            Refusal: The header is malformed (400), the key belongs to another request or the
                mutation is still running (409), the ledger cannot be read (503, 504).
        """
        try:
            operation.admit(context, context.request_log.variables)
        except Refusal:
            return await run()  # it refuses as it would without a key
        key = read_key(self.keys)
        self._expect_effect(context)
        if key is None or context.stops_before_write:
            return await run()
        return await self._once(key, operation, context, run)

    def _expect_effect(self, context: Context) -> None:
        """Apply `If-Effect`; the extension `ifEffect` goes before it."""
        expected = read_expected_effect(self.effects)
        if expected is not None and context.expected_effect is None:
            context.ask_for_effect(dry_run=context.is_dry_run, expected=expected)

    async def _once(
        self, key: str, operation: Operation, context: Context, run: RunOperation
    ) -> HttpResponse:
        fresh: HttpResponse | None = None

        async def running() -> RestResponse:
            nonlocal fresh
            fresh = await run()
            return RestResponse(
                status=fresh.status, body=fresh.body, outcome_status=fresh.error_status
            )

        intent = self._intent(key, operation, context)
        answer = await self.calls.run_once(intent, running, context)
        if fresh is None:
            _record_denial(answer, context)
            fresh = HttpResponse(answer.status, answer.body)
        return replace(fresh, headers={**fresh.headers, **dict(answer.headers)})

    def _intent(self, key: str, operation: Operation, context: Context) -> Intent:
        """Build the intent of the mutation: that of its REST row, seen by another document."""
        sent = hashlib.sha256(self.body).digest()
        root = operation.root_call(context.request_log.variables)
        name, arguments = root if root is not None else ("", None)
        row = self.rows.get(name)
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


def _record_denial(answer: RestResponse, context: Context) -> None:
    """Record in the request log what stopped the mutation whose reply is repeated."""
    errors = orjson.loads(answer.body).get("errors")
    if errors:
        extensions = errors[0]["extensions"]
        code = Code(extensions["code"])
        ruling = Denial(layer=LAYER_BY_CODE[code], code=code, status=extensions["httpStatus"])
        context.request_log.denials[WHOLE_REQUEST] = ruling
