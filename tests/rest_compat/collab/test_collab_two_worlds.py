"""
Worlds that differ only in what a token may not see give it byte-identical responses.

First masks: every word, on every read of REST and in a GraphQL document that selects everything.
Then rules: blocked resources are missing, renamed, or have other bytes. Page tokens are sealed anew
each time; their lengths must not differ.
"""

import dataclasses
import json
import re
from contextlib import asynccontextmanager
from itertools import count

import content_world
import msgspec
import pytest
import pytest_asyncio
from content_world import BOB, WRITE, column
from world import ADMIN

from policy.vocabulary import CollabField
from sandbox.collab import records as r

pytestmark = pytest.mark.asyncio(loop_scope="session")

EVERY = tuple(str(word) for word in CollabField)
TOKEN = re.compile(rb'"nextPageToken":"([^"]+)"')
LINK = re.compile(rb'"(downloadUrl|expiresAt)":"[^"]*"')
TYPES = (r.ContentType(id="0x0100", name="Item"), r.ContentType(id="0x0101aa", name="Berth"))
CAT = "cat@x.example"
number = count(1)


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def worlds(content_template, tmp_path_factory):
    """A world whose content the tests of this module change and restore."""
    folder = tmp_path_factory.mktemp("two")
    async with content_world.opened(content_template, folder) as content:
        make = content.make
        make.people({CAT: "Cat Hill"})
        content.resources["moorings"] = make.list_in(
            content.resources["yard"],
            "Moorings",
            (column("Depth", "number", is_indexed=True),),
            [{"Title": f"Mooring {n}", "Depth": n} for n in range(1, 4)],
            content_types=TYPES,
            description="Deep",
        )
        make.share(content.resources["plan"], "user", "read", to=(BOB,))
        make.save()
        yield content


@asynccontextmanager
async def records_changed(worlds, *changes):
    """Change every record of some kinds inside the context: (kind, record -> other values)."""
    shelf = worlds.world.sandbox.state.content
    before = [record for kind, _ in changes for record in changeable_records(shelf, kind)]
    after = [
        msgspec.structs.replace(record, **change(record))
        for kind, change in changes
        for record in changeable_records(shelf, kind)
    ]
    assert all(old != new for old, new in zip(before, after, strict=True))
    shelf.put_many(after)
    try:
        yield
    finally:
        shelf.put_many(before)


def changeable_records(shelf, kind):
    """Return every record of a kind except the roots of libraries."""
    items = [file for drive in shelf.every(r.Library) for file in shelf.items(drive.id)]
    if kind is r.Item:
        return [item for item in items if item.parent_id]
    if kind is r.Row:
        return [item for of in shelf.every(r.SiteList) for item in shelf.rows(of.id)]
    if kind is r.Share:
        return [share for item in items for share in shelf.shares(item)]
    return shelf.every(kind)


async def fresh_token(worlds, *rules, **settings):
    """Make a token over a new connection, so that nothing is cached for it."""
    async with worlds.client(ADMIN) as admin:
        body = {"name": f"r{next(number)}", "operatorIds": [worlds.world.operator_id]}
        resource = (await admin.post("/api/resources", json=body)).json()["id"]
        managed = dataclasses.replace(worlds.world, admin=admin)
        await content_world.connect(managed, resource=resource, scopes=WRITE)
    return await worlds.token(*rules, resources=(resource,), **settings)


FILES = """id name mimeType size createdTime modifiedTime owners { email displayName } description
    webViewLink parentFolderId parentFolderName labels { sensitivityLabelId } isFolder"""
ROWS = """id name webUrl contentType createdDateTime lastModifiedDateTime fields createdBy
    lastModifiedBy siteName listName labels { sensitivityLabelName }"""
EVERYTHING = f"""query ($file: String!, $folder: String!, $site: String!, $list: String!) {{
  file: collabFile(fileId: $file) {{ file {{ {FILES} sharedWith {{ email role }} }} accessInfo }}
  again: collabFile(fileId: $file) {{ file {{ ...F }} }}
  files: collabFiles(folderId: $folder) {{ files {{ {FILES} }} nextPageToken hasMore }}
  link: collabFileLink(fileId: $file) {{ webViewLink fileName mimeType size }}
  given: collabFilePermissions(fileId: $file) {{ permissions {{ id type role emailAddress }} }}
  label: fileSensitivityLabel(fileId: $file) {{ labelId labelDisplayName assignmentMethod }}
  sites: collabSites {{ sites {{ id displayName name description webUrl createdDateTime }} }}
  drives: collabDrives(siteId: $site) {{ drives {{ id name webUrl description }} }}
  lists: collabLists(siteId: $site) {{ lists {{ id displayName name siteName webUrl }} }}
  list: collabList(siteId: $site, listId: $list) {{ id displayName columns {{ name }} }}
  rows: collabListItems(siteId: $site, listId: $list) {{ items {{ {ROWS} }} }}
  hits: collabSearch(q: "keel OR varnish OR deep", limit: 100) {{
    hits {{ id title summary webUrl }} total }}
}}
fragment F on DriveFile {{ called: name ... on DriveFile {{ weighs: size at: modifiedTime }} }}"""


