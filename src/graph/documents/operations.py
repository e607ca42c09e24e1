"""
The schema and its documents: parsed, measured, validated, prepared and cached.

Internal documents (those of the REST table) are prepared and planned at start-up and are exempt
from limits. Callers' documents come through `gateway.http.graphql_call`; they and their plans are
kept in bounded caches.
"""

from collections.abc import Collection, Mapping

import graphql
import msgspec
from graphql.validation.rules import overlapping_fields_can_be_merged as overlapping_fields

from graph.documents.cost_limits import (
    MAX_COMPARISONS,
    MAX_LINES,
    MAX_TOKENS,
    CostLimits,
    OperationCost,
)
from graph.documents.operation import Operation
from graph.documents.rest_operation import RestOperation
from graph.documents.saved_operation import SavedOperation
from graph.edges import edge_fields
from graph.execution.counting_executor import QueryTooCostly
from graph.execution.plan.cache import PlanCache
from graph.execution.plan.program import Program
from graph.masking.guards import requirement_of, requirements
from policy.refusals import InvalidInput
from policy.vocabulary import Code
from providers.bounded_map import BoundedMap

CACHED = 128  # documents
CACHED_LENGTH = 8_192  # characters; longer documents are parsed every time, to bound memory
INTERNAL_PLANS = 1_024  # plans of REST documents; one per document and set of hidden fields
PLANS = 256  # plans of callers' documents
SAVED_PLANS = 256  # plans of saved documents
MAX_ERRORS = 10  # per document, because each may quote a whole input object

# The comparisons are quadratic. graphql-core counts them, and reads its limit from its module.
overlapping_fields.MAX_COMPLEXITY_BUDGET = MAX_COMPARISONS


class InvalidDocument(ValueError):
    """An internal document is not valid; the message says where."""


class Document(msgspec.Struct, frozen=True):
    """
    A caller's document: parsed and measured.

    Attributes:
        costs: The cost of each operation, by name.
        validation_errors: None before validation; empty when the document is valid.
        cached: Whether it is cached, so that a plan is worth making.
        operations: The operations that were run, by name.
    """

    node: graphql.DocumentNode
    costs: Mapping[str | None, OperationCost]
    validation_errors: tuple[graphql.GraphQLError, ...] | None = None
    cached: bool = False
    operations: dict[str | None, Operation] = msgspec.field(default_factory=dict)


