"""Faults that the plan compiler could have, planted one at a time."""

from collections.abc import Callable, Iterator, Mapping
from types import MappingProxyType
from typing import Any

import msgspec
import pytest
from graphql import Undefined, coerce_input_value
from graphql.execution.collect_fields import collect_subfields
from graphql.pyutils import Path, gather_with_cancel
from msgspec.structs import replace

from graph import coordinates
from graph.execution.plan import (
    executor,
    inputs,
    planning,
    record_checks,
    selections,
    shapes,
    whole_records,
)
from graph.execution.plan.executor import PlannedExecutor
from graph.execution.plan.inputs import FieldCall, VariableCoercer
from graph.execution.plan.program import Program
from graph.execution.plan.selections import SelectionSplitter
from graph.execution.plan.shapes import RecordReader

Plant = Callable[[pytest.MonkeyPatch], None]


def null_check_removed(patch):
    original = shapes.wrapped
    patch.setattr(selections, "wrapped", lambda type_, inner: original(type_, inner) | None)


def nulls_in_lists_accepted(patch):
    def bare(type_, inner):
        if shapes.is_list_type(type_):
            return list[shapes.wrapped(type_.of_type, inner) | None]
        return inner

    patch.setattr(shapes, "_bare", bare)


def mask_ignored(patch):
    original = SelectionSplitter._member

    def member(self, owner, key, details, null):
        return original(replace(self, hidden=frozenset()), owner, key, details, null)

    patch.setattr(SelectionSplitter, "_member", member)


def mask_ignored_by_wanted_attributes(patch):
    original = planning.attributes
    patch.setattr(planning, "attributes", lambda *args: original(*args[:-1], frozenset()))


def alias_lost(patch):
    original = shapes.shape

    def shape(name, members):
        plain = [replace(member, key=member.key.removesuffix("_a")) for member in members]
        is_unique = len({member.key for member in plain}) == len(plain)
        return original(name, plain if is_unique else members)

    patch.setattr(selections, "shape", shape)


def order_changed(patch):
    original = shapes.shape
    patch.setattr(selections, "shape", lambda name, members: original(name, members[::-1]))


def path_wrong(patch):
    def path(prev, key, typename):
        return Path(prev, key.split("_")[0], typename)

    patch.setattr(executor, "Path", path)


def skip_ignored(patch):
    patch.setattr(Program, "conditions", ())


def resolver_taken_for_an_attribute(patch):
    def attribute(field):
        return coordinates.strawberry_field(field).python_name

    patch.setattr(selections, "plain_attribute", attribute)


def int_range_unchecked(patch):
    patch.setattr(selections, "_SCALARS", selections._SCALARS | {"Int": int})


def large_numbers_rounded(patch):
    patch.setattr(selections, "_SCALARS", selections._SCALARS | {"Float": float})


def enum_unchecked(patch):
    original = selections._exact_type

    def unchecked(type_):
        return str if hasattr(type_, "values") else original(type_)

    patch.setattr(selections, "_exact_type", unchecked)


def text_unchecked(patch):
    patch.setattr(selections, "_SCALARS", selections._SCALARS | {"String": Any})


def merged_fields_lost(patch):
    def collect(*arguments):
        *before, details = arguments
        return collect_subfields(*before, details[:1])

    patch.setattr(planning, "collect_subfields", collect)


def error_location_lost(patch):
    original = PlannedExecutor.handle_field_error

    def handle(self, error, type_, details, path):
        return original(self, error, type_, details[:1], path)

    patch.setattr(PlannedExecutor, "handle_field_error", handle)


def time_zones_unchecked(patch):
    patch.setattr(shapes, "require_utc", lambda values, places: None)


def times_without_offset_accepted(patch):
    class NoneOrZero:
        def __eq__(self, other):
            return not other

        __hash__ = None

    patch.setattr(record_checks, "_AT_ZERO", NoneOrZero())


def texts_taken_for_times(patch):
    patch.setattr(shapes, "_NOT_PARSED", ())
    patch.setattr(shapes, "require_utc", lambda values, places: None)