async def read_all(worlds, token):
    """
    Return the response to every read, as bytes, with the headers that depend on content.

    "walked" holds listings of one entry a page up to their ends, "calls" the upstream calls.
    """
    worlds.forget_calls()
    site = worlds.id("yard")
    library = f"{site}:list:{worlds.library}"
    paths = [
        "/files?limit=2",
        "/files?siteId=" + site,
        "/sites?limit=1",
        f"/sites/{site}",
        f"/sites/{site}/drives",
        f"/sites/{site}/lists?includeHidden=true",
        f"/sites/{site}/lists/{library}/items",
        "/sensitivity-labels",
        "/search?q=varnish OR lines OR door OR deep&limit=100",
        f"/search?q=keel&siteId={site}",
    ]
    for name in ("berths", "moorings"):
        paths += [worlds.path(name), worlds.path(name, 0) + "?limit=2", worlds.path(name, 2)]
    for name in ("boats", "plan"):
        of = f"/files/{worlds.id(name)}"
        paths += [of, f"{of}/permissions", f"{of}/sensitivity-label", f"{of}/download"]
    for name in ("documents", "boats"):
        of = f"/files?folderId={worlds.id(name)}"
        paths += [of, f"{of}&limit=1", f"{of}&q=keel"]
    # Filters and orders: refused, or independent of masked fields.
    items = worlds.path("moorings", 0)
    paths += [f"{items}?orderBy=Depth desc", f"{items}?filter=Depth gt 1", "/files?q=keel"]
    paths += [f"{items}?filter=Title eq 'Mooring 2'", "/sites?q=yard", "/files?mimeType=text/*"]
    paths += ["/files?orderBy=size", "/files?orderBy=name", "/files?modifiedAfter=2026-01-06"]
    paths += ["/search?q=title:plan", "/search?q=author:ann&limit=100", "/search?q=size>10"]
    responses = {}
    for path in paths:
        response = await worlds.call("GET", path, token, headers={"x-request-id": "same"})
        body = TOKEN.sub(lambda match: b'"nextPageToken":%d' % len(match[1]), response.content)
        responses[path] = (
            response.status_code,
            response.headers.get("etag"),
            LINK.sub(rb'"\1"', body),
        )
    ids = {"file": "plan", "folder": "boats", "site": "yard", "list": "moorings"}
    graphql = await worlds.graphql(
        EVERYTHING, token, **{key: worlds.id(name) for key, name in ids.items()}
    )
    for error in graphql.get("errors", ()):
        error["extensions"].pop("requestId", None)
    graphql["data"]["hits"]["hits"].sort(key=lambda hit: hit["id"])
    responses["graphql"] = (200, None, graphql)
    ends = ["/files", f"/files?folderId={worlds.id('boats')}", f"/sites/{site}/lists"]
    ends += ["/sites", f"/sites/{site}/drives", items]
    responses["walked"] = (200, None, [await read_all_pages(worlds, path, token) for path in ends])
    responses["calls"] = (200, None, [call_shape(call) for call in worlds.calls()])
    return responses


async def read_all_pages(worlds, path, token):
    """Return the bodies of all pages of a listing, without their tokens."""
    pages, query = [], {"limit": 1}
    async with worlds.client(token) as client:
        while not pages or query["pageToken"] is not None:
            response = await client.get(
                worlds.prefix + path, params=query, headers={"x-request-id": "same"}
            )
            pages.append(response.json())
            query["pageToken"] = pages[-1].pop("nextPageToken", None)
    return pages


def call_shape(call):
    """Return the shape of an upstream call, without its position in a listing."""
    query = {name: call["query"][name] for name in call["query"] if "token" not in name.lower()}
    return (call["method"], call["path"], query)


def variant_of(text):
    """Return a different text that contains the same search words."""
    return f"other {text}"


