"""
The whole surface over an app-only connection to selected sites: the same answers, fewer sites.

The application may write in the site "Yard" and read in "Company"; it can neither list nor search
sites. Everything else does not exist for it. Source: decisions 8.15.
"""

import content_world
import pytest
import pytest_asyncio
from world import EMPTY

from sandbox.collab.records import SiteGrant

pytestmark = pytest.mark.asyncio(loop_scope="session")

SCOPES = ("Sites.Selected", "SensitivityLabels.Read.All")


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def chosen(content_template, tmp_path_factory):
    """A world with the selected sites on a resource of their own."""
    folder = tmp_path_factory.mktemp("selected")
    async with content_world.opened(content_template, folder) as content:
        ground = content.world.sandbox.ground
        sites = {"yard": "write", "company": "read"}
        for name, role in sites.items():
            grant = SiteGrant(site_id=content.things[name].id, application="app", role=role)
            ground.shelf.put(grant)
        issued = ground.tokens.issue("collab", "app", SCOPES, app_only=True)
        await content_world.connect(
            content.world,
            resource=EMPTY,
            scopes=list(SCOPES),
            account="app@x.example",
            mode="selected_sites",
            selectedSiteIds=[content.things[name].id.lower() for name in sites],
            credentials={"accessToken": issued},
        )
        content.forget_calls()
        yield content


@pytest_asyncio.fixture(loop_scope="session")
async def call(chosen):
    """Return what calls as the application."""
    token = await chosen.token(resources=(EMPTY,))
    chosen.forget_calls()

    def calling(method, path, **more):
        return chosen.call(method, path, token, **more)

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
async def test_what_lies_in_a_selected_site_is_answered_as_to_a_person(chosen, call, path):
    """The endpoints are identical in both modes, and so are the objects."""
    delegated = await chosen.get(path(chosen))

    answer = await call("GET", path(chosen))

    assert (answer.status_code, delegated.status_code) == (200, 200), answer.text
    assert answer.json() == delegated.json()
    assert answer.headers.get("etag") == delegated.headers.get("etag")


async def test_a_download_leads_to_the_bytes(chosen, call):
    answer = await call("GET", f"/files/{chosen.id('notes')}/download")

    body = answer.json()
    assert {name: body[name] for name in ("success", "fileName", "mimeType", "size")} == {
        "success": True,
        "fileName": "notes.txt",
        "mimeType": "text/plain",
        "size": 20,
    }
    async with chosen.client("none") as client:
        del client.headers["authorization"]
        read = await client.get(body["downloadUrl"])
    assert read.text.strip() == "varnish on the keel"


async def test_only_selected_sites_are_listed_and_none_is_looked_for(chosen, call):
    answer = await call("GET", "/sites")

    every = (await chosen.get("/sites")).json()["sites"]
    assert answer.json() == {
        "sites": [one for one in every if one["name"] != "ann"],
        "nextPageToken": None,
        "hasMore": False,
    }
    assert [one["displayName"] for one in answer.json()["sites"]] == ["Company", "Yard"]
    assert (await call("GET", "/sites?q=yar")).json()["sites"] == [
        one for one in every if one["displayName"] == "Yard"
    ]


@pytest.mark.parametrize(
    ("query", "names"),
    [
        ("", ["notes.txt", "Houses", "hull.png", "Boats"]),
        ("?q=keel", ["sketch.pdf", "notes.txt", "plan.docx"]),
        ("?mimeType=image/*", ["hull.png"]),
    ],
)
async def test_files_are_those_of_the_selected_sites(call, query, names):
    answer = await call("GET", f"/files{query}")

    assert sorted(one["name"] for one in answer.json()["files"]) == sorted(names)
    assert answer.json()["hasMore"] is False


WARNING = "In selected sites, lists are found by their names and list items by their titles."


async def test_a_search_runs_in_each_selected_site_and_merges(chosen, call):
    answer = await call("GET", "/search?q=keel&limit=3")
    body = answer.json()
    rest = (await call("GET", "/search?q=keel&limit=3&from=3")).json()

    assert len(body["hits"]) == 3
    assert sorted(one["title"] for one in body["hits"] + rest["hits"]) == [
        "Ann keel",
        "notes.txt",
        "plan.docx",
        "sketch.pdf",
    ]
    told = {name: body[name] for name in ("from", "total", "moreResultsAvailable", "authWarnings")}
    assert told == {
        "from": 0,
        "total": 4,
        "moreResultsAvailable": True,
        "authWarnings": [WARNING],
    }
    assert (rest["from"], rest["moreResultsAvailable"]) == (3, False)


