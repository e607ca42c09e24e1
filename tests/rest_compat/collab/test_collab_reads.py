"""What reading the collaboration content answers: whole bodies."""

import pytest
from content_world import ANN, BOB, WHEN

pytestmark = pytest.mark.asyncio(loop_scope="session")

MODIFIED = {"notes": "2026-01-06T08:00:00Z", "sketch": "2026-01-07T08:00:00Z"}


def names(answer, member="files", of="name"):
    return [one[of] for one in answer.json()[member]]


async def test_a_file_is_answered_whole(still):
    answer = await still.get(f"/files/{still.id('notes')}")

    assert answer.status_code == 200
    assert answer.json() == {
        "file": {
            "id": still.id("notes"),
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
            "downloadLink": None,
            "parentFolderId": still.id("documents"),
            "parentFolderName": "Documents",
            "labels": None,
            "isFolder": False,
            "provider": "COLLAB",
        }
    }


async def test_a_folder_is_a_file_without_a_type(still):
    file = (await still.get(f"/files/{still.id('boats')}")).json()["file"]

    assert (file["isFolder"], file["mimeType"], file["name"]) == (True, None, "Boats")


async def test_a_file_carries_its_label(still):
    file = (await still.get(f"/files/{still.id('plan')}")).json()["file"]

    assert file["labels"] == {
        "sensitivityLabelId": still.labels["secret"].id,
        "sensitivityLabelName": "secret",
    }


async def test_a_folder_lists_its_children_newest_first(still):
    answer = await still.get("/files", folderId=still.id("boats"))

    assert names(answer) == ["sketch.pdf", "Inner"]
    assert set(answer.json()) == {"files", "nextPageToken", "hasMore"}
    assert (answer.json()["nextPageToken"], answer.json()["hasMore"]) == (None, False)


async def test_without_a_folder_every_library_shows_its_top(still):
    answer = await still.get("/files", orderBy="name")

    assert names(answer) == ["Boats", "Houses", "hull.png", "letter.txt", "notes.txt"]


async def test_a_site_shows_the_tops_of_its_libraries(still):
    answer = await still.get("/files", siteId=still.id("yard"), orderBy="name desc")

    assert set(names(answer)) == {"Boats", "Houses", "hull.png", "notes.txt"}


async def test_the_root_of_a_library_is_a_folder(still):
    root = f"collab:drive:{still.things['drawings'].drive_id}:item:root"

    assert names(await still.get("/files", folderId=root)) == ["hull.png"]


@pytest.mark.parametrize(
    ("query", "found"),
    [
        pytest.param({"name": "OTE"}, ["notes.txt"], id="part of a name, any case"),
        pytest.param({"mimeType": "image/*"}, ["hull.png"], id="a type with a star"),
        pytest.param({"mimeType": "text/plain"}, ["letter.txt", "notes.txt"], id="a type"),
        pytest.param({"modifiedAfter": "2026-01-05T09:00:00Z"}, ["notes.txt"], id="changed after"),
        pytest.param({"modifiedAfter": "2026-01-06T08:00:00Z"}, [], id="after is exclusive"),
        pytest.param({"modifiedBefore": WHEN}, [], id="before is exclusive"),
    ],
)
async def test_filters_narrow_a_listing(still, query, found):
    assert names(await still.get("/files", orderBy="name", **query)) == found


async def test_a_search_goes_below_a_folder(still):
    everywhere = names(await still.get("/files", q="keel"))
    below = names(await still.get("/files", q="keel", folderId=still.id("boats")))

    assert set(everywhere) == {"sketch.pdf", "notes.txt", "letter.txt", "plan.docx"}
    assert set(below) == {"sketch.pdf", "plan.docx"}


async def test_pages_of_files_lose_and_double_nothing(still):
    found, token = [], None
    for _ in range(10):
        more = {"pageToken": token} if token else {}
        page = await still.get("/files", limit=2, orderBy="name", **more)
        assert len(page.json()["files"]) <= 2
        found += names(page)
        token = page.json()["nextPageToken"]
        assert page.json()["hasMore"] is (token is not None)
        if token is None:
            break

    assert found == ["Boats", "Houses", "hull.png", "letter.txt", "notes.txt"]


