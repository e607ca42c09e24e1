"""List items of one connection, against the sandbox."""

import pytest
from collab_upstream import ROW, column, key, list_key

from providers.collab_ids import ListItemKey
from providers.failures import Missing, Stale, Throttled
from providers.ports.collab import InvalidCursor, InvalidFields, InvalidFilter, ListItemQuery
from providers.records.collab import UNKNOWN
from sandbox.collab import records as r

TITLE = frozenset({"name"})


async def titles(port, one, *, limit=50, projection=TITLE, **query):
    """Return the names of all items of a listing, read page by page."""
    names, cursor, pages = [], None, 0
    while pages == 0 or cursor is not None:
        page = await port.list_items.page(
            list_key(one), ListItemQuery(limit=limit, **query), cursor=cursor, projection=projection
        )
        names += [item.name for item in page.items]
        cursor, pages = page.next, pages + 1
        assert pages < 50
    return names


def berths(*numbers):
    return [f"Berth {number}" for number in numbers]


@pytest.fixture
def port(tenant):
    return tenant.delegated().port


def filters_of(tenant):
    return [call["query"]["$filter"][0] for call in tenant.calls if "$filter" in call["query"]]


async def test_list_items_are_ordered_by_id(tenant, port):
    assert await titles(port, tenant.berths) == berths(1, 2, 3, 4, 5, 6, 7)
    assert len(tenant.calls) == 1  # nothing was asked that needs the columns


async def test_reading_every_attribute_of_a_list_item(tenant, port):
    item = await port.list_items.get(ListItemKey(*list_key(tenant.berths), "4"), projection=ROW)

    assert item.id == f"collab:site:{tenant.yard.id}:list:{tenant.berths.id}:item:4"
    assert item.name == "Berth 4"
    assert (item.content_type, item.content_type_id) == ("Item", "0x0100")
    assert (item.created_by, item.last_modified_by) == ("Ann Miller", "Ann Miller")
    assert item.web_url == "https://content.x.test/sites/yard/Lists/Berths/4_.000"
    assert {name: item.fields[name] for name in ("Title", "Length", "Paid", "State")} == {
        "Title": "Berth 4",
        "Length": 8,
        "Paid": True,
        "State": "Let",
    }
    assert "id" not in item.fields
    assert not [name for name in item.fields if "@" in name]
    assert item.etag.startswith('"')
    assert item.file is None


async def test_a_list_item_of_a_library_carries_its_file(tenant, port):
    library = tenant.store.get(r.Library, tenant.plan.drive_id)
    item_key = ListItemKey(library.site_id, library.list_id, str(tenant.plan.number))

    item = await port.list_items.get(item_key, projection=ROW)

    assert item.name == "Plan é.docx"
    assert item.file.key == key(tenant.plan)
    assert item.file.parent == key(tenant.inner)
    assert item.file.media_type.endswith("wordprocessingml.document")


async def test_only_wanted_attributes_are_selected(tenant, port):
    item = await port.list_items.get(
        ListItemKey(*list_key(tenant.berths), "4"), projection=frozenset()
    )

    assert (item.name, item.fields, item.content_type_id, item.file) == (
        None,
        None,
        UNKNOWN,
        UNKNOWN,
    )
    assert tenant.calls[0]["query"] == {"$select": ["id"]}


async def test_only_selected_columns_are_returned(tenant, port):
    query = ListItemQuery(select=("Length", "State"), filter="Paid eq true", limit=2)

    page = await port.list_items.page(list_key(tenant.berths), query, cursor=None, projection=ROW)

    assert [item.fields for item in page.items[:2]] == [
        {"Length": 4, "State": "Free"},
        {"Length": 8, "State": "Let"},
    ]
    assert [item.name for item in page.items[:2]] == berths(2, 4)


