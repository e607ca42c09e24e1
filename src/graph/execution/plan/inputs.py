"""
Variables and arguments, coerced ahead of the request as far as possible.

Anything unusual (a missing or invalid value, a list, an input object) is left to graphql-core,
which coerces it again and describes the error.
"""

from collections.abc import Mapping, Sequence
from datetime import datetime
from enum import Enum
from typing import Any

import msgspec
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

# Scalar -> the Python type whose values need no coercion.
_EXACT: Mapping[str, type] = {"String": str, "ID": str, "Boolean": bool, "Int": int}
_INT = range(-(2**31), 2**31)  # of the specification; other integers are refused
_IMMUTABLE = (str, int, float, Enum, datetime, type(None))  # may be shared between requests


class VariableCoercer(msgspec.Struct, frozen=True):
    """
    Coerces the variables of an operation in which all variables are scalars or enums.

    Attributes:
        exact: Variable -> the Python type whose values need no coercion.
        required: The variables that must be present.
        absent: The values of the optional variables when none is present.
    """

    signatures: Mapping[str, GraphQLVariableSignature]
    exact: Mapping[str, type]
    required: frozenset[str]
    absent: VariableValues

    @classmethod
    def of(
        cls, schema: GraphQLSchema, definitions: Sequence[VariableDefinitionNode]
    ) -> "VariableCoercer | None":
        """Prepare the coercion; None when a variable is not a scalar or enum."""
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
            elif not _are_immutable(values.coerced):
                return None
            else:
                absent.sources.update(values.sources)
                absent.coerced.update(values.coerced)
        exact = {
            name: _EXACT[type_.name]
            for name, signature in signatures.items()
            if (type_ := get_named_type(signature.type)).name in _EXACT
        }
        return cls(signatures, exact, frozenset(required), absent)

    def coerce(self, given: Mapping[str, Any]) -> VariableValues | None:
        """Coerce the values *given*; None when graphql-core must do it."""
        if not self.required <= given.keys():
            return None
        sources, coerced = dict(self.absent.sources), dict(self.absent.coerced)
        for name, raw in given.items():
            signature = self.signatures.get(name)
            if signature is None:
                continue  # the operation has no such variable
            value, exact = raw, self.exact.get(name)
            if type(raw) is not exact or (exact is int and raw not in _INT):
                value = coerce_input_value(raw, signature.type)
                if value is Undefined:
                    return None
            sources[name], coerced[name] = VariableValueSource(signature, raw), value
        return VariableValues(sources, coerced)


class FieldCall(msgspec.Struct, frozen=True):
    """
    The prepared call of an asynchronous root field, or of a leaf field with a resolver.

    Attributes:
        fixed: The arguments that are literals or absent, by name.
        variable: Variable -> the arguments that have its value.
        required: The arguments, variables or not, that are refused when null or absent.
    """

    field: GraphQLField
    nodes: list[FieldNode]
    fixed: Mapping[str, Any]
    variable: Mapping[str, Sequence[str]]
    required: frozenset[str]

    @classmethod
    def of(cls, field: GraphQLField, nodes: list[FieldNode]) -> "FieldCall | None":
        """Prepare the call of *field* in *nodes*; None when graphql-core must do it."""
        arguments = {argument.name.value: argument for argument in nodes[0].arguments or ()}
        fixed: dict[str, Any] = {}
        variable: dict[str, list[str]] = {}
        required = set()
        for name, argument in field.args.items():
            written = arguments.get(name)
            value = written.value if written else None
            out = argument.out_name or name
            if isinstance(value, VariableNode):
                variable.setdefault(value.name.value, []).append(out)
                if is_non_null_type(argument.type):
                    required.add(out)
                written = None
                if is_required_argument(argument):
                    continue
            try:
                fixed |= _constant(name, argument, written)
            except GraphQLError:
                return None
        if not _are_immutable(fixed):
            return None
        return cls(field, nodes, fixed, variable, frozenset(required))

    def arguments(self, values: VariableValues) -> dict[str, Any] | None:
        """Return the arguments of one call; None when graphql-core must coerce them."""
        arguments = dict(self.fixed)
        for name, value in values.coerced.items():  # the variables that have a value: few
            for out in self.variable.get(name, ()):
                arguments[out] = value
        for name in self.required:
            if arguments.get(name) is None:
                return None
        return arguments


def _constant(name: str, argument: GraphQLArgument, written: ArgumentNode | None) -> dict[str, Any]:
    """Return the argument's literal value or its default; empty when it has neither."""
    field = GraphQLField(argument.type, args={name: argument})  # type: ignore[arg-type]  # unused
    node = FieldNode(name=NameNode(value=name), arguments=(written,) if written else ())
    return get_argument_values(field, node)


def _are_immutable(values: Mapping[str, Any]) -> bool:
    return all(isinstance(value, _IMMUTABLE) for value in values.values())


def _is_leaf(type_: GraphQLInputType) -> bool:
    return is_leaf_type(get_nullable_type(type_))