async def test_a_page_token_is_of_its_listing(still):
    token = (await still.get("/files", limit=2)).json()["nextPageToken"]
    for query in ({"name": "x"}, {"folderId": still.id("boats")}, {"orderBy": "size"}):
        answer = await still.get("/files", pageToken=token, **query)
        assert (answer.status_code, answer.json()["error"]) == (400, "INVALID_PAGE_TOKEN")


async def test_a_download_answers_addresses(still):
    answer = await still.get(f"/files/{still.id('notes')}/download")

    body = answer.json()
    assert answer.status_code == 200
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


async def test_a_folder_has_no_download(still):
    answer = await still.get(f"/files/{still.id('boats')}/download")

    body = answer.json()
    assert answer.status_code == 400
    assert (body["error"], body["errorCode"], body["success"]) == (
        "INVALID_REQUEST",
        "INVALID_REQUEST",
        False,
    )
    assert body["errorMessage"] == body["message"]


async def test_permissions_say_who_may_what(still):
    answer = await still.get(f"/files/{still.id('notes')}/permissions")

    last = answer.json()["permissions"][-1]
    assert last.pop("id")
    assert last == {
        "type": "user",
        "role": "writer",
        "emailAddress": BOB,
        "domain": None,
        "displayName": "Bob Stone",
    }


async def test_sites_come_by_name(still):
    answer = await still.get("/sites")

    assert names(answer, "sites", "displayName") == ["Ann Miller", "Company", "Yard"]
    assert set(answer.json()) == {"sites", "nextPageToken", "hasMore"}
    assert [one["isPersonalSite"] for one in answer.json()["sites"]] == [True, False, False]


async def test_sites_are_looked_up_by_part_of_name_or_address(still):
    assert names(await still.get("/sites", q="yAr"), "sites", "displayName") == ["Yard"]
    assert names(await still.get("/sites", q="people."), "sites", "displayName") == ["Ann Miller"]
    assert names(await still.get("/sites", q="nothing"), "sites", "displayName") == []


async def test_sites_are_paged(still):
    first = await still.get("/sites", limit=2)
    second = await still.get("/sites", limit=2, pageToken=first.json()["nextPageToken"])

    assert names(first, "sites", "displayName") == ["Ann Miller", "Company"]
    assert names(second, "sites", "displayName") == ["Yard"]
    assert second.json()["hasMore"] is False


async def test_a_site_is_flat(still):
    answer = await still.get(f"/sites/{still.id('yard')}")

    assert answer.json() == {
        "id": still.id("yard"),
        "displayName": "Yard",
        "name": "yard",
        "description": "Where boats are",
        "webUrl": "https://content.x.example/sites/yard",
        "createdDateTime": WHEN,
        "lastModifiedDateTime": WHEN,
        "isPersonalSite": False,
    }


async def test_a_site_tells_its_libraries(still):
    answer = await still.get(f"/sites/{still.id('yard')}/drives")

    drive = still.things["documents"].drive_id
    assert names(answer, "drives") == ["Documents", "Drawings"]
    assert answer.json()["drives"][0] == {
        "id": f"collab:drive:{drive}",
        "name": "Documents",
        "description": None,
        "webUrl": "https://content.x.example/sites/yard/Shared%20Documents",
        "rootFolderId": f"collab:drive:{drive}:item:root",
    }