@pytest.mark.parametrize(
    ("text", "numbers"),
    [
        ("State eq 'let'", (4, 5, 6, 7)),
        ("Length gt 4 and Length le 10", (3, 4, 5)),
        ("Paid eq true", (2, 4, 6)),
        ("Until ge '2026-03-06'", (6, 7)),
        ("Until eq null", (5,)),
        ("Until ne null and Paid eq false", (1, 3, 7)),
        ("not Until ge '2026-03-02'", (1, 5)),
        ("startswith(Title,'bErTh 1')", (1,)),
        ("endswith(Title,'7')", (7,)),
        ("contains(Title,'3') or contains(Title,'6')", (3, 6)),
        ("State eq 'Free' and endswith(Title,'2')", (2,)),
        ("id gt 5", (6, 7)),
        ("AuthorLookupId eq 6 and Length lt 4", (1,)),
        ("Title eq 'Berth O''Neil'", ()),
        ("Title gt 'berth 5'", (6, 7)),
    ],
)
@pytest.mark.parametrize("limit", [50, 2])
async def test_a_filter_selects_the_matching_items(tenant, port, text, numbers, limit):
    assert await titles(port, tenant.berths, filter=text, limit=limit) == berths(*numbers)


@pytest.mark.parametrize(
    ("text", "numbers"),
    [
        ("Length desc", (7, 6, 5, 4, 3, 2, 1)),
        ("State", (1, 2, 3, 4, 5, 6, 7)),
        ("State desc, Length desc", (7, 6, 5, 4, 3, 2, 1)),
        ("Paid asc,Length desc", (7, 5, 3, 1, 6, 4, 2)),
        ("Until", (5, 1, 2, 3, 4, 6, 7)),
        ("Until desc", (7, 6, 4, 3, 2, 1, 5)),
        ("id desc", (7, 6, 5, 4, 3, 2, 1)),
        ("id asc", (1, 2, 3, 4, 5, 6, 7)),
        ("fields/Title DESC", (7, 6, 5, 4, 3, 2, 1)),
    ],
)
@pytest.mark.parametrize("limit", [50, 2])
async def test_items_come_in_the_requested_order(tenant, port, text, numbers, limit):
    assert await titles(port, tenant.berths, order_by=text, limit=limit) == berths(*numbers)


async def test_a_filter_combined_with_an_order(tenant, port):
    names = await titles(
        port, tenant.berths, filter="Paid eq false", order_by="Until desc", limit=2
    )

    assert names == berths(7, 3, 1, 5)


@pytest.mark.parametrize(
    "query",
    [
        {"filter": "Nope eq 1"},
        {"filter": "Length eq"},
        {"order_by": "Nope"},
        {"order_by": "Length up"},
        {"order_by": "Length,"},
        {"order_by": ""},
        {"order_by": "Length,State,Paid,Title"},
        {"select": ("Length", "Nope")},
    ],
)
async def test_queries_that_do_not_fit_the_columns_are_invalid(tenant, port, query):
    with pytest.raises(InvalidFilter):
        await port.list_items.page(
            list_key(tenant.berths), ListItemQuery(**query), cursor=None, projection=TITLE
        )


async def test_filters_on_unindexed_columns_warn(tenant, port):
    query = ListItemQuery(filter="Paid eq true and State eq 'Let' and contains(Title,'4')")

    page = await port.list_items.page(list_key(tenant.berths), query, cursor=None, projection=TITLE)

    assert [item.name for item in page.items] == berths(4)
    assert page.warnings == (
        "The filter uses columns without an index, which may be slow: Paid, Title.",
    )
    (call,) = [call for call in tenant.calls if "$filter" in call["query"]]
    assert call["query"]["$filter"] == ["fields/State eq 'Let' and fields/Paid eq true"]
    assert call["headers"]["prefer"] == "HonorNonIndexedQueriesWarningMayFailRandomly"


async def test_filters_on_indexed_columns_do_not_warn(tenant, port):
    query = ListItemQuery(filter="State eq 'Let'")

    page = await port.list_items.page(list_key(tenant.berths), query, cursor=None, projection=TITLE)

    assert page.warnings == ()
    assert "prefer" not in tenant.calls[-1]["headers"]


