"""The committed `schema.graphql`, and what the schema promises about itself."""

import pytest
from graphql import (
    build_schema,
    find_breaking_changes,
    is_input_object_type,
    is_non_null_type,
    is_object_type,
)
from paths import REPOSITORY

from graph import schema
from graph.masking import masks
from graph.masking.guards import requirements
from policy.vocabulary import EmailOp, Surface

COMMITTED = REPOSITORY / "schema.graphql"


def test_the_committed_schema_is_the_one_in_the_code():
    assert COMMITTED.read_text() == schema.sdl()


def test_the_schema_has_no_breaking_change_against_the_committed_one():
    assert find_breaking_changes(build_schema(COMMITTED.read_text()), schema.build()) == []


def own_types():
    return [type_ for name, type_ in schema.build().type_map.items() if not name.startswith("__")]


def test_everything_is_described():
    missing = [
        f"{type_.name}.{name}"
        for type_ in own_types()
        if is_object_type(type_) or is_input_object_type(type_)
        for name, field in type_.fields.items()
        if not field.description
    ]
    missing += [
        f"{type_.name}.{name}({argument}:)"
        for type_ in own_types()
        if is_object_type(type_)
        for name, field in type_.fields.items()
        for argument, definition in field.args.items()
        if not definition.description
    ]
    missing += [type_.name for type_ in own_types() if not type_.description]

    assert missing == []


def test_every_maskable_field_is_nullable():
    fixed = [
        coordinate
        for coordinate in (*masks.MASKED, *masks.HIDDEN_WITH_ALL)
        if is_non_null_type(masks.field_at(schema.build(), coordinate).type)
    ]

    assert fixed == []


def test_every_root_field_is_nullable():
    """A refused field is null, and its siblings answer."""
    built = schema.build()
    fixed = [
        name
        for root in (built.query_type, built.mutation_type)
        for name, field in root.fields.items()
        if is_non_null_type(field.type)
    ]

    assert fixed == []


@pytest.mark.parametrize(
    ("field", "operations"),
    [
        ("emails", [EmailOp.SEARCH_EMAILS]),
        ("email", [EmailOp.VIEW_EMAIL]),
        ("emailThread", [EmailOp.VIEW_THREAD]),
        ("sendEmail", [EmailOp.SEND_EMAIL]),
        ("replyToEmail", [EmailOp.REPLY_TO_EMAIL]),
        ("forwardEmail", [EmailOp.FORWARD_EMAIL]),
        ("deleteEmail", [EmailOp.DELETE_EMAIL]),
        ("modifyEmail", [EmailOp.MARK_AS_READ, EmailOp.APPLY_LABELS]),
        (
            "uploadEmailAttachment",
            [EmailOp.SEND_EMAIL, EmailOp.REPLY_TO_EMAIL, EmailOp.FORWARD_EMAIL],
        ),
    ],
)
def test_the_sdl_has_the_requirement_of_each_field(field, operations):
    requirement = requirements(schema.build())[field]

    assert requirement.surface is Surface.EMAIL
    assert list(requirement.operations) == operations


def test_only_these_fields_are_open_to_every_token():
    open_fields = [
        name
        for name, requirement in requirements(schema.build()).items()
        if not requirement.surface
    ]

    assert open_fields == ["accessToken"]


def test_every_guarded_field_prints_its_requirement():
    text = schema.sdl()
    printed = [line for line in text.splitlines() if " @requires(" in line and ": " in line]
    printed = [line for line in printed if not line.startswith("directive")]

    assert len(printed) == sum(
        requirement.surface is not None for requirement in requirements(schema.build()).values()
    )
