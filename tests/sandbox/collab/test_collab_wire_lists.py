"""Endpoints of lists, columns and list items."""

import msgspec
import pytest

from sandbox.collab import records as r

HONOUR = {"prefer": "HonorNonIndexedQueriesWarningMayFailRandomly"}
NOT_INDEXED = (
    "Field 'Paid' cannot be referenced in filter or orderby as it is not indexed. Provide the "
    "'Prefer: HonorNonIndexedQueriesWarningMayFailRandomly' header to allow this, but be warned "
    "that such queries may fail on large lists."
)


def code(response):
    return response.status_code, response.json()["error"]["code"]


@pytest.fixture
def lists(world):
    return f"/sites/{world.yard.id}/lists"


@pytest.fixture
def rows(world, lists):
    return f"{lists}/{world.berths.id}/items"


async def numbers(client, rows, query="", **more):
    response = await client.get(f"{rows}?{query}", **more)
    assert response.status_code == 200, response.text
    return [int(record["id"]) for record in response.json()["value"]]


# -- lists and columns


async def test_hidden_lists_are_listed_and_system_lists_when_selected(client, lists):
    plain = (await client.get(lists)).json()["value"]
    chosen = (await client.get(f"{lists}?$select=displayName,list,system")).json()["value"]

    assert [record["displayName"] for record in plain] == [
        "Documents",
        "Drawings",
        "Berths",
        "Hidden",
    ]
    assert [record["list"]["hidden"] for record in plain] == [False, False, False, True]
    assert [record["displayName"] for record in chosen][-1] == "System"
    assert chosen[-1]["system"] == {}


@pytest.mark.parametrize("reference", ["{id}", "{ID}", "Berths", "berths"])
async def test_list_is_addressed_by_id_or_name(client, world, lists, reference):
    named = reference.format(id=world.berths.id, ID=world.berths.id.upper())
    response = await client.get(f"{lists}/{named}")

    assert response.json()["id"] == world.berths.id


async def test_column_has_one_facet(client, world, lists):
    response = await client.get(f"{lists}/{world.berths.id}/columns")
    kinds = ("boolean", "calculated", "choice", "dateTime", "number", "personOrGroup", "text")
    facets = {
        record["name"]: [kind for kind in kinds if kind in record]
        for record in response.json()["value"]
    }

    assert {name: facets[name] for name in ("Title", "Length", "Paid", "Until", "State")} == {
        "Title": ["text"],
        "Length": ["number"],
        "Paid": ["boolean"],
        "Until": ["dateTime"],
        "State": ["choice"],
    }
    assert "Secret" not in facets
    assert all(len(facet) == 1 for facet in facets.values())


@pytest.mark.parametrize(
    "query",
    ["/columns?$select=name,hidden,indexed", "?$expand=columns($select=name,hidden,indexed)"],
)
async def test_hidden_columns_are_returned_when_hidden_is_selected(client, world, lists, query):
    body = (await client.get(f"{lists}/{world.berths.id}{query}")).json()
    columns = {record["name"]: record for record in body.get("value") or body["columns"]}

    assert columns["Secret"]["hidden"] is True
    assert columns["Length"]["indexed"] is True


async def test_files_of_a_library_are_list_items_too(client, world, lists):
    list_items = (await client.get(f"{lists}/Documents/items?$expand=fields,driveItem")).json()[
        "value"
    ]
    plan = next(record for record in list_items if record["driveItem"]["id"] == world.plan.id)
    drive = world.documents.drive_id
    list_item = (
        await client.get(f"/drives/{drive}/items/{world.plan.id}/listItem?$expand=fields")
    ).json()
    back = (await client.get(f"{lists}/Documents/items/{plan['id']}/driveItem?$select=id")).json()
    ids = (await client.get(f"/drives/{drive}/items/{world.plan.id}?$select=sharepointIds")).json()

    assert plan["fields"]["FileLeafRef"] == "Plan é.docx"
    assert plan["contentType"] == {"id": "0x0101", "name": "Document"}
    assert (list_item["id"], list_item["fields"]["FileLeafRef"]) == (plan["id"], "Plan é.docx")
    assert back["id"] == world.plan.id
    assert ids["sharepointIds"]["listItemId"] == plan["id"]
    assert ids["sharepointIds"]["listId"] == list_item["parentReference"]["id"]


# -- reading rows


