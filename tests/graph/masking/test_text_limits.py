"""Every string argument and every string member has a row with its longest text."""

import graphql

from graph.masking import text_limits
from graph.schema import build

TEXTS = ("String", "ID")


def fields():
    schema = build()
    return {**schema.query_type.fields, **schema.mutation_type.fields}


def test_every_string_argument_has_a_row_and_no_row_is_left_over():
    named, used = set(), set()
    for root, field in fields().items():
        for name, argument in field.args.items():
            if graphql.get_named_type(argument.type).name in TEXTS:
                own = f"{root}.{name}"
                named.add(own)
                used.add(own if own in text_limits.ARGUMENTS else name)

    rows = set(text_limits.ARGUMENTS)
    assert {own for own in named if not {own, own.partition(".")[2]} & rows} == set()
    assert used == set(text_limits.ARGUMENTS)


def test_no_argument_is_a_list_of_texts():
    """Lists of arguments are separated by commas, and the row has the length of a part."""
    assert [
        f"{root}.{name}"
        for root, field in fields().items()
        for name, argument in field.args.items()
        if graphql.is_list_type(graphql.get_nullable_type(argument.type))
    ] == []


def test_every_string_member_of_an_input_has_a_row():
    inputs = filter(graphql.is_input_object_type, build().type_map.values())

    assert {
        f"{type_.name}.{name}"
        for type_ in inputs
        for name, field in type_.fields.items()
        if graphql.get_named_type(field.type).name in TEXTS
    } == set(text_limits.MEMBERS)