async def test_nothing_is_asked_that_an_application_may_not(chosen, call):
    for path in ("/sites", "/sites?q=y", "/files", "/files?q=keel", "/search?q=keel"):
        assert (await call("GET", path)).status_code == 200

    asked = [one["path"] for one in chosen.calls()]
    assert not [one for one in asked if one.endswith(("/sites", "/search/query", "/me/drive"))]
    assert not [one for one in asked if "getAllSites" in one or "followedSites" in one]


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
BODIES = {
    "rename": {"newName": "x.txt"},
    "share": {"type": "anyone", "role": "reader"},
}


@pytest.mark.parametrize(("method", "path", "kind"), ELSEWHERE)
async def test_other_sites_are_genuinely_missing(chosen, call, method, path, kind):
    path = path(chosen)
    body = BODIES.get(path.rpartition("/")[2])

    answer = await call(method, path, **({} if body is None else {"json": body}))

    told = answer.json()
    sentence = "There is nothing under this id."
    expected = {"error": None, "message": sentence, "requestId": told["requestId"]}
    if kind is not None:
        expected |= {"success": False, "errorMessage": sentence}
    if kind in ("link", "result"):
        expected |= {"errorCode": "NOT_FOUND"}
    assert (answer.status_code, told) == (404, expected)
    # At most the library's site was looked up, and nothing in it.
    assert [one for one in chosen.calls() if "/items/" in one["path"]] == []


async def test_files_are_made_changed_and_taken_away(chosen, call):
    params = {"fileName": "app.txt", "folderId": chosen.id("boats")}
    made = await call("POST", "/files/upload", params=params, content=b"by the application")
    file = made.json()["fileId"]
    assert (made.status_code, made.json()) == (
        200,
        {"success": True, "fileId": file, "errorMessage": None, "errorCode": None},
    )
    folder = await call(
        "POST", "/folders", json={"name": "App", "parentFolderId": chosen.id("boats")}
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
    for answer in (renamed, moved, shared, raised):
        assert (answer.status_code, answer.json()["fileId"]) == (200, file), answer.text
    read = (await call("GET", f"/files/{file}")).json()["file"]
    assert (read["name"], read["parentFolderName"], read["owners"]) == ("b.txt", "App", [])
    bob = {"email": content_world.BOB, "displayName": "Bob Stone", "role": "writer"}
    assert bob in read["sharedWith"]
    assert (await call("DELETE", path)).status_code == 204
    assert (await call("DELETE", f"/files/{target}")).status_code == 204
    assert (await call("GET", f"/files/{file}")).status_code == 404


async def test_list_items_are_made_changed_and_taken_away(chosen, call):
    made = await call("POST", chosen.path("berths", 0), json={"fields": {"Title": "By app"}})
    number = int(made.json()["id"].rpartition(":")[2])
    path = chosen.path("berths", number)
    changed = await call("PATCH", path, json={"fields": {"Length": 12}})

    assert (made.status_code, made.json()["createdBy"]) == (201, "Application")
    told = changed.json()
    assert (changed.status_code, told["name"], told["fields"]["Length"]) == (200, "By app", 12)
    assert (await call("DELETE", path)).status_code == 204
    assert (await call("GET", path)).status_code == 404


async def test_a_site_that_was_given_to_read_is_not_written(chosen, call):
    body = {"fields": {"Title": "x", "Phone": "1"}}

    answer = await call("POST", chosen.path("crew", 0), json=body)

    assert (answer.status_code, answer.json()["error"]) == (403, "PROVIDER_REFUSED")
    rows = (await call("GET", chosen.path("crew", 0))).json()["items"]
    assert [one["name"] for one in rows] == ["Ann keel"]


async def test_rules_hold_as_for_a_person(chosen):
    token = await chosen.selecting(
        ("folder", chosen.id("boats"), "allow"),
        ("file_id", chosen.id("plan"), "block"),
        resources=(EMPTY,),
    )

    listed = await chosen.get(f"/files?folderId={chosen.id('boats')}", token)
    found = await chosen.get("/search?q=keel", token)
    blocked = await chosen.get(f"/files/{chosen.id('plan')}", token)
    foreign = await chosen.get(f"/files/{chosen.id('letter')}", token)

    assert sorted(one["name"] for one in listed.json()["files"]) == ["Inner", "sketch.pdf"]
    assert ([one["title"] for one in found.json()["hits"]], found.json()["total"]) == (
        ["sketch.pdf"],
        4,
    )
    for answer in (blocked, foreign):
        assert (answer.status_code, answer.json()["error"]) == (404, "BLOCKED")


async def test_what_is_masked_is_not_asked_for(chosen):
    token = await chosen.seeing("name", resources=(EMPTY,))
    chosen.forget_calls()

    file = (await chosen.get(f"/files/{chosen.id('notes')}", token)).json()["file"]

    shown = {name for name, value in file.items() if value is not None}
    assert shown == {"id", "name", "isFolder", "provider"}
    asked = str([one["query"] for one in chosen.calls()])
    assert not any(word in asked for word in ("size", "createdBy", "webUrl", "description"))
