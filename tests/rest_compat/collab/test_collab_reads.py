"""Reads of collaboration content: complete response bodies."""

import pytest
from content_world import ANN, BOB, WHEN
from world import ORIGIN

pytestmark = pytest.mark.asyncio(loop_scope="session")


def names(response, member="files", of="name"):
    return [entry[of] for entry in response.json()[member]]


async def test_a_file_has_every_attribute(readonly):
    response = await readonly.get(f"/files/{readonly.id('notes')}")

    assert response.status_code == 200
    assert response.json() == {
        "file": {
            "id": readonly.id("notes"),
            "name": "notes.txt",
            "mimeType": "text/plain",
            "size": 20,
            "createdTime": WHEN,
            "modifiedTime": "2026-01-06T08:00:00Z",
            "owners": [{"email": ANN, "displayName": "Ann Miller", "role": "owner"}],
            "sharedWith": [
                {"email": "", "displayName": "Yard Members", "role": "writer"},
                {"email": "", "displayName": "Yard Visitors", "role": "reader"},
                {"email": BOB, "displayName": "Bob Stone", "role": "writer"},
            ],
            "description": "What to do",
            "webViewLink": "https://content.x.example/sites/yard/Shared%20Documents/notes.txt",
            "downloadLink": f"{ORIGIN}/api/access/collab/files/{readonly.id('notes')}/download",
            "parentFolderId": readonly.id("documents"),
            "parentFolderName": "Documents",
            "labels": None,
            "isFolder": False,
            "provider": "COLLAB",
        }
    }


async def test_a_folder_is_a_file_without_mime_type(readonly):
    file = (await readonly.get(f"/files/{readonly.id('boats')}")).json()["file"]

    assert (file["isFolder"], file["mimeType"], file["name"]) == (True, None, "Boats")


async def test_a_file_has_its_label(readonly):
    file = (await readonly.get(f"/files/{readonly.id('plan')}")).json()["file"]

    assert file["labels"] == {
        "sensitivityLabelId": readonly.labels["secret"].id,
        "sensitivityLabelName": "secret",
    }


async def test_a_folder_lists_its_children_newest_first(readonly):
    response = await readonly.get("/files", folderId=readonly.id("boats"))

    assert names(response) == ["sketch.pdf", "Inner"]
    assert set(response.json()) == {"files", "nextPageToken", "hasMore"}
    assert (response.json()["nextPageToken"], response.json()["hasMore"]) == (None, False)


async def test_without_a_folder_the_roots_of_all_libraries_are_listed(readonly):
    response = await readonly.get("/files", orderBy="name")

    assert names(response) == ["Boats", "Houses", "hull.png", "letter.txt", "notes.txt"]


async def test_a_site_filter_lists_the_roots_of_its_libraries(readonly):
    response = await readonly.get("/files", siteId=readonly.id("yard"), orderBy="name desc")

    assert set(names(response)) == {"Boats", "Houses", "hull.png", "notes.txt"}


async def test_the_root_of_a_library_is_a_folder(readonly):
    root = f"collab:drive:{readonly.resources['drawings'].drive_id}:item:root"

    assert names(await readonly.get("/files", folderId=root)) == ["hull.png"]


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        pytest.param({"name": "OTE"}, ["notes.txt"], id="part of a name, any case"),
        pytest.param({"mimeType": "image/*"}, ["hull.png"], id="a type with a star"),
        pytest.param({"mimeType": "text/plain"}, ["letter.txt", "notes.txt"], id="a type"),
        pytest.param({"modifiedAfter": "2026-01-05T09:00:00Z"}, ["notes.txt"], id="changed after"),
        pytest.param({"modifiedAfter": "2026-01-06T08:00:00Z"}, [], id="after is exclusive"),
        pytest.param({"modifiedBefore": WHEN}, [], id="before is exclusive"),
    ],
)
async def test_filters_narrow_a_listing(readonly, query, expected):
    assert names(await readonly.get("/files", orderBy="name", **query)) == expected


async def test_a_search_in_a_folder_is_recursive(readonly):
    everywhere = names(await readonly.get("/files", q="keel"))
    below = names(await readonly.get("/files", q="keel", folderId=readonly.id("boats")))

    assert set(everywhere) == {"sketch.pdf", "notes.txt", "letter.txt", "plan.docx"}
    assert set(below) == {"sketch.pdf", "plan.docx"}