async def test_fields_are_returned_only_when_expanded(client, rows):
    plain = (await client.get(f"{rows}/3")).json()
    chosen = (await client.get(f"{rows}/3?$expand=fields($select=Title,Length)")).json()

    assert "fields" not in plain
    assert chosen["fields"] == {
        "@odata.etag": plain["@odata.etag"],
        "Title": "Berth 3",
        "Length": 6,
    }


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("$filter=fields/Length ge 10", [5, 6, 7]),
        ("$filter=fields/State eq 'Free'", [1, 2, 3]),
        ("$filter=fields/Length gt 2 and fields/Length lt 8", [2, 3]),
        ("$filter=fields/Length eq 2 or fields/Length eq 14", [1, 7]),
        ("$filter=(fields/Length eq 2)", [1]),
        ("$filter=startswith(fields/State,'Fr')", [1, 2, 3]),
        ("$orderby=fields/Length desc&$top=2", [7, 6]),
        ("$orderby=fields/State,fields/Length desc", [3, 2, 1, 7, 6, 5, 4]),
    ],
)
async def test_indexed_columns_can_be_filtered_and_ordered(client, rows, query, expected):
    assert await numbers(client, rows, query) == expected


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("$filter=fields/Paid eq 1", [2, 4, 6]),
        ("$filter=fields/Paid eq false", [1, 3, 5, 7]),
        ("$filter=fields/Until ge '2026-03-06'", [6, 7]),
        ("$filter=fields/Until lt '2026-03-02T01:00:00%2B01:00'", [1]),
        ("$filter=fields/Until eq null", [5]),
        ("$filter=fields/Until ne null", [1, 2, 3, 4, 6, 7]),
        ("$filter=fields/Title eq 'berth 2'", [2]),
        ("$orderby=fields/Until", [5, 1, 2, 3, 4, 6, 7]),
        ("$filter=fields/Title eq 'It''s'", []),
    ],
)
async def test_unindexed_columns_need_the_prefer_header(client, rows, query, expected):
    refused = await client.get(f"{rows}?{query}")

    assert code(refused) == (400, "invalidRequest")
    assert await numbers(client, rows, query, headers=HONOUR) == expected


async def test_refusal_names_the_unindexed_column(client, rows):
    response = await client.get(f"{rows}?$filter=fields/Paid eq true")

    assert response.json()["error"]["message"] == NOT_INDEXED


@pytest.mark.parametrize(
    "query",
    ["$filter=fields/Nothing eq 1", "$filter=contains(fields/State,'x')",
     "$filter=endswith(fields/State,'x')", "$filter=not (fields/Length eq 1)",
     "$filter=fields/Length in (1,2)", "$filter=fields/Length eq", "$filter=fields/Length foo 1",
     "$skip=1", "$top=5001", "$orderby=fields/Nothing", "$skiptoken=x"],
)  # fmt: skip
async def test_unsupported_filter_operations_are_refused(client, rows, query):
    assert (await client.get(f"{rows}?{query}", headers=HONOUR)).status_code == 400


async def test_keywords_are_allowed_in_string_literals(client, rows):
    query = "$filter=fields/State eq 'not in (contains(' or fields/State eq 'Let'"

    assert await numbers(client, rows, query) == [4, 5, 6, 7]


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("", [1, 2, 3, 4, 5, 6, 7]),
        ("$orderby=fields/Length desc", [7, 6, 5, 4, 3, 2, 1]),
        ("$filter=fields/Length lt 5 and fields/Paid eq true", [2]),
        ("$filter=fields/Paid eq true and fields/Length lt 5", None),
        ("$filter=fields/Length gt 1", None),
        ("$filter=fields/Length lt 5 or fields/Length gt 0", None),
        ("$filter=fields/Paid eq true", None),
        ("$orderby=fields/Until", None),
    ],
)
async def test_large_list_refuses_filters_above_the_threshold(client, world, rows, query, expected):
    world.store.settings.threshold = 4
    if expected is not None:
        assert await numbers(client, rows, query, headers=HONOUR) == expected
        return
    plain = await client.get(f"{rows}?{query}", headers=HONOUR)
    world.store.settings.threshold_status = 429
    busy = await client.get(f"{rows}?{query}", headers=HONOUR)

    assert code(plain) == (400, "invalidRequest")
    assert code(busy) == (429, "activityLimitReached")
    assert busy.headers["retry-after"] == "30"


async def test_next_page_keeps_the_filter(client, rows):
    link, pages = f"{rows}?$filter=fields/Length ge 4&$expand=fields($select=Title)&$top=4", []
    while link:
        page = (await client.get(link)).json()
        pages.append([record["fields"]["Title"] for record in page["value"]])
        link = page.get("@odata.nextLink")

    assert pages == [["Berth 2", "Berth 3", "Berth 4", "Berth 5"], ["Berth 6", "Berth 7"]]


# -- writing rows


