"""Declarations of output types, and what is refused when their module is imported."""

from typing import Annotated

import pytest
import strawberry

from graph.output_types import INTERNAL, graphql_type, masked, output, output_of, visible
from policy.vocabulary import EmailField
from providers.records.base import Record


class Note(Record, frozen=True, kw_only=True):
    id: str
    subject: str | None = None
    replies: "tuple[Note, ...] | None" = None

    @property
    def size(self) -> int:
        return len(self.id)


def fields_of(type_):
    return {field.name: field for field in type_.__strawberry_definition__.fields}


def test_a_record_without_an_output_type_is_refused():
    class Unknown(Record, frozen=True):
        id: str

    with pytest.raises(TypeError, match=r"Unknown has no output type"):
        graphql_type(tuple[Unknown, ...])


@pytest.mark.parametrize("declared", [str, Annotated[str, "a text"]])
def test_a_member_of_a_result_that_declares_nothing_is_refused(declared):
    class Result(Record, frozen=True):
        id: Annotated[str, visible("The id.")]
        secret: declared

    with pytest.raises(TypeError, match=r"Result\.secret must be declared"):
        output(Result)


def test_a_member_of_a_record_that_declares_nothing_is_refused():
    class Annotations:
        id = visible("The id.")
        subject: str

    class Values:
        subject = "The subject."

    class Fields:
        subject = strawberry.field(description="The subject.")

    for declaration in (Annotations, Values, Fields):
        with pytest.raises(TypeError, match=rf"{declaration.__name__}\.subject must be declared"):
            output_of(Note)(declaration)


@pytest.mark.parametrize("declare", [visible, lambda text: masked(EmailField.BODY, text)])
def test_a_member_without_a_description_is_refused(declare):
    class Undescribed:
        id = declare("")

    with pytest.raises(TypeError, match=r"Undescribed\.id must be declared"):
        output_of(Note)(Undescribed)


def test_a_member_that_the_record_lacks_is_refused():
    class Wrong:
        sender = visible("The sender.")

    with pytest.raises(TypeError, match=r"Wrong\.sender: the record has no such attribute"):
        output_of(Note)(Wrong)


def test_an_internal_attribute_is_not_in_the_schema():
    @output
    class Pair(Record, frozen=True):
        """Two ids."""

        id: Annotated[str, visible("The id.")]
        key: Annotated[str, INTERNAL]

    assert list(fields_of(graphql_type(Pair))) == ["id"]