async def test_paging_files_returns_each_exactly_once(readonly):
    listed, token = [], None
    for _ in range(10):
        more = {"pageToken": token} if token else {}
        page = await readonly.get("/files", limit=2, orderBy="name", **more)
        assert len(page.json()["files"]) <= 2
        listed += names(page)
        token = page.json()["nextPageToken"]
        assert page.json()["hasMore"] is (token is not None)
        if token is None:
            break

    assert listed == ["Boats", "Houses", "hull.png", "letter.txt", "notes.txt"]


async def test_a_page_token_is_bound_to_its_listing(readonly):
    token = (await readonly.get("/files", limit=2)).json()["nextPageToken"]
    for query in ({"name": "x"}, {"folderId": readonly.id("boats")}, {"orderBy": "size"}):
        response = await readonly.get("/files", pageToken=token, **query)
        assert (response.status_code, response.json()["error"]) == (400, "INVALID_PAGE_TOKEN")


async def test_a_download_returns_links(readonly):
    response = await readonly.get(f"/files/{readonly.id('notes')}/download")

    body = response.json()
    assert response.status_code == 200
    assert body.pop("downloadUrl").startswith("http")
    assert body.pop("expiresAt").endswith("Z")
    assert body == {
        "success": True,
        "webViewLink": "https://content.x.example/sites/yard/Shared%20Documents/notes.txt",
        "exportLinks": None,
        "fileName": "notes.txt",
        "mimeType": "text/plain",
        "size": 20,
        "isGoogleWorkspaceFile": False,
        "errorMessage": None,
        "errorCode": None,
    }


async def test_a_folder_cannot_be_downloaded(readonly):
    response = await readonly.get(f"/files/{readonly.id('boats')}/download")

    body = response.json()
    assert response.status_code == 400
    assert (body["error"], body["errorCode"], body["success"]) == (
        "INVALID_REQUEST",
        "INVALID_REQUEST",
        False,
    )
    assert body["errorMessage"] == body["message"]


async def test_permissions_list_grantees_and_roles(readonly):
    response = await readonly.get(f"/files/{readonly.id('notes')}/permissions")

    last = response.json()["permissions"][-1]
    assert last.pop("id")
    assert last == {
        "type": "user",
        "role": "writer",
        "emailAddress": BOB,
        "domain": None,
        "displayName": "Bob Stone",
    }


async def test_sites_are_sorted_by_name(readonly):
    response = await readonly.get("/sites")

    assert names(response, "sites", "displayName") == ["Ann Miller", "Company", "Yard"]
    assert set(response.json()) == {"sites", "nextPageToken", "hasMore"}
    assert [site["isPersonalSite"] for site in response.json()["sites"]] == [True, False, False]


async def test_sites_are_filtered_by_part_of_name_or_address(readonly):
    assert names(await readonly.get("/sites", q="yAr"), "sites", "displayName") == ["Yard"]
    assert names(await readonly.get("/sites", q="people."), "sites", "displayName") == [
        "Ann Miller"
    ]
    assert names(await readonly.get("/sites", q="nothing"), "sites", "displayName") == []


async def test_sites_are_paged(readonly):
    first = await readonly.get("/sites", limit=2)
    second = await readonly.get("/sites", limit=2, pageToken=first.json()["nextPageToken"])

    assert names(first, "sites", "displayName") == ["Ann Miller", "Company"]
    assert names(second, "sites", "displayName") == ["Yard"]
    assert second.json()["hasMore"] is False


async def test_a_site_response_has_no_envelope(readonly):
    response = await readonly.get(f"/sites/{readonly.id('yard')}")

    assert response.json() == {
        "id": readonly.id("yard"),
        "displayName": "Yard",
        "name": "yard",
        "description": "Where boats are",
        "webUrl": "https://content.x.example/sites/yard",
        "createdDateTime": WHEN,
        "lastModifiedDateTime": WHEN,
        "isPersonalSite": False,
    }


async def test_a_site_lists_its_libraries(readonly):
    response = await readonly.get(f"/sites/{readonly.id('yard')}/drives")

    drive = readonly.resources["documents"].drive_id
    assert names(response, "drives") == ["Documents", "Drawings"]
    assert response.json()["drives"][0] == {
        "id": f"collab:drive:{drive}",
        "name": "Documents",
        "description": None,
        "webUrl": "https://content.x.example/sites/yard/Shared%20Documents",
        "rootFolderId": f"collab:drive:{drive}:item:root",
    }


