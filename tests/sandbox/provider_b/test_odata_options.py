"""Query options besides `$filter`: reading, refusing, applying."""

import pytest

from sandbox.provider_b.odata import query_options
from sandbox.provider_b.odata.schema import Kind, QueryError, Shape

PART = Shape(name="part", members={"id": Kind.STRING, "name": Kind.STRING})
THING = Shape(
    name="thing",
    members={"id": Kind.STRING, "name": Kind.STRING, "owner": PART, "size": Kind.NUMBER},
)


def read(**options):
    pairs = [(f"${name}", value) for name, value in options.items()]
    return query_options.parse(pairs, THING, expandable={"parts": PART}, max_top=50)


def test_options_are_read_with_those_of_expansions():
    found = read(
        select="id, name,owner/name",
        expand="parts($select=id,name;$top=2;$orderby=name desc;$filter=name eq 'a;b,(c')",
        orderby="owner/name desc,size",
        top="5",
        skip="10",
        count="true",
        search='"x"',
        skiptoken="abc",
    )

    assert found.select == ("id", "name", "owner/name")
    assert [(record.path, record.descending) for record in found.orderby] == [
        ("owner/name", True),
        ("size", False),
    ]
    assert (found.top, found.skip, found.count) == (5, 10, True)
    assert (found.search, found.skip_token) == ('"x"', "abc")
    inner = found.expand["parts"]
    assert (inner.select, inner.top) == (("id", "name"), 2)
    assert inner.filter is not None
    assert inner.filter.matches({"name": "a;b,(c"})


def test_custom_parameters_are_passed_over():
    assert query_options.parse([("top", "x"), ("$TOP", "3")], THING, expandable={}).top == 3


@pytest.mark.parametrize(
    "pairs",
    [
        [("$top", "1"), ("$top", "2")],
        [("$foo", "1")],
        [("$top", "-1")],
        [("$top", "51")],
        [("$top", "0")],
        [("$skip", "x")],
        [("$count", "yes")],
        [("$select", "nme")],
        [("$select", "name,")],
        [("$select", "name eq")],
        [("$orderby", "name up")],
        [("$orderby", "nme")],
        [("$orderby", "name/x")],
        [("$expand", "owner")],
        [("$expand", "prts")],
        [("$expand", "parts($select=nme)")],
        [("$expand", "parts($select=id")],
        [("$expand", "parts(id)")],
    ],
)
def test_options_are_refused(pairs):
    with pytest.raises(QueryError):
        query_options.parse(pairs, THING, expandable={"parts": PART}, max_top=50)


def test_records_are_ordered_by_several_terms_with_the_missing_first():
    things = [
        {"id": "1", "name": "b", "size": 1},
        {"id": "2", "name": "A", "size": 1},
        {"id": "3", "name": None, "size": 1},
        {"id": "4", "name": "z", "size": 2},
    ]

    assert [
        sort_record["id"]
        for sort_record in query_options.sort_records(things, read(orderby="name").orderby)
    ] == ["3", "2", "1", "4"]
    ordered = query_options.sort_records(things, read(orderby="size desc,name desc").orderby)
    assert [record["id"] for record in ordered] == ["4", "1", "2", "3"]


def test_a_selection_keeps_id_annotations_and_order():
    record = {"@odata.etag": "x", "id": "1", "name": "n", "owner": {}, "size": 2}

    assert list(query_options.select_members(record, ("size", "name"))) == [
        "@odata.etag",
        "id",
        "name",
        "size",
    ]
    assert query_options.select_members(record, ("owner/name",)) == {
        "@odata.etag": "x",
        "id": "1",
        "owner": {},
    }
    assert query_options.select_members(record, ()) == record
    assert "id" not in query_options.select_members(record, ("name",), always=())


def test_a_next_link_keeps_every_parameter():
    pairs = [("$filter", "name eq 'a&b +'"), ("$skip", "5"), ("x", "é")]

    assert query_options.next_link("http://h/things", pairs, skip=10) == (
        "http://h/things?$filter=name%20eq%20%27a%26b%20%2B%27&x=%C3%A9&$skip=10"
    )


@pytest.mark.parametrize(
    ("options", "top", "shown"),
    [
        ({}, None, [1, 2, 3, 4]),
        ({}, 3, [1, 2, 3]),
        ({"top": "2"}, 3, [1, 2]),
        ({"skip": "1"}, 2, [2, 3]),
        ({"skip": "1", "top": "2"}, None, [2, 3]),
        ({"skip": "9"}, None, []),
    ],
)
def test_a_page_is_cut_out(options, top, shown):
    assert query_options.cut_page([1, 2, 3, 4], read(**options), top=top) == shown


def test_records_are_filtered_and_ordered():
    things = [{"name": "a", "size": 1}, {"name": "b", "size": 2}, {"name": "c", "size": 3}]
    options = read(filter="size gt 1", orderby="name desc")

    assert [record["name"] for record in query_options.filter_and_sort(things, options)] == [
        "c",
        "b",
    ]