NAMES = (
    (r.Site, lambda record: {"title": variant_of(record.title), "name": variant_of(record.name)}),
    (
        r.SiteList,
        lambda record: {"title": variant_of(record.title), "name": variant_of(record.name)},
    ),
    (r.Library, lambda record: {"name": variant_of(record.name)}),
    (r.Item, lambda record: {"name": "other " + record.name}),
    (
        r.Row,
        lambda record: {"fields": {**record.fields, "Title": variant_of(record.fields["Title"])}},
    ),
)
# Hidden words -> what differs. Names also appear in addresses, in the names of the folder, list and
# site, and in the names of a site's groups; each of these has a mask word of its own.
DIFFERENCES = {
    ("name", "web_view_link", "parent_folder", "site_name", "list_name", "shared_with"): NAMES,
    ("mime_type",): ((r.Item, lambda record: {"mime": "text/x-other"}),),
    ("size",): ((r.Item, lambda record: {"size": record.size + 1000}),),
    ("created_time",): tuple(
        (kind, lambda _: {"created": "2020-03-03T03:03:03Z"})
        for kind in (r.Site, r.SiteList, r.Item, r.Row)
    ),
    ("modified_time",): tuple(
        (kind, lambda record: {"modified": f"2020-03-{len(str(record)) % 28 + 1:02}T03:03:03Z"})
        for kind in (r.Site, r.SiteList, r.Item, r.Row)
    ),
    ("owners",): tuple(
        (kind, lambda _: {"author": CAT, "editor": BOB}) for kind in (r.Item, r.Row)
    ),
    ("shared_with",): ((r.Share, lambda _: {"to": (CAT,)}),),
    ("description",): tuple(
        (kind, lambda record: {"description": record.description + " other"})
        for kind in (r.Site, r.SiteList, r.Library, r.Item)
    ),
    ("web_view_link",): ((r.Site, lambda record: {"path": record.path + "/other"}),),
    ("sensitivity_label",): ((r.Item, lambda record: {"label": "" if record.label else OPEN}),),
    ("content_type",): (
        (r.SiteList, lambda record: {"content_types": (*record.content_types[::-1], EXTRA)}),
        (
            r.Row,
            lambda record: {"content_type": "0x0101aa" if "aa" not in record.content_type else ""},
        ),
    ),
    ("field_values",): (
        (
            r.Row,
            lambda record: {"fields": {**record.fields, "Depth": 77, "Length": 7, "Phone": "7"}},
        ),
    ),
}
OPEN = "00000000-0000-4000-8000-000000000001"
EXTRA = r.ContentType(id="0x0777", name="Extra")


@pytest.fixture(autouse=True)
def library(worlds):
    """The list of the library "Documents"."""
    shelf = worlds.world.sandbox.state.content
    worlds.library = shelf.get(r.Library, worlds.resources["documents"].drive_id).list_id


@pytest.mark.slow
@pytest.mark.parametrize("hidden", DIFFERENCES, ids=" ".join)
async def test_masked_differences_do_not_change_any_response(worlds, hidden):
    shown = [word for word in EVERY if word not in (*hidden, "all")]
    before = await read_all(worlds, await fresh_token(worlds, visibleCollabFields=shown))
    whole = await sample_reads(worlds)
    async with records_changed(worlds, *DIFFERENCES[hidden]):
        after = await read_all(worlds, await fresh_token(worlds, visibleCollabFields=shown))
        assert await sample_reads(worlds) != whole

    if "name" in hidden:  # upstream ranks hits by names too
        before, after = sort_hits(before), sort_hits(after)
    assert [path for path in before if before[path] != after[path]] == []


WORDED = {
    "description": lambda record: {"description": "amber lamp"},
    "owners": lambda record: {"author": "amber@x.example"},
    "field_values": lambda record: {"words": f"{record.words} amber lamp"},
}
FOUND = "query ($q: String!) { collabFiles(q: $q) { files { name } } }"


@pytest.mark.slow
@pytest.mark.parametrize("hidden", WORDED)
async def test_searches_do_not_match_masked_fields(worlds, hidden):
    shown = [word for word in EVERY if word not in (hidden, "all")]
    token = await fresh_token(worlds, visibleCollabFields=shown)
    whole = await fresh_token(worlds)
    results = {}
    async with records_changed(worlds, (r.Item, WORDED[hidden])):
        for word in ("plan", "amber", "nowhere", "la", "plan 🎉"):
            results[word] = []
            for path in (f"/files?q={word}", f"/files?q={word}&folderId={worlds.id('documents')}"):
                worlds.forget_calls()
                pages = await read_all_pages(worlds, path, token)
                calls = [
                    (call["method"], call["path"].replace(word, "")) for call in worlds.calls()
                ]
                results[word].append((pages, calls))
            answer = await worlds.graphql(FOUND, token, q=word)
            results[word].append([file["name"] for file in answer["data"]["collabFiles"]["files"]])
        seen = (await worlds.get("/files?q=amber&limit=100", whole)).json()["files"]

    assert results["amber"] == results["nowhere"]
    assert results["plan"][-1] == ["plan.docx"]
    # "la" is not at the beginning of a word of the name.
    assert results["la"][-1] == results["plan 🎉"][-1] == []
    assert (seen != []) is (hidden != "owners")  # the sandbox does not search the names of people


