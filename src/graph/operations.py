"""
How an operation runs: parsed, measured and validated once, kept, run for one caller at a time.

Internal documents (those of the REST table) are prepared at start-up and are exempt from limits.
Those of power users come through `graph.http` and are kept in a bounded cache keyed by their text.
"""

from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from inspect import isawaitable
from typing import Any, cast

from graphql import (
    DocumentNode,
    ExecutionResult,
    GraphQLError,
    GraphQLInputType,
    GraphQLSchema,
    OperationDefinitionNode,
    OperationType,
    execute,
    is_non_null_type,
    parse,
    specified_rules,
    type_from_ast,
    validate,
    value_from_ast_untyped,
)

from graph import errors, masks, variables
from graph.context import Context
from graph.execution import CountingExecutor
from graph.guards import Requirement, requirements
from graph.limits import MAX_TOKENS, Limits, Measure
from policy.refusals import InvalidInput
from policy.vocabulary import Code, Surface
from policy.vocabulary import Operation as Flag

CACHED = 128  # documents
CACHED_LENGTH = 8_192  # characters; longer ones are parsed every time, so that memory stays small


class Unprepared(ValueError):
    """An internal document does not fit the schema; the message says where."""


@dataclass(frozen=True, slots=True)
class Variable:
    """
    One variable of an operation.

    Attributes:
        default: As JSON would write it; None without one.
    """

    name: str
    type: GraphQLInputType
    required: bool
    default: object = None


@dataclass(frozen=True, slots=True)
class Outcome:
    """
    What an operation answered.

    Attributes:
        data: None when nothing could be answered.
        errors: GraphQL errors as they are sent, in the order they happened.
    """

    data: dict[str, Any] | None
    errors: tuple[dict[str, Any], ...] = ()


@dataclass(frozen=True, kw_only=True)
class Operation:
    """One operation of a document that fits the schema."""

    schema: GraphQLSchema
    document: DocumentNode
    node: OperationDefinitionNode
    roots: Mapping[str, str]  # response key -> root field
    requirements: Mapping[str, Requirement] = field(repr=False)

    @property
    def name(self) -> str:
        """The operation's name; empty when it has none."""
        return self.node.name.value if self.node.name else ""

    @property
    def kind(self) -> str:
        """`query` or `mutation`."""
        return self.node.operation.value

    @cached_property
    def variables(self) -> tuple[Variable, ...]:
        """Its variables, in order."""
        return tuple(
            Variable(
                name=definition.variable.name.value,
                type=type_,
                required=is_non_null_type(type_) and definition.default_value is None,
                default=definition.default_value
                and value_from_ast_untyped(definition.default_value),
            )
            for definition in self.node.variable_definitions or ()
            if (type_ := self._input_type(definition.type)) is not None
        )

    @cached_property
    def surface(self) -> Surface | None:
        """The surface of the first root field that has one."""
        return next((one.surface for one in self._needs if one.surface is not None), None)

    @cached_property
    def operations(self) -> tuple[Flag, ...]:
        """The flags of the first root field, of which one suffices."""
        return next((one.operations for one in self._needs if one.surface is not None), ())

    def admit(self, context: Context) -> None:
        """
        Pass the layers that need no parameters, for every root field.

        Raises:
            Refusal: The first layer that refuses (decisions 2, steps 4 to 6).
        """
        for need in self._needs:
            if need.surface is not None:
                context.caller.admit(need.surface, *need.operations)

    async def run(self, given: Mapping[str, Any], context: Context) -> Outcome:
        """Run it with the variables *given*. It never raises what the caller's input caused."""
        result = execute(
            self.schema,
            self.document,
            context_value=context,
            variable_values=dict(given),
            operation_name=self.name or None,
            executor_class=CountingExecutor,
            hide_suggestions=True,
        )
        answered = await result if isawaitable(result) else result
        return self._outcome(answered, given, context)

    def access(self, context: Context) -> dict[str, Any]:
        """Say what is hidden on the surfaces this operation touches, for `extensions.access`."""
        surfaces = dict.fromkeys(one.surface for one in self._needs if one.surface is not None)
        told: dict[str, Any] = {
            "hiddenFields": masks.by_type(context.hidden, surfaces),
        }
        sentences = [context.caller.access_info(surface) for surface in surfaces]
        if any(sentences):
            told["accessInfo"] = " ".join(sentence for sentence in sentences if sentence)
        return told

    @property
    def _needs(self) -> list[Requirement]:
        return [self.requirements[name] for name in self.roots.values()]

    def _input_type(self, node: Any) -> GraphQLInputType | None:
        return cast("GraphQLInputType | None", type_from_ast(self.schema, node))

    def _outcome(
        self, result: ExecutionResult, given: Mapping[str, Any], context: Context
    ) -> Outcome:
        if not result.errors:
            return Outcome(result.data)
        if result.data is None and all(error.path is None for error in result.errors):
            return Outcome(None, (self._unfit(given, context),))
        described = tuple(
            errors.describe(error, surface=self._surface_at(error), request_id=context.request_id)
            for error in result.errors
        )
        costly = [one for one in described if one["extensions"]["code"] == Code.QUERY_TOO_COSTLY]
        if costly:
            return Outcome(None, (costly[0],))
        return Outcome(result.data, described)

    def _unfit(self, given: Mapping[str, Any], context: Context) -> dict[str, Any]:
        problem = variables.problem(
            {one.name: one.type for one in self.variables},
            frozenset(one.name for one in self.variables if not one.required),
            given,
        )
        return {
            "message": problem.message,
            "extensions": errors.extensions(
                problem, surface=self.surface, request_id=context.request_id
            ),
        }

    def _surface_at(self, error: GraphQLError) -> Surface | None:
        if not error.path:
            return None
        name = self.roots.get(str(error.path[0]), "")
        need = self.requirements.get(name)
        return need.surface if need is not None else None