async def test_item_changes_honour_if_match(client, world, rows):
    made = await client.post(rows, json={"fields": {"Title": "New", "Length": 3.5}})
    place = f"{rows}/{made.json()['id']}"
    tag = made.json()["@odata.etag"]
    changed = await client.patch(
        f"{place}/fields", json={"Length": None, "Until": "2026-05-01"}, headers={"if-match": tag}
    )
    stale = await client.delete(place, headers={"if-match": tag})
    gone = await client.delete(place, headers={"if-match": changed.json()["@odata.etag"]})

    assert made.status_code == 201
    assert made.json()["fields"]["Length"] == 3.5
    assert "Length" not in changed.json()
    assert changed.json()["Until"] == "2026-05-01T00:00:00Z"
    assert code(stale) == (412, "resourceModified")
    assert gone.status_code == 204
    assert code(await client.get(place)) == (404, "itemNotFound")


@pytest.mark.parametrize(
    "fields",
    [
        {"Nothing": 1},
        {"Length": "long"},
        {"Paid": "yes"},
        {"Until": "soon"},
        {"Code": "x"},
        {"Title": 7},
        {"Title": "x" * 256},
        {"Created": "2026-01-01"},
        {"Length": True},
    ],
)
async def test_invalid_field_values_are_refused(client, world, rows, fields):
    made = await client.post(rows, json={"fields": fields})
    changed = await client.patch(f"{rows}/1/fields", json=fields)

    assert (made.status_code, changed.status_code) == (400, 400)
    assert len(world.store.rows(world.berths.id)) == 7
    assert world.store.row(world.berths.id, 1).version == 1


async def test_content_type_must_belong_to_the_list(client, world, lists):
    kinds = (r.ContentType(id="0x01AA", name="One"), r.ContentType(id="0x01BB", name="Two"))
    world.store.put(msgspec.structs.replace(world.hidden, content_types=kinds))
    rows = f"{lists}/{world.hidden.id}/items"
    usual = (await client.post(rows, json={"fields": {}})).json()
    other = (await client.post(rows, json={"contentType": {"id": "0x01BB"}})).json()
    wrong = await client.post(rows, json={"contentType": {"id": "0x01CC"}})
    types = (await client.get(f"{lists}/{world.hidden.id}/contentTypes")).json()["value"]

    assert usual["contentType"] == {"id": "0x01AA", "name": "One"}
    assert other["contentType"] == {"id": "0x01BB", "name": "Two"}
    assert wrong.status_code == 400
    assert [type_["name"] for type_ in types] == ["One", "Two"]


async def test_lookups_are_written_by_number_and_read_by_text_when_selected(client, world, lists):
    world.make.continue_list(world.hidden.id)
    column = r.Column(
        name="Berth", title="Berth", kind="lookup",
        facet={"listId": world.berths.id, "columnName": "Title"},
    )  # fmt: skip
    world.store.put(msgspec.structs.replace(world.hidden, columns=(column,)))
    rows = f"{lists}/{world.hidden.id}/items"
    wrong = await client.post(rows, json={"fields": {"Berth": "Berth 2"}})
    made = (await client.post(rows, json={"fields": {"BerthLookupId": 2}})).json()
    chosen = (await client.get(f"{rows}/1?$expand=fields($select=Berth,BerthLookupId)")).json()

    assert wrong.status_code == 400
    assert made["fields"]["BerthLookupId"] == "2"
    assert chosen["fields"]["Berth"] == "Berth 2"


async def test_library_refuses_new_items_but_updates_fields_of_files(client, world, lists):
    rows = f"{lists}/Drawings/items"
    world.make.file(world.drawings, "a.pdf", ("pdf", "x"))
    world.make.save()
    made = await client.post(rows, json={"fields": {"Title": "x"}})
    changed = await client.patch(f"{rows}/1/fields", json={"Scale": "1:10", "FileLeafRef": "b.pdf"})

    assert code(made) == (400, "notSupported")
    assert (changed.json()["Scale"], changed.json()["FileLeafRef"]) == ("1:10", "b.pdf")
    assert world.store.child(world.drawings, "b.pdf") is not None
    assert (await client.delete(f"{rows}/1")).status_code == 204
    assert world.store.recycled(world.drawings.drive_id)[0].name == "b.pdf"


@pytest.mark.parametrize("path", ["/items/99", "/items/x", "/items/1/fields/x", "/nothing"])
async def test_unknown_list_resource_is_not_found(client, world, lists, path):
    response = await client.get(f"{lists}/{world.berths.id}{path}")

    assert response.status_code in {400, 404}


async def test_list_of_another_site_is_not_found(client, world):
    response = await client.get(f"/sites/{world.root.id}/lists/{world.berths.id}")

    assert code(response) == (404, "itemNotFound")
