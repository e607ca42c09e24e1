import operator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from providers.connectors.collab.lists import item_filters, odata_filters
from providers.connectors.collab.lists.item_filters import And, Comparison, Not, Or
from providers.ports.collab import InvalidFilter
from providers.records.collab import Column

COLUMNS = item_filters.filter_columns(
    (
        Column(name="Title", column_type="text"),
        Column(name="Length", column_type="number", indexed=True),
        Column(name="Paid", column_type="boolean"),
        Column(name="Until", column_type="dateTime"),
        Column(name="State", column_type="choice", indexed=True),
        Column(name="Tags", column_type="multiChoice"),
        Column(name="Owner", column_type="person"),
        Column(name="ID", column_type="number"),
        Column(name="_x00c4_rger", column_type="text"),
    )
)
ROW = {
    "id": "7",
    "Title": "Berth O'Neil",
    "Length": 12.5,
    "Paid": False,
    "Until": "2026-03-01T12:00:00Z",
    "State": "Let",
    "OwnerLookupId": "6",
    "_x00c4_rger": "viel",
}


def holds(text, row=ROW):
    return item_filters.matches(item_filters.parse(text, COLUMNS), row, COLUMNS)


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("Title eq 'Berth O''Neil'", id="a quote in a text"),
        pytest.param("fields/Title eq 'berth o''neil'", id="any case, and the long name"),
        pytest.param("Length gt 12 and Length le 12.5", id="numbers"),
        pytest.param("Length ge -1e3", id="a number with an exponent"),
        pytest.param("Paid eq false", id="a boolean"),
        pytest.param("Paid ne 1", id="a boolean as a number"),
        pytest.param("Until ge '2026-03-01'", id="a day"),
        pytest.param("Until eq '2026-03-01T13:00:00+01:00'", id="another zone"),
        pytest.param("startswith(Title,'bert')", id="a beginning"),
        pytest.param("contains( Title , 'o''n' )", id="a part"),
        pytest.param("endswith(Title,'NEIL')", id="an end"),
        pytest.param("not State eq 'Free'", id="not binds tighter than and"),
        pytest.param("not (State eq 'Free' or Paid eq true)", id="not of a group"),
        pytest.param("Paid eq true and State eq 'x' or Length eq 12.5", id="and before or"),
        pytest.param("Tags eq null", id="a missing value is null"),
        pytest.param("State ne null", id="a value is not null"),
        pytest.param("OwnerLookupId eq 6", id="whom a lookup points to"),
        pytest.param("Owner ne null", id="whether a lookup points anywhere"),
        pytest.param("id eq 7 and ID lt 8", id="the item's own number"),
        pytest.param("_x00c4_rger eq 'VIEL'", id="an escaped name"),
    ],
)
def test_a_filter_admits_the_expected_rows(text):
    assert holds(text) is True


@pytest.mark.parametrize("op", ["eq", "ne", "gt", "ge", "lt", "le"])
@pytest.mark.parametrize(
    ("column", "literal"),
    [("Title", "'x'"), ("Length", "1"), ("Until", "'2026-01-01'"), ("State", "'Let'")],
)
def test_a_comparison_with_a_missing_value_is_false(column, op, literal):
    assert holds(f"{column} {op} {literal}", {"id": "1"}) is False
    assert holds(f"{column} {op} {literal}", {"id": "1", column: None}) is False
    assert holds(f"not {column} {op} {literal}", {"id": "1"}) is True


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("", id="nothing"),
        pytest.param("   ", id="blanks"),
        pytest.param("Title", id="a column alone"),
        pytest.param("Title eq", id="no literal"),
        pytest.param("Title eq Length", id="two columns"),
        pytest.param("Title = 'x'", id="another operator"),
        pytest.param("Title EQ 'x'", id="an operator in capitals"),
        pytest.param("Title eq 'x", id="an open quote"),
        pytest.param('Title eq "x"', id="double quotes"),
        pytest.param("(Title eq 'x'", id="an open parenthesis"),
        pytest.param("Title eq 'x')", id="a parenthesis too many"),
        pytest.param("Title eq 'x' Length eq 1", id="no word between"),
        pytest.param("Nope eq 1", id="an unknown column"),
        pytest.param("title eq 'x'", id="a column in another case"),
        pytest.param("fields/fields/Title eq 'x'", id="too long a name"),
        pytest.param("Title eq 5", id="a number for a text"),
        pytest.param("Length eq '5'", id="a text for a number"),
        pytest.param("Length eq 1_000", id="a number with a line"),
        pytest.param("Length eq ٣", id="a digit of another script"),
        pytest.param("Paid gt false", id="booleans in order"),
        pytest.param("Paid eq 2", id="a number that is no boolean"),
        pytest.param("Until eq 'soon'", id="no time"),
        pytest.param("Until eq '0001-01-01T00:00:00+14:00'", id="a time before all times"),
        pytest.param("Title gt null", id="order by null"),
        pytest.param("Tags eq 'x'", id="several values"),
        pytest.param("startswith(Length,'1')", id="a beginning of a number"),
        pytest.param("startswith('x',Title)", id="arguments the wrong way round"),
        pytest.param("contains(Title,'a','b')", id="three arguments"),
        pytest.param("substringof('x',Title)", id="another function"),
        pytest.param("Title eq 'x' or 1 eq 1", id="a literal first"),
        pytest.param("not not Title eq 'x'", id="not twice"),
        pytest.param("(" * 21 + "Length eq 1" + ")" * 21, id="too deep"),
        pytest.param(" and ".join(["Length eq 1"] * 21), id="too many comparisons"),
        pytest.param("Title eq '" + "x" * 2000 + "'", id="too long"),
    ],
)
def test_malformed_filters_are_invalid(text):
    with pytest.raises(InvalidFilter):
        item_filters.parse(text, COLUMNS)