def dicts_taken_for_records(patch):
    def shape(name, fields, keys):
        return msgspec.defstruct(
            name,
            [(f, t) if d is msgspec.NODEFAULT else (f, t, d) for f, t, d in fields],
            rename=dict(keys),
            kw_only=True,
        )

    patch.setattr(shapes, "_shape", shape)


def objects_uncounted(patch):
    patch.setattr(record_checks, "count_objects", lambda values, places: 0)


def inner_lists_uncounted(patch):
    original = selections.depth
    patch.setattr(selections, "depth", lambda type_: min(original(type_), 1))


def budget_spent_twice(patch):
    original = RecordReader.read

    def read(self, value, context):
        before = context.budget
        try:
            return original(self, value, context)
        except shapes.PlanMismatch:
            if before is not None:
                context.budget -= 1
            raise

    patch.setattr(RecordReader, "read", read)


def unexpected_value_dropped(patch):
    def read(self, value, context):
        try:
            return original(self, value, context)
        except shapes.PlanMismatch:
            return None

    original = RecordReader.read
    patch.setattr(RecordReader, "read", read)


def iterators_used_up(patch):
    original = RecordReader.read

    def read(self, value, context):
        return original(self, list(value) if isinstance(value, Iterator) else value, context)

    patch.setattr(RecordReader, "read", read)


def passed_on_unasked(patch):
    def mark(name, members):
        kind = whole_records.RECORDS.get(name)
        return kind and whole_records._mark(kind)

    patch.setattr(whole_records, "mark", mark)


def argument_lost(patch):
    original = FieldCall.arguments

    def arguments(self, values):
        complete = original(self, values)
        return complete and {name: value for name, value in complete.items() if name != "number"}

    patch.setattr(FieldCall, "arguments", arguments)


def variable_in_a_literal_lost(patch):
    patch.setattr(inputs, "_are_immutable", lambda values: True)


def merged_nodes_dropped(patch):
    original = FieldCall.of
    patch.setattr(FieldCall, "of", lambda field, nodes: original(field, nodes[:1]))


def unfit_variable_accepted(patch):
    def coerce(value, type_):
        coerced = coerce_input_value(value, type_)
        return None if coerced is Undefined else coerced

    patch.setattr(inputs, "coerce_input_value", coerce)


def required_variable_forgotten(patch):
    original = VariableCoercer.coerce
    patch.setattr(
        VariableCoercer,
        "coerce",
        lambda self, values: original(replace(self, required=frozenset()), values),
    )


def awaited_fields_left_out(patch):
    async def fill(shape, pending):
        await gather_with_cancel(*pending.values())
        return shape

    patch.setattr(executor, "_fill", fill)


FAULTS: Mapping[str, Plant] = MappingProxyType(
    {
        "null check removed": null_check_removed,
        "nulls in lists accepted": nulls_in_lists_accepted,
        "mask ignored": mask_ignored,
        "mask ignored by wanted attributes": mask_ignored_by_wanted_attributes,
        "alias lost": alias_lost,
        "order changed": order_changed,
        "path wrong": path_wrong,
        "skip ignored": skip_ignored,
        "resolver taken for an attribute": resolver_taken_for_an_attribute,
        "int range unchecked": int_range_unchecked,
        "large numbers rounded": large_numbers_rounded,
        "enum unchecked": enum_unchecked,
        "text unchecked": text_unchecked,
        "merged fields lost": merged_fields_lost,
        "error location lost": error_location_lost,
        "time zones unchecked": time_zones_unchecked,
        "times without offset accepted": times_without_offset_accepted,
        "texts taken for times": texts_taken_for_times,
        "dicts taken for records": dicts_taken_for_records,
        "objects uncounted": objects_uncounted,
        "inner lists uncounted": inner_lists_uncounted,
        "budget spent twice": budget_spent_twice,
        "unexpected value dropped": unexpected_value_dropped,
        "iterators used up": iterators_used_up,
        "passed on unasked": passed_on_unasked,
        "argument lost": argument_lost,
        "variable in a literal lost": variable_in_a_literal_lost,
        "merged nodes dropped": merged_nodes_dropped,
        "unfit variable accepted": unfit_variable_accepted,
        "required variable forgotten": required_variable_forgotten,
        "awaited fields left out": awaited_fields_left_out,
    }
)