def sort_hits(responses):
    """Sort the hits of searches by id."""
    ordered = dict(responses)
    for path, (status, etag, text) in responses.items():
        if path.startswith("/search") and status == 200:
            body = json.loads(text)
            body["hits"].sort(key=lambda hit: hit["id"])
            ordered[path] = (status, etag, body)
    return ordered


# -- rules

# What rules hide, and how it differs: missing, or with other values.
BOATS = [("file_id", "boats", "block"), ("folder", "boats", "block")]
HIDDEN = {
    "a file by its id": ([("file_id", "sketch", "block")], ("sketch",)),
    "a folder and what is in it": (BOATS, ("boats", "inner", "plan", "sketch")),
    "what has a label": ([("sensitivity_label_id", "secret", "block")], ("plan",)),
    "what is not allowed": ([("folder", "boats", "allow")], ("notes", "house", "hull", "letter")),
    "a library": ([("drive_id", "drawings", "block")], ("hull",)),
    "an item of a list": ([("list_item_id", "moorings", "block")], ()),
}


def written(worlds, rule):
    kind, name, action = rule
    patterns = {
        "sensitivity_label_id": lambda: worlds.labels[name].id,
        "drive_id": lambda: worlds.resources[name].drive_id,
        "list_item_id": lambda: worlds.row(name, 2),
    }
    return (kind, patterns.get(kind, lambda: worlds.id(name))(), action)


def without_totals(responses):
    """Remove from searches the total, which counts hidden hits by contract."""
    remaining = {}
    for path, (status, etag, response) in responses.items():
        body = json.loads(response) if path.startswith("/search") else response
        page = body["data"]["hits"] if path == "graphql" else body
        if path == "graphql" or (path.startswith("/search") and status == 200):
            del page["total"]
            page.pop("moreResultsAvailable", None)
        remaining[path] = (status, etag, body)
    return remaining


@pytest.mark.slow
@pytest.mark.parametrize("way", ["gone", "other"])
@pytest.mark.parametrize("case", HIDDEN)
async def test_blocked_differences_do_not_change_any_response(worlds, case, way):
    rules, names = HIDDEN[case]
    shelf = worlds.world.sandbox.state.content
    stored_rules = [written(worlds, rule) for rule in rules]
    allow_all = all(action == "block" for _, _, action in rules)
    hidden = [
        shelf.item(worlds.resources[name].drive_id, worlds.resources[name].id) for name in names
    ]
    hidden = hidden or [shelf.row(worlds.resources["moorings"].id, 2)]
    before = await read_all(
        worlds, await fresh_token(worlds, *stored_rules, collabAllowAllDefault=allow_all)
    )
    try:
        if way == "gone":
            for word in hidden:
                shelf.delete(word)
        else:
            shelf.put_many([changed_record(word) for word in hidden])
        token = await fresh_token(worlds, *stored_rules, collabAllowAllDefault=allow_all)
        after = await read_all(worlds, token)
    finally:
        shelf.put_many(hidden)

    # In allow-all mode a read by id tells a blocked resource from a missing one.
    starts = tuple(by_id(worlds, name) for name in names or ("moorings",))
    paths_by_id = {path for path in before if path.startswith(starts)}
    if allow_all and way == "gone":
        assert {before[path][0] for path in paths_by_id} <= {404}
        before, after = (
            {p: responses[p] for p in responses if p not in paths_by_id}
            for responses in (before, after)
        )
        for responses in (before, after):
            responses.pop("graphql")  # reads "plan" by its id
    for responses in (
        before,
        after,
    ):  # hidden entries are read and skipped: docs/spec/paging.md#page-filling
        del responses["calls"]
    before, after = without_totals(before), without_totals(after)
    assert [path for path in before if before[path] != after[path]] == []


def by_id(worlds, name):
    """Return the prefixes of the paths about a resource."""
    if name == "moorings":
        return worlds.path(name, 2)
    return f"/files/{worlds.id(name)}"


def changed_record(record):
    """Return a record with other values in the same folder or list."""
    if isinstance(record, r.Row):
        return msgspec.structs.replace(
            record, fields={**record.fields, "Depth": 99}, modified=MUCH_LATER
        )
    more = {} if record.is_folder else {"size": record.size + 5000}
    return msgspec.structs.replace(
        record, name=f"other {record.name}", modified=MUCH_LATER, description="other", **more
    )


MUCH_LATER = "2027-01-01T00:00:00Z"


async def sample_reads(worlds):
    """Read a few resources with an unrestricted token, which must see the difference."""
    token = await fresh_token(worlds)
    paths = [f"/files/{worlds.id('plan')}", f"/files/{worlds.id('plan')}/permissions", "/sites"]
    return [(await worlds.get(path, token)).json() for path in (*paths, worlds.path("moorings", 2))]
