"""
The whole surface over an app-only connection to selected sites: the same responses, fewer sites.

The application may write in the site "Yard" and read in "Company"; it can neither list nor search
sites. Everything else does not exist for it: docs/spec/collab.md#connection-modes.
"""

import content_world
import pytest
import pytest_asyncio
from failed_results import failed_result
from world import EMPTY, MAIN

from sandbox.collab.records import SiteGrant

pytestmark = pytest.mark.asyncio(loop_scope="session")

SCOPES = ("Sites.Selected", "SensitivityLabels.Read.All")


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def selected_sites(content_template, tmp_path_factory):
    """A world with a resource whose connection has selected sites only."""
    folder = tmp_path_factory.mktemp("selected")
    async with content_world.opened(content_template, folder) as content:
        state = content.world.sandbox.state
        sites = {"yard": "write", "company": "read"}
        for name, role in sites.items():
            grant = SiteGrant(site_id=content.resources[name].id, application="app", role=role)
            state.content.put(grant)
        issued = state.tokens.issue("collab", "app", SCOPES, app_only=True)
        await content_world.connect(
            content.world,
            resource=EMPTY,
            scopes=list(SCOPES),
            account="app@x.example",
            mode="selected_sites",
            selectedSiteIds=[content.resources[name].id.lower() for name in sites],
            credentials={"accessToken": issued},
        )
        content.forget_calls()
        yield content


@pytest_asyncio.fixture(loop_scope="session")
async def call(selected_sites):
    """Return a function that calls the API over the app-only connection."""
    token = await selected_sites.token(resources=(EMPTY,))
    selected_sites.forget_calls()

    def calling(method, path, **more):
        return selected_sites.call(method, path, token, **more)

    return calling


def site_of(content, name):
    return f"/sites/{content.id(name)}"


ALIKE = (
    pytest.param(lambda c: site_of(c, "yard"), id="a site"),
    pytest.param(lambda c: site_of(c, "yard") + "/drives", id="libraries"),
    pytest.param(lambda c: site_of(c, "yard") + "/lists", id="lists"),
    pytest.param(lambda c: site_of(c, "company") + "/lists?includeHidden=true", id="lists to read"),
    pytest.param(lambda c: c.path("berths"), id="a list"),
    pytest.param(lambda c: c.path("berths", 0), id="items"),
    pytest.param(lambda c: c.path("berths", 0) + "?filter=Length gt 3&orderBy=Length desc"),
    pytest.param(lambda c: c.path("berths", 2), id="an item"),
    pytest.param(lambda c: c.path("crew", 1), id="an item to read"),
    pytest.param(lambda c: f"/files?folderId={c.id('boats')}", id="a folder"),
    pytest.param(lambda c: f"/files?siteId={c.id('yard')}&orderBy=name", id="a site's files"),
    pytest.param(lambda c: f"/files/{c.id('plan')}", id="a file"),
    pytest.param(lambda c: f"/files/{c.id('boats')}", id="a folder itself"),
    pytest.param(lambda c: f"/files/{c.id('notes')}/permissions", id="permissions"),
    pytest.param(lambda c: f"/files/{c.id('plan')}/sensitivity-label", id="a label"),
    pytest.param(lambda _: "/sensitivity-labels", id="labels"),
)


@pytest.mark.parametrize("path", ALIKE)
async def test_a_selected_site_gives_the_same_responses_as_delegated_access(
    selected_sites, call, path
):
    """The endpoints are identical in both modes, and so are the objects."""
    delegated = await selected_sites.get(path(selected_sites))

    response = await call("GET", path(selected_sites))

    assert (response.status_code, delegated.status_code) == (200, 200), response.text
    assert response.json() == delegated.json()
    assert response.headers.get("etag") == delegated.headers.get("etag")


async def test_a_download_link_returns_the_bytes(selected_sites, call):
    response = await call("GET", f"/files/{selected_sites.id('notes')}/download")

    body = response.json()
    assert {name: body[name] for name in ("success", "fileName", "mimeType", "size")} == {
        "success": True,
        "fileName": "notes.txt",
        "mimeType": "text/plain",
        "size": 20,
    }
    async with selected_sites.client("none") as client:
        del client.headers["authorization"]
        read = await client.get(body["downloadUrl"])
    assert read.text.strip() == "varnish on the keel"


