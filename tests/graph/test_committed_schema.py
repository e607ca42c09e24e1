"""The committed `schema.graphql`, and what the schema promises about itself."""

import pytest
from graphql import (
    build_schema,
    find_breaking_changes,
    is_input_object_type,
    is_non_null_type,
    is_object_type,
    is_scalar_type,
    is_specified_scalar_type,
)
from paths import REPOSITORY

from graph import schema
from graph.documents.operations import Graph
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
        for coordinate in masks.table(schema.build())
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
        (
            "deleteUploadedAttachment",
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
        if not any((requirement.surface, requirement.reads, requirement.creates_children))
        and not requirement.subscribes
    ]

    own = ["accessToken", "childTokens", "pendingWrite", "revokeChildToken"]
    assert open_fields == ["person", "lastContact", "links", "related", *own]


def test_child_tokens_are_created_by_tokens_that_may():
    needs = requirements(schema.build())

    assert [name for name, need in needs.items() if need.creates_children] == ["createChildToken"]


def test_every_guarded_field_prints_its_requirement():
    text = schema.sdl()
    printed = [line for line in text.splitlines() if " @requires(" in line and ": " in line]
    printed = [line for line in printed if not line.startswith("directive")]

    needs = Graph(schema.build()).requirements.values()  # of root fields and edges
    guarded = [
        need
        for need in needs
        if need.surface or need.reads or need.creates_children or need.subscribes
    ]
    assert len(printed) == len(guarded)


def test_every_scalar_of_ours_has_a_description_and_a_specification():
    scalars = {
        name: kind
        for name, kind in schema.build().type_map.items()
        if is_scalar_type(kind) and not is_specified_scalar_type(kind)
    }

    assert {name: kind.specified_by_url for name, kind in scalars.items()} == {
        "DateTime": "https://www.rfc-editor.org/rfc/rfc3339#section-5.6",
        "FileContent": "https://www.rfc-editor.org/rfc/rfc4648#section-4",
        "JSON": "https://www.rfc-editor.org/rfc/rfc8259",
        "Long": "https://www.rfc-editor.org/rfc/rfc8259#section-6",
    }
    assert [name for name, kind in scalars.items() if not kind.description] == []
