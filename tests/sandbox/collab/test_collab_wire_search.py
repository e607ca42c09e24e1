"""Search endpoint: the keyword query language and the shape of hits."""

import pytest

ALL = ["driveItem", "listItem", "list", "site"]


def code(response):
    return response.status_code, response.json()["error"]["code"]


async def ask(client, text, kinds=ALL, **more):
    body = {"requests": [{"entityTypes": kinds, "query": {"queryString": text}, **more}]}
    return await client.post("/search/query", json=body)


async def container(client, text, kinds=ALL, **more):
    response = await ask(client, text, kinds, **more)
    assert response.status_code == 200, response.text
    return response.json()["value"][0]["hitsContainers"][0]


async def titles(client, text, kinds=ALL, **more):
    hits = (await container(client, text, kinds, **more)).get("hits", ())
    resources = [hit["resource"] for hit in hits]
    return sorted(
        resource.get("name") or resource.get("displayName") or resource["fields"]["title"]
        for resource in resources
    )


@pytest.mark.slow
@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("keel", ["Plan é.docx"]),
        ("keel oak", ["Plan é.docx"]),
        ("keel varnish", []),
        ("keel OR varnish", ["Plan é.docx", "notes.txt"]),
        ("keel AND oak", ["Plan é.docx"]),
        ("(keel OR varnish) -oakum", ["Plan é.docx"]),
        ("varnish NOT oakum", []),
        ('"keel of oak"', ["Plan é.docx"]),
        ('"oak of keel"', []),
        ("oak*", ["Plan é.docx", "notes.txt"]),
        ("filetype:docx", ["Plan é.docx"]),
        ("filetype:docx OR filetype:txt", ["Plan é.docx", "notes.txt"]),
        ("filename:notes.txt", ["notes.txt"]),
        ("filename:no*", ["notes.txt"]),
        ('title:"berth 3"', ["Berth 3"]),
        ("title:berth*", ["Berth 1", "Berth 2", "Berth 3", "Berth 4", "Berth 5", "Berth 6",
                          "Berth 7", "Berths"]),
        ('author:"Ann Miller" filetype:txt', ["notes.txt"]),
        ("author:bob filetype:txt", []),
        ('path:"https://content.x.test/sites/yard/Shared Documents/Boats" filetype:docx',
         ["Plan é.docx"]),
        ('path:"https://content.x.test/sites/ya" filetype:docx', []),
        ("contenttype:Folder boats", ["Boats"]),
        ("lastmodifiedtime>=2026-01-05 filetype:txt", ["notes.txt"]),
        ("lastmodifiedtime>2026-01-05 filetype:txt", []),
        ("lastmodifiedtime<=2026-01-05 filetype:txt", ["notes.txt"]),
        ("lastmodifiedtime<2026-01-05 filetype:txt", []),
        ("lastmodifiedtime:2026-01-01..2026-01-31 filetype:txt", ["notes.txt"]),
        ("isDocument:true oak*", ["Plan é.docx", "notes.txt"]),
        ("-filetype:docx oak*", ["notes.txt"]),
        ("size>100 oak*", ["Plan é.docx"]),
        ("yard", ["yard"]),
        ("nothing", []),
        ("VARNISH", ["notes.txt"]),
    ],
)  # fmt: skip
async def test_keyword_query_matches_documents(client, text, expected):
    assert await titles(client, text) == expected


@pytest.mark.parametrize("text", ['"open', "(open", "open)", "a AND", "lastmodifiedtime>soon", " "])
async def test_malformed_query_is_refused(client, text):
    response = await ask(client, text)

    assert response.status_code in {200, 400}
    if text != "a AND":
        assert code(response) == (400, "BadRequest")


async def test_search_omits_documents_without_access(client, world):
    assert await titles(client, "minutes") == []
    assert await titles(client, "secret") == []


