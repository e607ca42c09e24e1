"""The mask tables against the schema, the vocabulary and the records."""

from collections import Counter

import msgspec
import pytest
from graphql import is_object_type

from graph.coordinates import record_attribute
from graph.edge_table import EDGES
from graph.edges import edge_of
from graph.masking import masks
from graph.schema import build
from policy.grants import Grant, validate
from policy.vocabulary import EmailField
from providers.records import mail as mail_records


def every_coordinate():
    return [
        f"{name}.{field}"
        for name, type_ in build().type_map.items()
        if is_object_type(type_) and not name.startswith("__")
        for field in type_.fields
    ]


def test_every_field_is_in_exactly_one_table():
    listed = Counter(
        [
            *masks.MASKED,
            *masks.HIDDEN_WITH_ALL,
            *(
                f"{owner}.{field}"
                for owner, fields in masks.ALWAYS_VISIBLE.items()
                for field in fields
            ),
        ]
    )

    assert listed == Counter(every_coordinate())


def test_an_edge_is_hidden_with_the_field_that_it_starts_from():
    for edge in EDGES:
        fields = build().type_map[edge.owner].fields
        sources = {
            masks.MASKED.get(f"{edge.owner}.{name}")
            for name, field in fields.items()
            if edge_of(field) is None and record_attribute(field) in edge.arguments.values()
        }
        # These are left out one by one.
        sources -= {masks.MASKED.get(source) for source in edge.sources.values()}

        assert {masks.MASKED.get(edge.coordinate)} >= sources - {None}, edge.coordinate


def test_every_mask_word_hides_something():
    assert {str(word) for word in masks.MASKED.values() if isinstance(word, EmailField)} == {
        str(word) for word in EmailField
    }


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
    grant = Grant.read(validate({"visibleEmailFields": list(visible)}))

    assert masks.by_type(masks.hidden(grant), {"email"}) == hidden
    assert masks.by_type(masks.hidden(grant), {"calendar"}) == {}