async def test_a_site_without_libraries_has_an_empty_list_and_an_unknown_site_is_missing(readonly):
    site = readonly.id("company")
    unknown = site.replace(site.split(",")[1], "00000000-0000-0000-0000-000000000000")

    assert (await readonly.get(f"/sites/{site}/drives")).json() == {
        "drives": [],
        "nextPageToken": None,
        "hasMore": False,
    }
    assert (await readonly.get(f"/sites/{unknown}/drives")).status_code == 404


async def test_lists_are_sorted_by_name_and_omit_columns(readonly):
    response = await readonly.get(f"/sites/{readonly.id('yard')}/lists")

    assert names(response, "lists", "displayName") == ["Berths", "Documents", "Drawings"]
    assert response.json()["lists"][0] == {
        "id": readonly.id("berths"),
        "displayName": "Berths",
        "name": "Berths",
        "description": "Where boats lie",
        "webUrl": "https://content.x.example/sites/yard/Lists/Berths",
        "template": "genericList",
        "hidden": False,
        "createdDateTime": WHEN,
        "lastModifiedDateTime": WHEN,
        "siteName": "Yard",
    }


async def test_a_list_has_its_columns(readonly):
    body = (await readonly.get(readonly.path("berths"))).json()

    columns = {column["name"]: column for column in body["columns"]}
    assert columns["Length"] == {
        "name": "Length",
        "displayName": "Length",
        "columnType": "number",
        "hidden": False,
        "readOnly": False,
        "required": False,
        "indexed": True,
    }
    assert body["siteName"] == "Yard"


async def test_a_list_item_has_no_envelope_and_an_etag(readonly):
    response = await readonly.get(readonly.path("berths", 2))

    body = response.json()
    fields = body.pop("fields")
    assert {name: fields[name] for name in ("Title", "Length", "Paid")} == {
        "Title": "Berth 2",
        "Length": 4,
        "Paid": True,
    }
    assert body == {
        "id": readonly.row("berths", 2),
        "name": "Berth 2",
        "webUrl": "https://content.x.example/sites/yard/Lists/Berths/2_.000",
        "contentType": "Item",
        "createdDateTime": WHEN,
        "lastModifiedDateTime": WHEN,
        "createdBy": "Ann Miller",
        "lastModifiedBy": "Ann Miller",
        "siteName": "Yard",
        "listName": "Berths",
        "labels": None,
    }
    assert response.headers["etag"].startswith('"')


@pytest.mark.parametrize(
    ("query", "numbers"),
    [
        pytest.param({}, [1, 2, 3, 4], id="all"),
        pytest.param({"filter": "Length gt 4"}, [3, 4], id="a number"),
        pytest.param({"filter": "fields/Paid eq true"}, [2, 4], id="a boolean, with its prefix"),
        pytest.param({"filter": "Until eq null"}, [3], id="a missing value"),
        pytest.param({"filter": "not startswith(Title,'Berth 1')"}, [2, 3, 4], id="a function"),
        pytest.param({"orderBy": "Length desc"}, [4, 3, 2, 1], id="an order"),
        pytest.param({"orderBy": "Until"}, [3, 1, 2, 4], id="null sorts first"),
    ],
)
async def test_list_items_are_filtered_and_ordered(readonly, query, numbers):
    response = await readonly.get(readonly.path("berths", 0), **query)

    assert response.status_code == 200, response.text
    assert [item["id"] for item in response.json()["items"]] == [
        readonly.row("berths", number) for number in numbers
    ]


async def test_only_selected_columns_are_in_fields(readonly):
    response = await readonly.get(readonly.path("berths", 0), selectFields="Length, Title")

    assert [set(item["fields"]) for item in response.json()["items"]] == [{"Length", "Title"}] * 4


@pytest.mark.parametrize(
    "query",
    [
        pytest.param({"filter": "Length gt"}, id="a filter that ends"),
        pytest.param({"filter": "Nothing eq 1"}, id="a filter on no column"),
        pytest.param({"orderBy": "Nothing"}, id="an order by no column"),
        pytest.param({"selectFields": "Nothing"}, id="a selection of no column"),
    ],
)
async def test_an_invalid_filter_is_refused(readonly, query):
    response = await readonly.get(readonly.path("berths", 0), **query)

    assert (response.status_code, response.json()["error"]) == (400, "INVALID_FILTER")


async def test_list_items_are_paged(readonly):
    first = await readonly.get(readonly.path("berths", 0), limit=3)
    second = await readonly.get(
        readonly.path("berths", 0), limit=3, pageToken=first.json()["nextPageToken"]
    )

    assert [item["name"] for item in first.json()["items"]] == ["Berth 1", "Berth 2", "Berth 3"]
    assert [item["name"] for item in second.json()["items"]] == ["Berth 4"]
    assert second.json()["hasMore"] is False