async def test_only_selected_sites_are_listed_without_a_site_search(selected_sites, call):
    response = await call("GET", "/sites")

    all_sites = (await selected_sites.get("/sites")).json()["sites"]
    assert response.json() == {
        "sites": [site for site in all_sites if site["name"] != "ann"],
        "nextPageToken": None,
        "hasMore": False,
    }
    assert [site["displayName"] for site in response.json()["sites"]] == ["Company", "Yard"]
    assert (await call("GET", "/sites?q=yar")).json()["sites"] == [
        site for site in all_sites if site["displayName"] == "Yard"
    ]


@pytest.mark.parametrize(
    ("query", "names"),
    [
        ("", ["notes.txt", "Houses", "hull.png", "Boats"]),
        ("?q=keel", ["sketch.pdf", "notes.txt", "plan.docx"]),
        ("?mimeType=image/*", ["hull.png"]),
        ("?mimeType=IMAGE/*", ["hull.png"]),
        ("?mimeType=" + "*e" * 127, []),
    ],
)
async def test_file_listings_cover_the_selected_sites(call, query, names):
    response = await call("GET", f"/files{query}")

    assert sorted(file["name"] for file in response.json()["files"]) == sorted(names)
    assert response.json()["hasMore"] is False


WARNING = "In selected sites, lists are found by their names and list items by their titles."


async def test_a_search_runs_in_each_selected_site_and_merges(selected_sites, call):
    response = await call("GET", "/search?q=keel&limit=3")
    body = response.json()
    rest = (await call("GET", "/search?q=keel&limit=3&from=3")).json()

    assert len(body["hits"]) == 3
    assert sorted(hit["title"] for hit in body["hits"] + rest["hits"]) == [
        "Ann keel",
        "notes.txt",
        "plan.docx",
        "sketch.pdf",
    ]
    totals = {
        name: body[name] for name in ("from", "total", "moreResultsAvailable", "authWarnings")
    }
    assert totals == {
        "from": 0,
        "total": 4,
        "moreResultsAvailable": True,
        "authWarnings": [WARNING],
    }
    assert (rest["from"], rest["moreResultsAvailable"]) == (3, False)


@pytest.mark.slow
@pytest.mark.parametrize("op", [":", "=", "<>", "<", ">="])
@pytest.mark.parametrize("field", ["title", "filename", "author", "path", "filetype", "unknown"])
@pytest.mark.parametrize("value", ['"!!"', '""', "!!", "*", '"!!"*', "..", "2026-99-99"])
async def test_a_condition_without_a_word_is_answered(call, field, op, value):
    response = await call("GET", "/search", params={"q": f"{field}{op}{value}"})

    assert response.status_code == 200, response.text


async def test_no_title_lacks_a_phrase_without_words(call):
    everything = (await call("GET", "/search", params={"q": 'title:"!!"'})).json()

    assert everything["total"] > 0
    assert (await call("GET", "/search", params={"q": 'title<>"!!"'})).json()["hits"] == []


async def test_no_call_exceeds_application_permissions(selected_sites, call):
    for path in ("/sites", "/sites?q=y", "/files", "/files?q=keel", "/search?q=keel"):
        assert (await call("GET", path)).status_code == 200

    paths = [call["path"] for call in selected_sites.calls()]
    assert not [path for path in paths if path.endswith(("/sites", "/search/query", "/me/drive"))]
    assert not [path for path in paths if "getAllSites" in path or "followedSites" in path]


ELSEWHERE = (
    ("GET", lambda c: site_of(c, "mine"), None),
    ("GET", lambda c: site_of(c, "mine") + "/drives", None),
    ("GET", lambda c: site_of(c, "mine") + "/lists", None),
    ("GET", lambda c: f"/files?siteId={c.id('mine')}", None),
    ("GET", lambda c: f"/search?q=keel&siteId={c.id('mine')}", None),
    ("GET", lambda c: f"/files?folderId={c.id('own')}", None),
    ("GET", lambda c: f"/files/{c.id('letter')}", None),
    ("GET", lambda c: f"/files/{c.id('letter')}/permissions", None),
    ("GET", lambda c: f"/files/{c.id('letter')}/download", "link"),
    ("GET", lambda c: f"/files/{c.id('letter')}/sensitivity-label", "label"),
    ("PATCH", lambda c: f"/files/{c.id('letter')}/rename", "result"),
    ("DELETE", lambda c: f"/files/{c.id('letter')}", "result"),
    ("POST", lambda c: f"/files/{c.id('letter')}/share", "result"),
    ("POST", lambda c: f"/files/upload?fileName=a.txt&folderId={c.id('own')}", "result"),
)
RESULTS = {
    "result": "DriveOperationResult",
    "link": "DriveFileLinkResponse",
    "label": "ItemSensitivityLabelResponse",
}
BODIES = {"rename": {"newName": "x.txt"}, "share": {"type": "anyone", "role": "reader"}}