@dataclass(frozen=True, slots=True)
class Document:
    """A power user's document: parsed and measured; *invalid* holds what validation found."""

    node: DocumentNode
    measures: Mapping[str | None, Measure]
    invalid: tuple[GraphQLError, ...] | None = None


class Graph:
    """The schema, and the documents prepared against it."""

    def __init__(self, schema: GraphQLSchema) -> None:
        self.schema = schema
        self.limits = Limits(schema)
        self.requirements = requirements(schema)
        self._documents: OrderedDict[str, Document] = OrderedDict()

    def prepare(self, text: str) -> Operation:
        """
        Parse and validate an internal document with one operation.

        Raises:
            Unprepared: It does not parse, does not fit, or holds more or less than one operation.
        """
        try:
            node = parse(text)
        except GraphQLError as error:
            raise Unprepared(str(error)) from error
        found = validate(self.schema, node)
        if found:
            raise Unprepared("\n".join(str(error) for error in found))
        operations = [one for one in node.definitions if isinstance(one, OperationDefinitionNode)]
        if len(operations) != 1:
            raise Unprepared("An internal document holds exactly one operation.")
        measure = next(iter(self.limits.measure(node, exempt=True).values()))
        return self.operation(node, operations[0], measure)

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
        found = validate(self.schema, document.node, specified_rules, hide_suggestions=True)
        done = Document(document.node, document.measures, tuple(found))
        if len(text) <= CACHED_LENGTH:
            self._documents[text] = done
            if len(self._documents) > CACHED:
                self._documents.popitem(last=False)
        return done

    def operation(
        self, document: DocumentNode, node: OperationDefinitionNode, measure: Measure
    ) -> Operation:
        """Make an operation of a document that is valid."""
        return Operation(
            schema=self.schema,
            document=document,
            node=node,
            roots={root.key: root.name for root in measure.roots},
            requirements=self.requirements,
        )

    def choose(
        self, document: Document, name: str | None
    ) -> tuple[OperationDefinitionNode, Measure]:
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
