"""
Variables and arguments: what can be known ahead is worked out ahead.

Anything out of the ordinary (a value that is missing or does not fit, a list, an input object) is
left to graphql-core, which reads it again and words the error.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import Enum
from typing import Any

from graphql import (
    ArgumentNode,
    FieldNode,
    GraphQLArgument,
    GraphQLError,
    GraphQLField,
    GraphQLInputType,
    GraphQLSchema,
    NameNode,
    Undefined,
    VariableDefinitionNode,
    VariableNode,
    coerce_input_value,
    get_named_type,
    get_nullable_type,
    is_leaf_type,
    is_non_null_type,
    is_required_argument,
)
from graphql.execution.get_variable_signature import (
    GraphQLVariableSignature,
    get_variable_signature,
)
from graphql.execution.values import (
    VariableValues,
    VariableValueSource,
    get_argument_values,
    get_variable_values,
)

# Scalars whose values of this very type are read as they are.
_EXACT: Mapping[str, type] = {"String": str, "ID": str, "Boolean": bool, "Int": int}
_INT = range(-(2**31), 2**31)  # of the specification; other integers are refused
_UNCHANGING = (str, int, float, Enum, datetime, type(None))  # may be shared between requests


@dataclass(frozen=True, slots=True)
class VariableCoercer:
    """
    The variables of an operation, all of them scalars or enums.

    Attributes:
        required: Those that must be given.
        exact: Those whose values of a type are read as they are, and the type.
        absent: What those come to that need not be, when none is given.
    """

    signatures: Mapping[str, GraphQLVariableSignature]
    exact: Mapping[str, type]
    required: frozenset[str]
    absent: VariableValues

    @classmethod
    def of(
        cls, schema: GraphQLSchema, definitions: Sequence[VariableDefinitionNode]
    ) -> "VariableCoercer | None":
        """Prepare them; None when there are others."""
        signatures: dict[str, GraphQLVariableSignature] = {}
        required: set[str] = set()
        absent = VariableValues({}, {})
        for definition in definitions:
            signature = get_variable_signature(schema, definition)
            if isinstance(signature, GraphQLError) or not _is_leaf(signature.type):
                return None
            signatures[signature.name] = signature
            values = get_variable_values(schema, [definition], {})
            if isinstance(values, list):
                required.add(signature.name)
            elif not _are_unchanging(values.coerced):
                return None
            else:
                absent.sources.update(values.sources)
                absent.coerced.update(values.coerced)
        exact = {
            name: _EXACT[type_.name]
            for name, one in signatures.items()
            if (type_ := get_named_type(one.type)).name in _EXACT
        }
        return cls(signatures, exact, frozenset(required), absent)

    def coerce(self, given: Mapping[str, Any]) -> VariableValues | None:
        """Coerce the values *given*; None when graphql-core must."""
        if not self.required <= given.keys():
            return None
        sources, coerced = dict(self.absent.sources), dict(self.absent.coerced)
        for name, raw in given.items():
            signature = self.signatures.get(name)
            if signature is None:
                continue  # nobody asked for it
            value, exact = raw, self.exact.get(name)
            if type(raw) is not exact or (exact is int and raw not in _INT):
                value = coerce_input_value(raw, signature.type)
                if value is Undefined:
                    return None
            sources[name] = VariableValueSource(signature, raw)
            coerced[name] = value
        return VariableValues(sources, coerced)


@dataclass(frozen=True, slots=True)
class FieldCall:
    """
    How a field is called: an asynchronous root field, or one with a resolver and no fields below.

    Attributes:
        fixed: The arguments that are literals, or absent, by name.
        variable: The others: name of the variable, of the argument, whether null is refused.
    """

    field: GraphQLField
    nodes: list[FieldNode]
    fixed: Mapping[str, Any]
    variable: tuple[tuple[str, str, bool], ...]

    @classmethod
    def of(cls, field: GraphQLField, nodes: list[FieldNode]) -> "FieldCall | None":
        """Prepare the call of *field* as *nodes* ask for it; None when graphql-core must."""
        given = {one.name.value: one for one in nodes[0].arguments or ()}
        fixed: dict[str, Any] = {}
        variable = []
        for name, argument in field.args.items():
            written = given.get(name)
            value = written.value if written else None
            out = argument.out_name or name
            if isinstance(value, VariableNode):
                variable.append((value.name.value, out, is_non_null_type(argument.type)))
                written = None
                if is_required_argument(argument):
                    continue
            try:
                fixed |= _constant(name, argument, written)
            except GraphQLError:
                return None
        if not _are_unchanging(fixed):
            return None
        return cls(field, nodes, fixed, tuple(variable))

    def arguments(self, values: VariableValues) -> dict[str, Any] | None:
        """Return the arguments of one call; None when graphql-core must read them."""
        arguments = dict(self.fixed)
        for name, out, required in self.variable:
            if name in values.coerced:
                value = arguments[out] = values.coerced[name]
                if value is None and required:
                    return None
            elif required and out not in arguments:
                return None
        return arguments


def _constant(name: str, argument: GraphQLArgument, written: ArgumentNode | None) -> dict[str, Any]:
    """Return the argument as written, or its default; empty when it has neither."""
    alone = GraphQLField(argument.type, args={name: argument})  # type: ignore[arg-type]  # unused
    node = FieldNode(name=NameNode(value=name), arguments=(written,) if written else ())
    return get_argument_values(alone, node)


def _are_unchanging(values: Mapping[str, Any]) -> bool:
    return all(isinstance(value, _UNCHANGING) for value in values.values())


def _is_leaf(type_: GraphQLInputType) -> bool:
    return is_leaf_type(get_nullable_type(type_))