@pytest.mark.parametrize(
    ("text", "upstream_text"),
    [
        ("State eq 'Let'", "fields/State eq 'Let'"),
        ("Title eq 'O''Neil'", "fields/Title eq 'O''Neil'"),
        ("Paid eq true and Length gt 3", "fields/Length gt 3 and fields/Paid eq true"),
        ("Until lt '2026-03-01'", "fields/Until lt '2026-03-01T00:00:00Z'"),
        ("Until gt '2026-03-01T00:00:00.5Z'", "fields/Until ge '2026-03-01T00:00:00Z'"),
        ("Until lt '2026-03-01T00:00:00.5Z'", "fields/Until le '2026-03-01T00:00:01Z'"),
        (
            "contains(Title,'x') and (State eq 'a' or State eq 'b') and Length le 2.5",
            "((fields/State eq 'a') or (fields/State eq 'b')) and fields/Length le 2.5",
        ),
        ("startswith(Title,'a')", "startswith(fields/Title,'a')"),
    ],
)
def test_conditions_that_upstream_evaluates(text, upstream_text):
    assert (
        odata_filters.to_upstream(item_filters.parse(text, COLUMNS), COLUMNS).text == upstream_text
    )


@pytest.mark.parametrize(
    "text",
    [
        "Title eq null",
        "not State eq 'a'",
        "contains(Title,'a')",
        "Title gt 'a'",
        "State ne 'a'",
        "State eq 'a' or contains(Title,'x')",
        "id eq 4",
        "OwnerLookupId eq 6",
        "Until eq '2026-03-01T00:00:00.5Z'",
    ],
)
def test_conditions_that_upstream_evaluates_differently_are_left_out(text):
    assert odata_filters.to_upstream(item_filters.parse(text, COLUMNS), COLUMNS) is None


def test_an_upstream_filter_tells_whether_all_columns_are_indexed():
    upstream_filter = odata_filters.to_upstream(
        item_filters.parse("Paid eq true and Length gt 3", COLUMNS), COLUMNS
    )

    assert upstream_filter.indexed is False


TEXTS = st.sampled_from(["", "a", "B", "ab", "o'n"])
COMPARISONS = st.one_of(
    st.builds(
        lambda op, text: Comparison("State", op, text),
        st.sampled_from(["eq", "ne", "gt", "startswith", "contains", "endswith"]),
        TEXTS,
    ),
    st.builds(
        lambda op, number: Comparison("Length", op, float(number)),
        st.sampled_from([*item_filters.OPERATORS]),
        st.integers(-2, 2),
    ),
    st.builds(lambda op: Comparison("Length", op, None), st.sampled_from(["eq", "ne"])),
)
NODES = st.recursive(
    COMPARISONS,
    lambda inner: st.one_of(
        st.builds(Not, inner),
        st.builds(lambda parts: And(tuple(parts)), st.lists(inner, min_size=2, max_size=3)),
        st.builds(lambda parts: Or(tuple(parts)), st.lists(inner, min_size=2, max_size=3)),
    ),
    max_leaves=6,
)
ROWS = st.fixed_dictionaries(
    {"id": st.just("1")},
    optional={
        "State": st.one_of(st.none(), TEXTS),
        "Length": st.one_of(st.none(), st.integers(-2, 2)),
    },
)


def to_text(node):
    match node:
        case Comparison(column, op, literal):
            if op in item_filters.FUNCTIONS:
                return f"{op}({column},{odata_filters.quote_literal(literal)})"
            if literal is None:
                return f"{column} {op} null"
            text = odata_filters.quote_literal(literal) if isinstance(literal, str) else literal
            return f"{column} {op} {text}"
        case Not(part):
            return f"not ({to_text(part)})"
        case And(parts):
            return "(" + " and ".join(to_text(part) for part in parts) + ")"
        case Or(parts):
            return "(" + " or ".join(to_text(part) for part in parts) + ")"


@given(NODES, ROWS)
def test_a_serialized_filter_parses_to_the_same_meaning(node, row):
    parsed = item_filters.parse(to_text(node), COLUMNS)

    assert item_filters.matches(parsed, row, COLUMNS) is item_filters.matches(node, row, COLUMNS)


def upstream_passes(text, row):
    """Evaluate an upstream filter, whose language is a part of ours."""
    node = item_filters.parse(text, COLUMNS)
    return item_filters.matches(node, row, COLUMNS)


@given(NODES, ROWS)
def test_the_upstream_filter_never_excludes_an_item_that_passes(node, row):
    upstream_filter = odata_filters.to_upstream(node, COLUMNS)

    if upstream_filter is not None and item_filters.matches(node, row, COLUMNS):
        assert upstream_passes(upstream_filter.text, row)


def test_the_operators_are_those_of_the_contract():
    assert dict(item_filters.OPERATORS) == {
        "eq": operator.eq,
        "ne": operator.ne,
        "gt": operator.gt,
        "ge": operator.ge,
        "lt": operator.lt,
        "le": operator.le,
    }