async def test_catalogue_labels_are_sorted_by_sensitivity(readonly):
    body = (await readonly.get("/sensitivity-labels")).json()

    assert [label["displayName"] for label in body["labels"]] == ["open", "secret"]
    assert body["labels"][0] == {
        "id": readonly.labels["open"].id,
        "displayName": "open",
        "description": "For what is open.",
        "color": "Green",
        "sensitivity": 1,
        "toolTip": "open!",
        "isActive": True,
        "isAppliable": True,
    }


async def test_the_label_endpoint_returns_a_files_label(readonly):
    response = await readonly.get(f"/files/{readonly.id('plan')}/sensitivity-label")

    assert response.json() == {
        "success": True,
        "labelId": readonly.labels["secret"].id,
        "labelDisplayName": "secret",
        "assignmentMethod": "standard",
        "assignedDateTime": None,
        "errorMessage": None,
    }


@pytest.mark.parametrize("name", ["notes", "boats"])
async def test_an_unlabelled_file_has_null_label_members(readonly, name):
    body = (await readonly.get(f"/files/{readonly.id(name)}/sensitivity-label")).json()

    assert body.pop("success") is True
    assert set(body.values()) == {None}


async def test_a_search_finds_every_kind(readonly):
    body = (await readonly.get("/search", q="keel")).json()

    assert set(body) == {"hits", "from", "total", "moreResultsAvailable"}
    assert (body["from"], body["moreResultsAvailable"]) == (0, False)
    kinds = {(hit["entityType"], hit["id"]) for hit in body["hits"]}
    assert ("driveItem", readonly.id("plan")) in kinds
    assert ("listItem", readonly.row("crew", 1)) in kinds


@pytest.mark.parametrize(
    ("query", "code"),
    [
        pytest.param({}, "INVALID_QUERY", id="no q"),
        pytest.param({"q": "  "}, "INVALID_QUERY", id="a blank q"),
        pytest.param({"q": 'a "b'}, "INVALID_QUERY", id="a quote that is not closed"),
        pytest.param({"q": "x" * 1001}, "INVALID_QUERY", id="too long"),
        pytest.param({"q": "x", "entityTypes": "mail"}, "INVALID_PARAMETER", id="another kind"),
        pytest.param({"q": "x", "from": -1}, "INVALID_PARAMETER", id="before the first"),
        pytest.param({"q": "x", "limit": 0}, "INVALID_PARAMETER", id="no hits"),
        pytest.param({"q": "x", "siteId": "yard"}, "INVALID_ID", id="no site"),
    ],
)
async def test_an_invalid_search_is_refused(readonly, query, code):
    response = await readonly.get("/search", **query)

    assert (response.status_code, response.json()["error"]) == (400, code)
    assert readonly.calls() == []


async def test_a_search_offset_is_capped_at_10000(readonly):
    response = await readonly.get("/search", **{"q": "keel", "from": 10_001})

    assert (response.status_code, response.json()["from"]) == (200, 10_000)
    assert "x-applied-limit" not in response.headers


async def test_a_limit_above_the_maximum_is_lowered(readonly):
    for path, most in (("/files", 100), ("/sites", 100), ("/search?q=keel", 100)):
        response = await readonly.get(f"{path}{'&' if '?' in path else '?'}limit=5000")
        assert (response.status_code, response.headers["x-applied-limit"]) == (200, str(most))


async def test_a_missing_resource_is_404_without_a_code(readonly):
    drive = readonly.resources["documents"].drive_id
    for path in (f"/files/collab:drive:{drive}:item:01NOTHING", readonly.path("berths", 99)):
        response = await readonly.get(path)
        assert (response.status_code, response.json()["error"]) == (404, None)


@pytest.mark.parametrize(
    "times", ['modifiedAfter: "0001-01-01"', 'modifiedBefore: "9999-12-31T23:59:59Z"']
)
async def test_the_first_and_the_last_time_bound_no_file(readonly, times):
    """Files that are shared with somebody are found by the search index."""
    text = 'query { collabFiles(sharedWith: "bo@work.example", %s) { files { id } } }'
    token = await readonly.token()
    bounded = await readonly.graphql(text % times, token)
    unbounded = await readonly.graphql(text % "limit: 20", token)

    assert "errors" not in bounded
    assert bounded["data"] == unbounded["data"]