@pytest.mark.parametrize(("method", "path", "kind"), ELSEWHERE)
async def test_unselected_sites_are_not_found(selected_sites, call, method, path, kind):
    path = path(selected_sites)
    body = BODIES.get(path.rpartition("/")[2])

    response = await call(method, path, **({} if body is None else {"json": body}))

    body = response.json()
    sentence = "There is no resource with this id."
    expected = {"error": None, "message": sentence, "requestId": body["requestId"]}
    if kind is not None:
        expected |= failed_result(RESULTS[kind], sentence, "NOT_FOUND")
    if path.endswith("/share"):
        expected |= {"permissionId": None, "role": None}
    assert (response.status_code, body) == (404, expected)
    # At most the site of the library was read, and nothing in the library.
    assert [call for call in selected_sites.calls() if "/items/" in call["path"]] == []


async def test_files_are_created_changed_and_deleted(selected_sites, call):
    params = {"fileName": "app.txt", "folderId": selected_sites.id("boats")}
    created = await call("POST", "/files/upload", params=params, content=b"by the application")
    file = created.json()["fileId"]
    assert (created.status_code, created.json()) == (
        200,
        {"success": True, "fileId": file, "errorMessage": None, "errorCode": None},
    )
    folder = await call(
        "POST", "/folders", json={"name": "App", "parentFolderId": selected_sites.id("boats")}
    )
    target = folder.json()["fileId"]
    renamed = await call("PATCH", f"/files/{file}/rename", json={"newName": "b.txt"})
    moved = await call("PATCH", f"/files/{file}/move", json={"destinationFolderId": target})
    shared = await call(
        "POST",
        f"/files/{file}/share",
        json={"type": "user", "role": "reader", "emailAddress": content_world.BOB},
    )
    permission = shared.json()["permissionId"]
    path = f"/files/{file}/permissions/{permission}"
    raised = await call("PATCH", path, json={"role": "writer"})
    for response in (renamed, moved, shared, raised):
        assert (response.status_code, response.json()["fileId"]) == (200, file), response.text
    read = (await call("GET", f"/files/{file}")).json()["file"]
    assert (read["name"], read["parentFolderName"], read["owners"]) == ("b.txt", "App", [])
    bob = {"email": content_world.BOB, "displayName": "Bob Stone", "role": "writer"}
    assert bob in read["sharedWith"]
    assert (await call("DELETE", path)).status_code == 204
    assert (await call("DELETE", f"/files/{target}")).status_code == 204
    assert (await call("GET", f"/files/{file}")).status_code == 404


async def test_list_items_are_created_changed_and_deleted(selected_sites, call):
    created = await call(
        "POST", selected_sites.path("berths", 0), json={"fields": {"Title": "By app"}}
    )
    number = int(created.json()["id"].rpartition(":")[2])
    path = selected_sites.path("berths", number)
    changed = await call("PATCH", path, json={"fields": {"Length": 12}})

    assert (created.status_code, created.json()["createdBy"]) == (201, "Application")
    body = changed.json()
    assert (changed.status_code, body["name"], body["fields"]["Length"]) == (200, "By app", 12)
    assert (await call("DELETE", path)).status_code == 204
    assert (await call("GET", path)).status_code == 404


async def test_a_read_only_site_is_not_written(selected_sites, call):
    body = {"fields": {"Title": "x", "Phone": "1"}}

    response = await call("POST", selected_sites.path("crew", 0), json=body)

    answer = response.json()
    assert (response.status_code, answer["error"]) == (403, "READ_ONLY")
    assert answer["message"] == "The connection may only read this site of the provider."
    rows = (await call("GET", selected_sites.path("crew", 0))).json()["items"]
    assert [item["name"] for item in rows] == ["Ann keel"]


async def test_no_file_of_a_read_only_site_is_changed(selected_sites, call):
    folder, file = selected_sites.id("boats"), selected_sites.id("house")
    store, site = selected_sites.world.sandbox.state.content, selected_sites.resources["yard"].id
    store.put(SiteGrant(site_id=site, application="app", role="read"))
    written = [
        ("POST", f"/files/upload?fileName=a.txt&folderId={folder}", {"content": b"x"}),
        ("POST", "/folders", {"json": {"name": "New", "parentFolderId": folder}}),
        ("PATCH", f"/files/{file}/rename", {"json": {"newName": "x.txt"}}),
        ("PATCH", f"/files/{file}/move", {"json": {"destinationFolderId": folder}}),
        ("POST", f"/files/{file}/share", {"json": {"type": "anyone", "role": "reader"}}),
        ("DELETE", f"/files/{file}", {}),
    ]

    for method, path, body in written:
        response = await call(method, path, **body)
        assert (response.status_code, response.json()["error"]) == (403, "READ_ONLY"), path
    store.put(SiteGrant(site_id=site, application="app", role="write"))


