"""
The documents that run: parsed, measured and validated once, and kept.

Internal documents (those of the REST table) are prepared and planned at start-up and are exempt
from limits. Those of power users come through `graph.request_execution`; they and their plans are
kept in bounded caches.
"""

from collections import OrderedDict
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field

from graphql import (
    DocumentNode,
    GraphQLError,
    GraphQLSchema,
    OperationDefinitionNode,
    OperationType,
    parse,
    specified_rules,
    validate,
)

from graph.documents.cost_limits import MAX_TOKENS, CostLimits, OperationCost
from graph.documents.operation import Operation, RestOperation
from graph.execution.plan.cache import PlanCache
from graph.execution.plan.program import Program
from graph.masking.guards import requirements
from policy.refusals import InvalidInput
from policy.vocabulary import Code

CACHED = 128  # documents
CACHED_LENGTH = 8_192  # characters; longer ones are parsed every time, so that memory stays small
INTERNAL_PLANS = 1_024  # of the documents of the table; one per document and set of hidden fields
PLANS = 256  # of power users' documents
MOST_ERRORS = 10  # of one document: each may quote a whole input object, which takes its time


class InvalidDocument(ValueError):
    """An internal document does not fit the schema; the message says where."""


@dataclass(frozen=True, slots=True)
class Document:
    """
    A power user's document: parsed and measured.

    Attributes:
        invalid: What validation found; None before it.
        operations: Those that were run, by name.
        kept: Whether it stays, so that a plan is worth making.
    """

    node: DocumentNode
    measures: Mapping[str | None, OperationCost]
    invalid: tuple[GraphQLError, ...] | None = None
    kept: bool = False
    operations: dict[str | None, Operation] = field(default_factory=dict)


class Graph:
    """The schema, and the documents prepared against it."""

    def __init__(self, schema: GraphQLSchema) -> None:
        self.schema = schema
        self.limits = CostLimits(schema)
        self.requirements = requirements(schema)
        self._documents: OrderedDict[str, Document] = OrderedDict()
        self._internal_plans = PlanCache(INTERNAL_PLANS)
        self._plans = PlanCache(PLANS)

    def prepare(self, text: str) -> Operation:
        """
        Parse, validate and plan an internal document with one operation.

        Raises:
            Unprepared: It does not parse, does not fit, or holds more or less than one operation.
        """
        program, cost = self._internal(text)
        return Operation(program=program, cost=cost, requirements=self.requirements)

    def prepare_rest(self, text: str, *, omit_when_empty: Collection[str] = ()) -> RestOperation:
        """
        Prepare a document of the REST table; *omit_when_empty* as `RestOperation` says.

        Raises:
            Unprepared: As `prepare`.
        """
        program, cost = self._internal(text)
        return RestOperation(
            program=program,
            cost=cost,
            requirements=self.requirements,
            omit_when_empty=omit_when_empty,
        )

    def _internal(self, text: str) -> tuple[Program, OperationCost]:
        try:
            node = parse(text)
        except GraphQLError as error:
            raise InvalidDocument(str(error)) from error
        found = validate(self.schema, node)
        if found:
            raise InvalidDocument("\n".join(str(error) for error in found))
        operations = [one for one in node.definitions if isinstance(one, OperationDefinitionNode)]
        if len(operations) != 1:
            raise InvalidDocument("An internal document holds exactly one operation.")
        program = Program(self.schema, node, operations[0], self._internal_plans)
        program.preplan(frozenset())
        return program, next(iter(self.limits.measure(node, exempt=True).values()))

    def read(self, text: str) -> Document:
        """
        Parse and measure a power user's document, or take it from the cache.

        Raises:
            GraphQLError: It does not parse, or has more than 2,000 tokens.
            TooCostly: It exceeds a limit.
        """
        known = self._documents.get(text)
        if known is not None:
            self._documents.move_to_end(text)
            return known
        node = parse(text, max_tokens=MAX_TOKENS)
        return Document(node, self.limits.measure(node))

    def validated(self, text: str, document: Document) -> Document:
        """Validate *document* once, and keep it."""
        if document.invalid is not None:
            return document
        found = validate(
            self.schema, document.node, specified_rules, MOST_ERRORS, hide_suggestions=True
        )
        kept = len(text) <= CACHED_LENGTH
        done = Document(document.node, document.measures, tuple(found), kept)
        if kept:
            self._documents[text] = done
            if len(self._documents) > CACHED:
                self._documents.popitem(last=False)
        return done

    def operation(self, document: Document, name: str | None) -> Operation:
        """
        Return the operation *name* of a document that is valid.

        Raises:
            InvalidInput: As `choose`.
        """
        if name not in document.operations:
            node, cost = self.choose(document, name)
            plans = self._plans if document.kept else None
            document.operations[name] = Operation(
                program=Program(self.schema, document.node, node, plans),
                cost=cost,
                requirements=self.requirements,
            )
        return document.operations[name]

    def choose(
        self, document: Document, name: str | None
    ) -> tuple[OperationDefinitionNode, OperationCost]:
        """
        Choose the operation *name*; None suffices when there is one.

        Raises:
            InvalidInput: There is none of this name, several without one, or a subscription.
        """
        found = [
            one
            for one in document.node.definitions
            if isinstance(one, OperationDefinitionNode)
            and (name is None or (one.name is not None and one.name.value == name))
        ]
        if len(found) != 1:
            raise InvalidInput(
                "operationName must name one operation of the document.",
                code=Code.GRAPHQL_VALIDATION_FAILED,
            )
        if found[0].operation is OperationType.SUBSCRIPTION:
            raise InvalidInput("Subscriptions are not served.", code=Code.GRAPHQL_VALIDATION_FAILED)
        return found[0], document.measures[found[0].name.value if found[0].name else None]
