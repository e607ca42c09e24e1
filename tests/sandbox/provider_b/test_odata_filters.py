"""`$filter`: what matches, and what is refused, without a wire."""

import pytest

from sandbox.provider_b.odata.filters import parse
from sandbox.provider_b.odata.schema import Kind, QueryError, Shape

PERSON = Shape(name="person", members={"name": Kind.STRING, "age": Kind.NUMBER})
THING = Shape(
    name="thing",
    members={
        "name": Kind.STRING,
        "key": Kind.STRING,
        "size": Kind.NUMBER,
        "isOpen": Kind.BOOLEAN,
        "made": Kind.INSTANT,
        "due": Kind.DATE,
        "owner": PERSON,
        "tags": Kind.STRING,
        "people": PERSON,
        "fields": Shape(name="fields", members={}, open=True),
    },
    collections=frozenset(("tags", "people")),
    exact=frozenset(("key",)),
)
BOX = {
    "name": "It's a Box",
    "key": "aB",
    "size": 12,
    "isOpen": True,
    "made": "2026-01-05T09:00:00Z",
    "due": "2026-02-01",
    "owner": {"name": "Ann", "age": 30},
    "tags": ["Red", "Home"],
    "people": [{"name": "Bob", "age": 5}, {"name": "Zoë", "age": 50}],
    "fields": {"Price": 9.5, "Colour": "blue"},
}


@pytest.mark.parametrize(
    "text",
    [
        "name eq 'it''s a box'",
        "name ne 'x'",
        "key eq 'aB'",
        "size eq 12",
        "size gt 11.5 and size lt 13",
        "size ge 12 and size le 12",
        "size in (1,12)",
        "name in ('x', 'it''s a box')",
        "isOpen",
        "isOpen eq true",
        "not (isOpen eq false)",
        "not startswith(name,'x')",
        "made eq 2026-01-05T10:00:00+01:00",
        "made lt 2026-01-05T09:00:00.001Z",
        "made gt 2026-01-04",
        "due eq 2026-02-01",
        "due lt 2026-02-01T00:00:01Z",
        "owner/name eq 'ann'",
        "owner/age ge 30",
        "startswith(name,'IT')",
        "endswith(name,'box')",
        "contains(name,'s a')",
        "contains(owner/name, 'nn')",
        "tolower(name) eq 'it''s a box'",
        "length(key) eq 2",
        "indexof(name,'box') eq 7",
        "tags/any(t:t eq 'red')",
        "tags/all(t:t ne 'blue')",
        "tags/any()",
        "people/any(p:p/name eq 'zoë' and p/age gt 40)",
        "people/any(p:p/age gt size)",
        "people/any(p:startswith(p/name,'b'))",
        "not people/any(p:p/name eq 'Ann')",
        "fields/Price lt 10",
        "fields/Colour eq 'BLUE'",
        "fields/Missing eq null",
        "fields/Missing ne 'x'",
        "size eq 1 or size eq 2 or isOpen eq true",
        "size eq 1 and size eq 2 or isOpen eq true",
        "  ( size eq 12 )  ",
    ],
)
def test_a_filter_matches(text):
    assert parse(text, THING).matches(BOX)


@pytest.mark.parametrize(
    "text",
    [
        "name eq 'box'",
        "key eq 'ab'",
        "size lt 12",
        "isOpen eq false",
        "made gt 2026-01-05T09:00:00Z",
        "owner/name eq null",
        "tags/any(t:t eq 'blue')",
        "tags/all(t:t eq 'red')",
        "people/any(p:p/name eq 'Bob' and p/age gt 40)",
        "fields/Missing gt 1",
        "fields/Colour gt 1",
        "isOpen eq false or size eq 1 and isOpen eq true",
        "contains(name,'it''s') and size eq 0",
    ],
)
def test_a_filter_does_not_match(text):
    assert not parse(text, THING).matches(BOX)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("nme eq 'x'", "Could not find a property named 'nme' on type 'thing'."),
        ("owner/nme eq 'x'", "Could not find a property named 'nme' on type 'person'."),
        ("name/x eq 'x'", "Could not find a property named 'x' on type 'Edm.String'."),
        ("name eq", "Invalid filter clause: Syntax error at position 7 in 'name eq'."),
        ("name eq 'x", "Invalid filter clause: Syntax error at position 7 in 'name eq 'x'."),
        ("name eq 'x' 'y'", "Invalid filter clause: Syntax error at position 12"),
        ("(name eq 'x'", "Invalid filter clause: Syntax error at position 12"),
        ("name", "The $filter expression must evaluate to a single boolean value."),
        ("made ge '2026-01-01'", "Found operand types 'Edm.DateTimeOffset' and 'Edm.String'"),
        ("isOpen eq 'true'", "Found operand types 'Edm.Boolean' and 'Edm.String'"),
        ("size eq 'x'", "Found operand types 'Edm.Int32' and 'Edm.String'"),
        ("owner eq 'x'", "Found operand types 'person' and 'Edm.String'"),
        ("tags eq 'x'", "Found operand types 'Collection(Edm.String)' and 'Edm.String'"),
        ("name and isOpen", "Found operand type 'Edm.String' for operator kind 'And'."),
        ("not name", "Found operand type 'Edm.String' for operator kind 'Not'."),
        ("people/name eq 'x'", "The parent value for a property access is not a single value."),
        ("name/any(n:n eq 'x')", "Any/All may only be used following a collection: 'name'."),
        ("brew(name)", "An unknown function with name 'brew' was found."),
        ("contains(name)", "No function signature for the function with name 'contains'"),
        ("contains(size,'1')", "No function signature for the function with name 'contains'"),
        ("made eq 2026-02-30T00:00:00Z", "'2026-02-30T00:00:00Z' is not a valid"),
        ("due eq 2026-02-30", "'2026-02-30' is not a valid Edm.Date."),
        ("(" * 50 + "isOpen" + ")" * 50, "The node count limit"),
        ("not " * 50 + "isOpen", "The node count limit"),
    ],
)
def test_an_invalid_filter_is_rejected(text, message):
    with pytest.raises(QueryError) as refused:
        parse(text, THING)

    assert message in refused.value.message


def test_it_names_the_properties_in_their_order_and_counts_the_clauses():
    found = parse("made ge 2026-01-01 and tags/any(t:t eq 'x') and made lt 2026-02-01", THING)

    assert found.properties == ("made", "tags")
    assert found.clauses == 3