class Graph:
    """The schema, and the documents prepared against it."""

    def __init__(self, schema: graphql.GraphQLSchema) -> None:
        self.schema = schema
        self.limits = CostLimits(schema)
        self.requirements = {
            **requirements(schema),
            **{edge.coordinate: requirement_of(field) for edge, field in edge_fields(schema)},
        }
        self._documents: BoundedMap[str, Document] = BoundedMap(CACHED)
        self._internal_plans = PlanCache(INTERNAL_PLANS)
        self._plans = PlanCache(PLANS)
        self._saved_plans = PlanCache(SAVED_PLANS)

    def prepare(self, text: str) -> Operation:
        """
        Parse, validate and plan an internal document with one operation.

        Raises:
            InvalidDocument: It does not parse, is not valid, or does not hold one operation.
        """
        program, cost = self._internal(text)
        return Operation(program=program, cost=cost, requirements=self.requirements)

    def prepare_rest(self, text: str, *, omit_when_empty: Collection[str] = ()) -> RestOperation:
        """
        Prepare a document of the REST table; see `RestOperation` for *omit_when_empty*.

        Raises:
            InvalidDocument: As `prepare`.
        """
        program, cost = self._internal(text)
        return RestOperation(
            program=program,
            cost=cost,
            requirements=self.requirements,
            omit_when_empty=omit_when_empty,
        )

    def prepare_saved(self, text: str, *, omit_when_empty: Collection[str] = ()) -> SavedOperation:
        """
        Prepare a saved document; it has the limits of callers' documents.

        Raises:
            GraphQLError: It does not parse, or is not valid; the first error.
            InvalidInput: It exceeds a limit, does not hold one operation, or cannot be saved.
        """
        if text.count("\n") + text.count("\r") > MAX_LINES:
            raise QueryTooCostly(f"The query has more than {MAX_LINES} lines.")
        node = graphql.parse(text, max_tokens=MAX_TOKENS)
        costs = self.limits.measure(node)
        errors = graphql.validate(
            self.schema, node, graphql.specified_rules, MAX_ERRORS, hide_suggestions=True
        )
        if errors:
            raise errors[0]
        if len(costs) != 1:
            raise InvalidInput(
                "A saved document holds exactly one operation.", code=Code.GRAPHQL_VALIDATION_FAILED
            )
        definition, cost = self.choose_operation(Document(node, costs), None)
        operation = SavedOperation(
            program=Program(self.schema, node, definition, self._saved_plans),
            cost=cost,
            requirements=self.requirements,
            omit_when_empty=omit_when_empty,
        )
        operation.require_savable()
        cost.check({})
        return operation

    def _internal(self, text: str) -> tuple[Program, OperationCost]:
        try:
            node = graphql.parse(text)
        except graphql.GraphQLError as error:
            raise InvalidDocument(str(error)) from error
        errors = graphql.validate(self.schema, node)
        if errors:
            raise InvalidDocument("\n".join(str(error) for error in errors))
        operations = [
            definition
            for definition in node.definitions
            if isinstance(definition, graphql.OperationDefinitionNode)
        ]
        if len(operations) != 1:
            raise InvalidDocument("An internal document holds exactly one operation.")
        program = Program(self.schema, node, operations[0], self._internal_plans)
        program.preplan(frozenset())
        return program, next(iter(self.limits.measure(node, exempt=True).values()))

    def parse(self, text: str) -> Document:
        """
        Parse and measure a caller's document, or take it from the cache.

        Raises:
            GraphQLError: It does not parse, or has more than 2,000 tokens.
            QueryTooCostly: It exceeds a limit.
        """
        cached = self._documents.get(text)
        if cached is not None:
            self._documents.move_to_end(text)
            return cached
        if text.count("\n") + text.count("\r") > MAX_LINES:
            raise QueryTooCostly(f"The query has more than {MAX_LINES} lines.")
        node = graphql.parse(text, max_tokens=MAX_TOKENS)
        return Document(node, self.limits.measure(node))

    def validate(self, text: str, document: Document) -> Document:
        """Return *document* with its validation errors; validate it only once, and cache it."""
        if document.validation_errors is not None:
            return document
        errors = graphql.validate(
            self.schema, document.node, graphql.specified_rules, MAX_ERRORS, hide_suggestions=True
        )
        cached = len(text) <= CACHED_LENGTH
        validated = Document(document.node, document.costs, tuple(errors), cached)
        if cached:
            self._documents[text] = validated
        return validated

    def operation(self, document: Document, name: str | None) -> Operation:
        """
        Return the operation *name* of a valid document, prepared.

        Raises:
            InvalidInput: As `choose_operation`.
        """
        if name not in document.operations:
            node, cost = self.choose_operation(document, name)
            plans = self._plans if document.cached else None
            document.operations[name] = Operation(
                program=Program(self.schema, document.node, node, plans),
                cost=cost,
                requirements=self.requirements,
            )
        return document.operations[name]

    def choose_operation(
        self, document: Document, name: str | None
    ) -> tuple[graphql.OperationDefinitionNode, OperationCost]:
        """
        Choose the operation *name* and its cost; None chooses the only operation.

        Raises:
            InvalidInput: No operation or several operations match, or it is a subscription.
        """
        matching = [
            definition
            for definition in document.node.definitions
            if isinstance(definition, graphql.OperationDefinitionNode)
            and (name is None or (definition.name and definition.name.value == name))
        ]
        if len(matching) != 1:
            raise InvalidInput(
                "operationName must name one operation of the document.",
                code=Code.GRAPHQL_VALIDATION_FAILED,
            )
        operation = matching[0]
        if operation.operation is graphql.OperationType.SUBSCRIPTION:
            raise InvalidInput(
                "Subscriptions are not supported.", code=Code.GRAPHQL_VALIDATION_FAILED
            )
        return operation, document.costs[operation.name.value if operation.name else None]