async def test_lists_come_by_name_without_columns(still):
    answer = await still.get(f"/sites/{still.id('yard')}/lists")

    assert names(answer, "lists", "displayName") == ["Berths", "Documents", "Drawings"]
    assert answer.json()["lists"][0] == {
        "id": still.id("berths"),
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


async def test_a_list_tells_its_columns(still):
    body = (await still.get(still.path("berths"))).json()

    columns = {one["name"]: one for one in body["columns"]}
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


async def test_a_list_item_is_flat_and_has_an_etag(still):
    answer = await still.get(still.path("berths", 2))

    body = answer.json()
    fields = body.pop("fields")
    assert {name: fields[name] for name in ("Title", "Length", "Paid")} == {
        "Title": "Berth 2",
        "Length": 4,
        "Paid": True,
    }
    assert body == {
        "id": still.row("berths", 2),
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
    assert answer.headers["etag"].startswith('"')


@pytest.mark.parametrize(
    ("query", "found"),
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
async def test_list_items_are_filtered_and_ordered(still, query, found):
    answer = await still.get(still.path("berths", 0), **query)

    assert answer.status_code == 200, answer.text
    assert [one["id"] for one in answer.json()["items"]] == [
        still.row("berths", number) for number in found
    ]


async def test_only_selected_columns_are_in_fields(still):
    answer = await still.get(still.path("berths", 0), selectFields="Length, Title")

    assert [set(one["fields"]) for one in answer.json()["items"]] == [{"Length", "Title"}] * 4


@pytest.mark.parametrize(
    "query",
    [
        pytest.param({"filter": "Length gt"}, id="a filter that ends"),
        pytest.param({"filter": "Nothing eq 1"}, id="a filter on no column"),
        pytest.param({"orderBy": "Nothing"}, id="an order by no column"),
        pytest.param({"selectFields": "Nothing"}, id="a selection of no column"),
    ],
)
async def test_what_is_no_filter_is_refused(still, query):
    answer = await still.get(still.path("berths", 0), **query)

    assert (answer.status_code, answer.json()["error"]) == (400, "INVALID_FILTER")


async def test_list_items_are_paged(still):
    first = await still.get(still.path("berths", 0), limit=3)
    second = await still.get(
        still.path("berths", 0), limit=3, pageToken=first.json()["nextPageToken"]
    )

    assert [one["name"] for one in first.json()["items"]] == ["Berth 1", "Berth 2", "Berth 3"]
    assert [one["name"] for one in second.json()["items"]] == ["Berth 4"]
    assert second.json()["hasMore"] is False


async def test_labels_of_the_catalogue_come_by_sensitivity(still):
    body = (await still.get("/sensitivity-labels")).json()

    assert [one["displayName"] for one in body["labels"]] == ["open", "secret"]
    assert body["labels"][0] == {
        "id": still.labels["open"].id,
        "displayName": "open",
        "description": "For what is open.",
        "color": "Green",
        "sensitivity": 1,
        "toolTip": "open!",
        "isActive": True,
        "isAppliable": True,
    }


async def test_a_files_label_is_told(still):
    answer = await still.get(f"/files/{still.id('plan')}/sensitivity-label")

    assert answer.json() == {
        "success": True,
        "labelId": still.labels["secret"].id,
        "labelDisplayName": "secret",
        "assignmentMethod": "standard",
        "assignedDateTime": None,
        "errorMessage": None,
    }


@pytest.mark.parametrize("name", ["notes", "boats"])
async def test_without_a_label_its_members_are_null(still, name):
    body = (await still.get(f"/files/{still.id(name)}/sensitivity-label")).json()

    assert body.pop("success") is True
    assert set(body.values()) == {None}


async def test_a_search_finds_every_kind(still):
    body = (await still.get("/search", q="keel")).json()

    assert set(body) == {"hits", "from", "total", "moreResultsAvailable"}
    assert (body["from"], body["moreResultsAvailable"]) == (0, False)
    kinds = {(one["entityType"], one["id"]) for one in body["hits"]}
    assert ("driveItem", still.id("plan")) in kinds
    assert ("listItem", still.row("crew", 1)) in kinds


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
async def test_what_is_no_search_is_refused(still, query, code):
    answer = await still.get("/search", **query)

    assert (answer.status_code, answer.json()["error"]) == (400, code)
    assert still.calls() == []


async def test_a_search_starts_at_the_ten_thousandth_hit_at_most(still):
    answer = await still.get("/search", **{"q": "keel", "from": 10_001})

    assert (answer.status_code, answer.json()["from"]) == (200, 10_000)
    assert "x-applied-limit" not in answer.headers


async def test_a_limit_above_the_maximum_is_lowered(still):
    for path, most in (("/files", 100), ("/sites", 100), ("/search?q=keel", 100)):
        answer = await still.get(f"{path}{'&' if '?' in path else '?'}limit=5000")
        assert (answer.status_code, answer.headers["x-applied-limit"]) == (200, str(most))


async def test_what_is_not_there_is_404_without_a_code(still):
    drive = still.things["documents"].drive_id
    for path in (f"/files/collab:drive:{drive}:item:01NOTHING", still.path("berths", 99)):
        answer = await still.get(path)
        assert (answer.status_code, answer.json()["error"]) == (404, None)
