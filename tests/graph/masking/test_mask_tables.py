"""The mask tables against the schema, the vocabulary and the records."""

from typing import get_args

import msgspec
import pytest
import strawberry
from graphql import build_schema

from graph.coordinates import record_attribute
from graph.edge_table import EDGES
from graph.edges import edge_of
from graph.masking import masks
from graph.schema import build
from policy.grants import Grant, validate
from policy.vocabulary import EmailField, Field
from providers.records import mail as mail_records


def test_the_masks_of_an_unbuilt_schema_are_unknown(monkeypatch):
    masks._hidden.cache_clear()
    monkeypatch.setattr(masks, "_hiding_words", {})

    with pytest.raises(RuntimeError, match="not built"):
        masks.hidden(Grant.read(validate({})))


def test_a_field_without_a_declaration_is_refused():
    built = build_schema("type Query { name: String }")
    field = built.query_type.fields["name"]
    field.extensions["strawberry-definition"] = strawberry.field(description="The name.")

    with pytest.raises(TypeError, match=r"Query\.name must be declared"):
        masks.table(built)


def test_an_edge_is_hidden_with_the_field_that_it_starts_from():
    for edge in EDGES:
        fields = build().type_map[edge.owner].fields
        words = masks.table(build())
        sources = {
            words.get(f"{edge.owner}.{name}")
            for name, field in fields.items()
            if edge_of(field) is None and record_attribute(field) in edge.arguments.values()
        }
        # These are left out one by one.
        sources -= {words.get(source) for source in edge.sources.values()}

        assert {words.get(edge.coordinate)} >= sources - {None}, edge.coordinate


@pytest.mark.parametrize("kind", get_args(Field))
def test_every_mask_word_hides_something(kind):
    words = [word for hiding_words in masks.table(build()).values() for word in hiding_words]

    assert {word for word in words if isinstance(word, kind)} == set(kind)


def test_every_field_of_an_email_shows_the_record_attribute_of_its_name():
    fields = build().type_map["Email"].fields
    shown = {record_attribute(field) for field in fields.values()} - {None}

    assert shown == {field.name for field in msgspec.structs.fields(mail_records.Email)}


@pytest.mark.parametrize(
    ("visible", "hidden"),
    [
        pytest.param(["all"], {}, id="everything visible"),
        pytest.param(
            [word for word in EmailField if word is not EmailField.BODY],
            {"Email": ["body", "bodyType", "text", "links"]},
            id="body hidden",
        ),
        pytest.param(
            [word for word in EmailField if word is not EmailField.SUBJECT],
            {"Email": ["subject"], "Thread": ["subject"]},
            id="subject hidden on messages and threads",
        ),
        pytest.param(
            [word for word in EmailField if word not in {"from", "to"}],
            {"Email": ["from", "to"]},
            id="participants stay while cc is visible",
        ),
        pytest.param(
            [word for word in EmailField if word not in {"from", "to", "cc"}],
            {"Email": ["from", "to", "cc"], "Thread": ["participants"]},
            id="participants go with the last of from, to and cc",
        ),
    ],
)
def test_the_coordinates_a_token_may_not_see(visible, hidden):
    build()
    grant = Grant.read(validate({"visibleEmailFields": list(visible)}))

    assert masks.by_type(masks.hidden(grant), {"email"}) == hidden
    assert masks.by_type(masks.hidden(grant), {"calendar"}) == {}