@pytest.mark.parametrize("text", ["Paid eq true", "State ne 'x' and Paid eq true", "Length gt 0"])
async def test_filters_that_upstream_refuses_are_evaluated_here(tenant, port, text):
    tenant.store.settings.threshold = 5
    expected = berths(1, 2, 3, 4, 5, 6, 7) if text == "Length gt 0" else berths(2, 4, 6)

    assert await titles(port, tenant.berths, filter=text, limit=2) == expected
    asked = len(filters_of(tenant))
    assert await titles(port, tenant.berths, filter=text, limit=50) == expected
    assert len(filters_of(tenant)) == asked  # remembered


async def test_a_throttled_filter_is_not_sent_again(tenant):
    tenant.store.settings.threshold = 5
    tenant.store.settings.threshold_status = 429
    access = tenant.delegated()
    query = ListItemQuery(filter="Paid eq true")
    with pytest.raises(Throttled):
        await access.port.list_items.page(
            list_key(tenant.berths), query, cursor=None, projection=TITLE
        )
    tenant.origins.forget(access.info.id)

    assert await titles(access.port, tenant.berths, filter="Paid eq true") == berths(2, 4, 6)


@pytest.mark.slow
async def test_ordering_and_filtering_a_long_list(tenant, port):
    rows = [{"Title": f"Row {number}", "Rank": number % 7} for number in range(1, 4602)]
    long = tenant.make.list_in(tenant.yard, "Long", (column("Rank", "number"),), rows)
    tenant.make.save()
    tenant.store.settings.threshold = 1000

    query = ListItemQuery(order_by="Rank desc", filter="not Title eq 'Row 6'", limit=3)
    first = await port.list_items.page(list_key(long), query, cursor=None, projection=TITLE)
    second = await port.list_items.page(list_key(long), query, cursor=first.next, projection=TITLE)

    assert [item.name for item in (*first.items, *second.items)] == [
        "Row 13",
        "Row 20",
        "Row 27",
        "Row 34",
        "Row 41",
        "Row 48",
    ]


async def test_ordered_listings_continue_after_their_last_item(tenant, port):
    query = ListItemQuery(order_by="Length desc", limit=2)
    first = await port.list_items.page(
        list_key(tenant.berths), query, cursor=None, projection=TITLE
    )
    tenant.store.delete(tenant.store.row(tenant.berths.id, 7))

    rest = await port.list_items.page(
        list_key(tenant.berths), query, cursor=first.next, projection=TITLE
    )
    again = await port.list_items.page(
        list_key(tenant.berths), query, cursor=first.cursors[0], projection=TITLE
    )

    assert [item.name for item in rest.items] == berths(5, 4)
    assert [item.name for item in again.items] == berths(5, 4)


@pytest.mark.parametrize("cursor", ["", "x1:", "o", "o1", "d", "s1", "o٣:x"])
async def test_foreign_cursors_are_invalid(tenant, port, cursor):
    query = ListItemQuery(order_by="Length desc" if cursor.startswith("o") else None)

    with pytest.raises(InvalidCursor):
        await port.list_items.page(list_key(tenant.berths), query, cursor=cursor, projection=TITLE)


async def test_invisible_list_items_are_missing(tenant, port):
    minutes = tenant.make.list_in(tenant.board, "Minutes list", (), [{"Title": "x"}])
    tenant.make.save()

    with pytest.raises(Missing):
        await port.list_items.page(
            list_key(minutes), ListItemQuery(), cursor=None, projection=TITLE
        )
    with pytest.raises(Missing):
        await port.list_items.get(ListItemKey(*list_key(minutes), "1"), projection=TITLE)
    assert await port.list_items.get_many(
        [ListItemKey(*list_key(minutes), "1")], projection=TITLE
    ) == {ListItemKey(*list_key(minutes), "1"): None}


async def test_creating_a_list_item(tenant, port):
    fields = {"Title": "Berth 8", "Length": 16, "Paid": None, "Until": "2026-03-08T00:00:00Z"}

    item = await port.list_item_writes.create(list_key(tenant.berths), fields, projection=ROW)

    assert (item.number, item.name) == ("8", "Berth 8")
    assert item.fields["Length"] == 16
    assert tenant.store.row(tenant.berths.id, 8).fields == {
        "Title": "Berth 8",
        "Length": 16,
        "Until": "2026-03-08T00:00:00Z",
    }