async def test_hits_carry_the_ids_of_their_kind(client, world):
    hits = {}
    for text, kind in (("keel", "driveItem"), ('title:"berth 3"', "listItem"),
                       ("title:berths", "list"), ("title:yard", "site")):  # fmt: skip
        [hit] = (await container(client, text, [kind]))["hits"]
        hits[kind] = hit["resource"]

    assert hits["driveItem"]["id"] == world.plan.id
    assert hits["driveItem"]["parentReference"]["driveId"] == world.plan.drive_id
    assert hits["driveItem"]["@odata.type"] == "#microsoft.graph.driveItem"
    assert hits["listItem"]["parentReference"] == {
        "siteId": world.yard.id,
        "sharepointIds": {"listId": world.berths.id},
    }
    assert hits["listItem"]["sharepointIds"]["listItemId"] == "3"
    assert hits["listItem"]["fields"] == {"title": "Berth 3"}
    assert (hits["list"]["id"], hits["list"]["parentReference"]["siteId"]) == (
        world.berths.id,
        world.yard.id,
    )
    assert hits["site"]["id"] == world.yard.id


async def test_requested_fields_are_returned_with_list_items(client):
    [hit] = (await container(client, 'title:"berth 3"', ["listItem"], fields=["Length", "paid"]))[
        "hits"
    ]

    assert hit["resource"]["fields"] == {"title": "Berth 3", "Length": 6, "paid": False}


async def test_file_is_a_list_item_when_only_list_items_are_requested(client, world):
    [hit] = (await container(client, "keel", ["listItem"]))["hits"]

    assert hit["resource"]["@odata.type"] == "#microsoft.graph.listItem"
    assert hit["resource"]["sharepointIds"]["listItemId"] == str(world.plan.number)


async def test_duplicate_hits_setting_returns_a_file_twice(client, world):
    world.store.settings.doubles_hits = True
    answer = await container(client, "keel")
    kinds = [hit["resource"]["@odata.type"] for hit in answer["hits"]]

    assert answer["total"] == 2
    assert kinds == ["#microsoft.graph.driveItem", "#microsoft.graph.listItem"]
    assert len({hit["resource"]["webUrl"] for hit in answer["hits"]}) == 1


async def test_from_and_size_select_a_page(client):
    first = await container(client, "title:berth*", size=5)
    second = await container(client, "title:berth*", size=5, **{"from": 5})

    assert (first["total"], first["moreResultsAvailable"], len(first["hits"])) == (8, True, 5)
    assert (second["moreResultsAvailable"], [hit["rank"] for hit in second["hits"]]) == (
        False,
        [6, 7, 8],
    )


async def test_hits_are_absent_when_nothing_matches(client):
    assert await container(client, "nothing") == {"total": 0, "moreResultsAvailable": False}


async def test_summary_highlights_matches(client):
    [hit] = (await container(client, "varnish"))["hits"]

    assert hit["summary"] == "<c0>varnish</c0> and oakum"


@pytest.mark.parametrize(
    "body",
    [
        {},
        {"requests": []},
        {"requests": [{}, {}]},
        {"requests": [{"entityTypes": [], "query": {"queryString": "x"}}]},
        {"requests": [{"entityTypes": ["nonsense"], "query": {"queryString": "x"}}]},
        {"requests": [{"entityTypes": ["driveItem", "message"], "query": {"queryString": "x"}}]},
        {"requests": [{"entityTypes": ["site"], "query": {"queryString": "x"}, "size": 501}]},
        {"requests": [{"entityTypes": ["site"], "query": {"queryString": "x"}, "from": -1}]},
        {"requests": [{"entityTypes": ["site"], "query": {}}]},
    ],
)
async def test_invalid_search_request_is_refused(client, body):
    assert code(await client.post("/search/query", json=body)) == (400, "BadRequest")


async def test_application_must_name_a_region(client_with):
    client = client_with("Files.Read.All", "Sites.Read.All", account="other", app_only=True)

    assert code(await ask(client, "keel")) == (400, "BadRequest")
    assert await titles(client, "keel", region="NAM") == ["Plan é.docx", "minutes.docx"]