async def test_rules_apply_as_with_delegated_access(selected_sites):
    token = await selected_sites.block_all_token(
        ("folder", selected_sites.id("boats"), "allow"),
        ("file_id", selected_sites.id("plan"), "block"),
        resources=(EMPTY,),
    )

    listing = await selected_sites.get(f"/files?folderId={selected_sites.id('boats')}", token)
    search = await selected_sites.get("/search?q=keel", token)
    blocked = await selected_sites.get(f"/files/{selected_sites.id('plan')}", token)
    foreign = await selected_sites.get(f"/files/{selected_sites.id('letter')}", token)

    assert sorted(file["name"] for file in listing.json()["files"]) == ["Inner", "sketch.pdf"]
    assert ([hit["title"] for hit in search.json()["hits"]], search.json()["total"]) == (
        ["sketch.pdf"],
        4,
    )
    for response in (blocked, foreign):
        assert (response.status_code, response.json()["error"]) == (404, "BLOCKED")


async def test_masked_fields_are_not_fetched(selected_sites):
    token = await selected_sites.token_with_fields("name", resources=(EMPTY,))
    selected_sites.forget_calls()

    file = (await selected_sites.get(f"/files/{selected_sites.id('notes')}", token)).json()["file"]

    visible_fields = {name for name, value in file.items() if value is not None}
    assert visible_fields == {"id", "name", "isFolder", "provider"}
    queries = str([call["query"] for call in selected_sites.calls()])
    assert not any(word in queries for word in ("size", "createdBy", "webUrl", "description"))


NAMED_RESULTS = """query(
  $file: String!, $folder: String!, $site: String!, $list: String!, $item: String!
) {
  collabFile(fileId: $file) { file { connectionId } }
  collabFiles(folderId: $folder) { files { connectionId } }
  collabSite(siteId: $site) { connectionId }
  collabSites { sites { connectionId isPersonalSite } }
  collabListItem(siteId: $site, listId: $list, itemId: $item) { connectionId }
  collabListItems(siteId: $site, listId: $list) { items { connectionId } }
}"""


def named(data):
    """Return the connections that results name."""
    results = [
        data["collabFile"]["file"],
        *data["collabFiles"]["files"],
        data["collabSite"],
        *data["collabSites"]["sites"],
        data["collabListItem"],
        *data["collabListItems"]["items"],
    ]
    return {each["connectionId"] for each in results}


async def test_results_name_the_connection_that_saw_them(selected_sites):
    """A delegated connection comes first where both see a result."""
    content = selected_sites
    variables = {
        "file": content.id("sketch"),
        "folder": content.id("boats"),
        "site": content.id("yard"),
        "list": content.id("berths"),
        "item": content.row("berths", 1),
    }
    ids = {}
    for name, resources in {"user": (MAIN,), "app": (EMPTY,), "both": (MAIN, EMPTY)}.items():
        token = await content.token(resources=resources)
        async with content.client(token) as client:
            shown = (await client.get("/api/access/token")).json()["connections"]
        own = [each["id"] for each in shown if each["kind"] == "collab"]
        answer = await content.graphql(NAMED_RESULTS, token, **variables)
        assert "errors" not in answer, answer
        ids[name] = named(answer["data"])
        assert ids[name] <= set(own)
    hiding = await content.token_with_fields("name", resources=(MAIN,))
    hidden = await content.graphql(NAMED_RESULTS, hiding, **variables)

    assert len(ids["user"]) == len(ids["app"]) == 1
    assert ids["user"] != ids["app"]
    assert ids["both"] == ids["user"]
    assert named(hidden["data"]) == {None}


async def test_a_created_list_item_names_the_connection_that_made_it(selected_sites):
    content = selected_sites
    token = await content.token(resources=(EMPTY,))
    document = """mutation($site: String!, $list: String!) {
      createListItem(siteId: $site, listId: $list, input: {fields: {Title: "Berth 9"}}) {
        connectionId } }"""

    made = await content.graphql(
        document, token, site=content.id("yard"), list=content.id("berths")
    )

    async with content.client(token) as client:
        shown = (await client.get("/api/access/token")).json()["connections"]
    (own,) = (each["id"] for each in shown if each["kind"] == "collab")
    assert made["data"]["createListItem"] == {"connectionId": own}