@pytest.mark.parametrize(
    ("fields", "details"),
    [
        pytest.param(
            {"Title": "x", "Nope": 1}, [("Nope", "The list has no such column.")], id="no"
        ),
        pytest.param({"Title": "x", "Code": 1}, [("Code", "The column is read-only.")], id="read"),
        pytest.param({"Length": 1}, [("Title", "The column is required.")], id="required"),
        pytest.param({"Title": None}, [("Title", "The column is required.")], id="null"),
    ],
)
async def test_invalid_fields_are_not_written(tenant, port, fields, details):
    with pytest.raises(InvalidFields) as raised:
        await port.list_item_writes.create(list_key(tenant.berths), fields, projection=ROW)

    assert raised.value.details == tuple(details)
    assert len(tenant.store.rows(tenant.berths.id)) == 7
    assert not [call for call in tenant.calls if call["method"] == "POST"]


async def test_values_that_upstream_refuses_are_invalid_fields(tenant, port):
    with pytest.raises(InvalidFields):
        await port.list_item_writes.create(
            list_key(tenant.berths), {"Title": "x", "Length": "long"}, projection=ROW
        )

    assert len(tenant.store.rows(tenant.berths.id)) == 7


async def test_an_update_leaves_other_columns_as_they_are(tenant, port):
    item_key = ListItemKey(*list_key(tenant.berths), "4")
    before = await port.list_items.get(item_key, projection=ROW)

    after = await port.list_item_writes.update(
        item_key, {"Length": 9, "State": None}, etag=before.etag, projection=ROW
    )

    assert after.fields["Length"] == 9
    assert "State" not in after.fields
    assert after.fields["Title"] == "Berth 4"
    assert after.etag != before.etag


async def test_changes_of_a_stale_list_item_are_refused(tenant, port):
    item_key = ListItemKey(*list_key(tenant.berths), "4")
    before = await port.list_items.get(item_key, projection=ROW)
    await port.list_item_writes.update(item_key, {"Length": 9}, etag=before.etag, projection=ROW)

    with pytest.raises(Stale):
        await port.list_item_writes.update(
            item_key, {"Length": 10}, etag=before.etag, projection=ROW
        )
    with pytest.raises(Stale):
        await port.list_item_writes.delete(item_key, etag=before.etag)
    assert tenant.store.row(tenant.berths.id, 4).fields["Length"] == 9


async def test_required_columns_cannot_be_cleared(tenant, port):
    item_key = ListItemKey(*list_key(tenant.berths), "4")

    with pytest.raises(InvalidFields):
        await port.list_item_writes.update(item_key, {"Title": ""}, etag=None, projection=ROW)


async def test_deleting_a_list_item(tenant, port):
    item_key = ListItemKey(*list_key(tenant.berths), "4")

    await port.list_item_writes.delete(item_key, etag=None)

    with pytest.raises(Missing):
        await port.list_item_writes.delete(item_key, etag=None)
    assert tenant.store.row(tenant.berths.id, 4) is None


async def test_a_created_list_item_is_returned_even_when_rereading_fails(tenant, port):
    tenant.fault(kind="500", match="/items/8")

    item = await port.list_item_writes.create(
        list_key(tenant.berths), {"Title": "Berth 8"}, projection=ROW
    )

    assert (item.number, item.name) == ("8", "Berth 8")


async def test_lists_of_values_are_sent_with_their_type(tenant, port):
    several = column("Tags", "choice", facet={"choices": ["a", "b"], "displayAs": "checkBoxes"})
    tagged = tenant.make.list_in(tenant.yard, "Tagged", (several,), [])
    tenant.make.save()

    item = await port.list_item_writes.create(
        list_key(tagged), {"Title": "x", "Tags": ["a", "b"]}, projection=ROW
    )

    assert item.fields["Tags"] == ["a", "b"]
    kinds = {
        column.name: column.column_type
        for column in (await port.lists.get(list_key(tagged))).columns
    }
    assert kinds["Tags"] == "multiChoice"
