"""Worlds that differ only in what a token may not see give it the same answer to every search."""

import dataclasses
import random
from contextlib import asynccontextmanager
from itertools import count

import content_world
import msgspec
import pytest
import pytest_asyncio
from content_world import BOB, WRITE
from world import ADMIN, MAIN

from graph.collab import search_hits
from graph.collab.search_selectors import WORDS_BY_SELECTOR
from policy.vocabulary import CollabField
from sandbox.collab import records as r

pytestmark = pytest.mark.asyncio(loop_scope="session")

WORDS = tuple(word for word in CollabField if word != "connection_id")  # the gateway's own
number = count(1)


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def worlds(content_template, tmp_path_factory):
    """A world whose content the tests of this module change and restore."""
    folder = tmp_path_factory.mktemp("searched")
    async with content_world.opened(content_template, folder) as content:
        yield content


async def fresh_token(worlds, *rules, **settings):
    """Make a token over a new connection, so that nothing is cached for it."""
    async with worlds.client(ADMIN) as admin:
        body = {"name": f"s{next(number)}", "operatorIds": [worlds.world.operator_id]}
        resource = (await admin.post("/api/resources", json=body)).json()["id"]
        managed = dataclasses.replace(worlds.world, admin=admin)
        await content_world.connect(managed, resource=resource, scopes=WRITE)
    return await worlds.token(*rules, resources=(resource,), **settings)


def changeable(store, kind):
    """Return every record of a kind except the roots of libraries."""
    if kind is r.Item:
        drives = store.every(r.Library)
        return [item for drive in drives for item in store.items(drive.id) if item.parent_id]
    if kind is r.Row:
        return [row for site_list in store.every(r.SiteList) for row in store.rows(site_list.id)]
    return store.every(kind)


@asynccontextmanager
async def changed(worlds, change, *kinds):
    """Give every record of some kinds other values inside the context."""
    store = worlds.world.sandbox.state.content
    before = [record for kind in kinds for record in changeable(store, kind)]
    after = [msgspec.structs.replace(record, **change(record)) for record in before]
    assert before != after
    store.put_many(after)
    try:
        yield
    finally:
        store.put_many(before)


async def answers(worlds, token, queries):
    """Return the status and the bytes of each search."""
    answers = {}
    for query, params in queries:
        response = await worlds.call(
            "GET",
            "/search",
            token,
            params={"q": query, "limit": "100", **params},
            headers={"x-request-id": "same"},
        )
        answers[query, *params.items()] = (response.status_code, response.content)
    return answers


# -- masks

# Hidden word -> what differs, in which records; the words of names stay, because a search finds
# words wherever they stand.
MASKED = {
    CollabField.MIME_TYPE: (lambda record: {"mime": "text/x-other"}, r.Item),
    CollabField.SIZE: (lambda record: {"size": record.size + 1000}, r.Item),
    CollabField.CREATED_TIME: (
        lambda record: {"created": "2020-03-03T03:03:03Z"},
        *(r.Site, r.SiteList, r.Item, r.Row),
    ),
    CollabField.MODIFIED_TIME: (
        lambda record: {"modified": f"2020-03-{len(str(record)) % 28 + 1:02}T03:03:03Z"},
        *(r.Site, r.SiteList, r.Item, r.Row),
    ),
    CollabField.OWNERS: (lambda record: {"author": BOB, "editor": BOB}, r.Item, r.Row),
    CollabField.DESCRIPTION: (
        lambda record: {"description": f"{record.description} other"},
        *(r.Site, r.SiteList, r.Item),
    ),
    CollabField.WEB_VIEW_LINK: (
        lambda record: {"path": record.path.replace("yard", "quay")},
        r.Site,
    ),
    CollabField.CONTENT_TYPE: (
        lambda _: {"content_types": (r.ContentType(id="0x0777", name="Extra"),)},
        r.SiteList,
    ),
    CollabField.FIELD_VALUES: (
        lambda record: {"fields": {**record.fields, "Length": 77, "Phone": "7"}},
        r.Row,
    ),
}
# Words whose fields the sandbox's engine has: without the mask some search tells them.
INDEXED = {
    CollabField.SIZE,
    CollabField.CREATED_TIME,
    CollabField.MODIFIED_TIME,
    CollabField.OWNERS,
    CollabField.WEB_VIEW_LINK,
    CollabField.CONTENT_TYPE,
}
VALUES = (
    "x",
    "ann",
    "bob",
    '"Ann Miller"',
    "2026-01-05",
    "2026-01-01..2026-01-31",
    "20",
    "Item",
    '"https://content.x.example/sites/yard"',
)
OPERATORS = (":", " : ", "=", "<>", ">=", "<", "://", "\uff1a")
FORMS = ("{}", "-{}", "NOT {}", "keel {}", "keel OR ({})", "keel NEAR(2) {}", '"keel"{}')
NAMES = (*WORDS_BY_SELECTOR, "ContentClass", "LASTMODIFIED", "modified", "length")


def generated_queries(word, size):
    """Return searches by all kinds of conditions, most of them on what *word* hides."""
    choose = random.Random(str(word)).choice
    names_of_word = [name for name, words in WORDS_BY_SELECTOR.items() if word in words]
    plain = [f"{name}:{value}" for name in names_of_word for value in VALUES]
    mixed = [
        choose(FORMS).format(choose(names) + choose(OPERATORS) + choose(VALUES))
        for names in (NAMES, names_of_word or NAMES)
        for _ in range(size)
    ]
    return [(query, {}) for query in plain + mixed]


@pytest.mark.slow
@pytest.mark.parametrize("word", MASKED, ids=str)
async def test_no_search_tells_a_masked_difference(worlds, word):
    shown = [str(other) for other in WORDS if other is not word]
    queries = generated_queries(word, 40)
    change, *kinds = MASKED[word]

    async def search_all(mode):
        token = await fresh_token(worlds, visibleCollabFields=shown, maskMode=mode)
        return await answers(worlds, token, queries)

    strict, basic = await search_all("strict"), await search_all("basic")
    async with changed(worlds, change, *kinds):
        assert await search_all("strict") == strict
        assert (await search_all("basic") != basic) is (word in INDEXED)

    assert {status for status, _ in strict.values()} >= {200, 403}


# -- rules

RULES = {
    "nothing is allowed": (False, ()),
    "a folder is allowed": (False, (("folder", "boats", "allow"),)),
    "a file is blocked": (True, (("file_id", "plan", "block"),)),
    "a label is blocked": (True, (("sensitivity_label_id", "secret", "block"),)),
    "a library is blocked": (True, (("drive_id", "drawings", "block"),)),
    "a site is blocked": (True, (("site_id", "mine", "block"),)),
}
PATTERNS = {
    "sensitivity_label_id": lambda worlds, name: worlds.labels[name].id,
    "drive_id": lambda worlds, name: worlds.resources[name].drive_id,
}
# What the token of each may not see.
HIDDEN = {
    "nothing is allowed": ("notes", "plan", "sketch", "house", "hull", "letter"),
    "a folder is allowed": ("notes", "house", "hull", "letter"),
    "a file is blocked": ("plan",),
    "a label is blocked": ("plan",),
    "a library is blocked": ("hull",),
    "a site is blocked": ("letter",),
}
SEARCHED = (
    *("zebrafish", "zebra*", '"price is zebrafish"', "keel", "keel OR zebrafish", "zebrafish keel"),
    *("NOT zebrafish", "-keel", "filename:zebra*", 'title:"zebrafish price"', "filetype:pdf"),
    *("author:bob", "size>1000", "lastmodifiedtime>=2026-06-01", "contenttype:document", "a OR b*"),
    *("path:https://content.x.example", "zebrafish OR filetype:txt OR filetype:docx", "yard"),
)
PAGES = ({"limit": "100"}, {"from": "1", "limit": "1"}, {"from": "2", "limit": "2"})
TREE = """query ($q: String!) {
  collabSearch(q: $q, limit: 3) { total moreResultsAvailable from hits { id summary } }
}"""


def resurfaced(record):
    """Return the record with other words, times and people, in the same place."""
    return msgspec.structs.replace(
        record,
        name=f"zebrafish {record.name}",
        words="the price is zebrafish today",
        modified="2026-06-06T06:06:06Z",
        author=BOB,
        size=5000,
    )


def delete(store, records):
    for record in records:
        store.delete(record)


@pytest.mark.slow
@pytest.mark.parametrize("case", RULES)
async def test_no_search_tells_a_blocked_difference_when_totals_are_visible(worlds, case):
    allow_all, rules = RULES[case]
    stored = [
        (kind, PATTERNS.get(kind, lambda worlds, name: worlds.id(name))(worlds, name), action)
        for kind, name, action in rules
    ]
    store = worlds.world.sandbox.state.content
    hidden = [worlds.resources[name] for name in HIDDEN[case]]
    hidden = [store.item(item.drive_id, item.id) for item in hidden]

    async def search_all(totals, pages):
        token = await fresh_token(
            worlds, *stored, collabAllowAllDefault=allow_all, collabSearchTotals=totals
        )
        queries = [(query, page) for query in SEARCHED for page in pages]
        return token, await answers(worlds, token, queries)

    async def search_visible():
        token, responses = await search_all("visible", PAGES)
        trees = [await worlds.graphql(TREE, token, q=query) for query in SEARCHED]
        assert {status for status, _ in responses.values()} == {200}
        return responses, trees

    visible, (_, unfiltered) = await search_visible(), await search_all("unfiltered", PAGES[:1])
    for change in (lambda: store.put_many(map(resurfaced, hidden)), lambda: delete(store, hidden)):
        change()
        try:
            assert await search_visible() == visible
            assert (await search_all("unfiltered", PAGES[:1]))[1] != unfiltered
        finally:
            store.put_many(hidden)


# -- totals and pages


async def pages(worlds, token, query, limit):
    """Return the pages of a search: hits, total and whether more follow."""
    pages, start = [], 0
    while not pages or pages[-1][2]:
        response = await worlds.get("/search", token, q=query, from_=start, limit=limit)
        body = response.json()
        assert body["from"] == start
        titles = [hit["title"] for hit in body["hits"]]
        pages.append((titles, body["total"], body["moreResultsAvailable"]))
        start += limit
    return pages


async def test_visible_hits_are_counted_and_paged_without_gaps(worlds):
    rules = [("folder", worlds.id("boats"), "allow"), ("file_id", worlds.id("notes"), "allow")]
    token = await worlds.block_all_token(*rules, collabSearchTotals="visible")
    unfiltered = await worlds.block_all_token(*rules)

    walked = await pages(worlds, token, "keel", 2)
    hits = (await worlds.get("/search", unfiltered, q="keel", limit=100)).json()

    assert [(len(titles), total, more) for titles, total, more in walked] == [
        (2, 2, True),
        (1, 3, False),
    ]
    titles = [hit["title"] for hit in hits["hits"]]
    assert ([title for page, _, _ in walked for title in page], hits["total"]) == (titles, 5)
    behind = (await worlds.get("/search", token, q="keel", from_=7)).json()
    assert (behind["hits"], behind["total"], behind["moreResultsAvailable"]) == ([], 3, False)


async def test_a_file_that_is_found_as_a_list_item_too_is_counted_once(worlds, monkeypatch):
    monkeypatch.setattr(search_hits, "_PAGE", 2)  # both are on different upstream pages
    token = await worlds.token(
        ("file_id", worlds.id("hull"), "block"), collabSearchTotals="visible"
    )
    settings = worlds.world.sandbox.state.content.settings
    before = settings.doubles_hits
    single = await pages(worlds, token, "keel", 1)
    settings.doubles_hits = True
    try:
        assert await pages(worlds, token, "keel", 1) == single
    finally:
        settings.doubles_hits = before


async def test_a_token_that_sees_everything_reads_one_upstream_page(worlds):
    token = await worlds.token(collabSearchTotals="visible")
    worlds.forget_calls()

    body = (await worlds.get("/search", token, q="keel", limit=2)).json()

    assert (len(body["hits"]), body["total"], body["moreResultsAvailable"]) == (2, 5, True)
    assert len(worlds.calls()) == 1


async def test_a_search_looks_through_a_thousand_hits_at_most(worlds, monkeypatch):
    monkeypatch.setattr(search_hits, "MAX_READ", 4)
    monkeypatch.setattr(search_hits, "_PAGE", 2)
    token = await worlds.block_all_token(collabSearchTotals="visible")
    worlds.forget_calls()

    body = (await worlds.get("/search", token, q="keel", limit=2)).json()

    assert (body["hits"], body["total"], body["moreResultsAvailable"]) == ([], 0, False)
    assert len([call for call in worlds.calls() if call["path"].endswith("/search/query")]) == 2


# -- the warning


async def test_a_token_that_counts_hidden_hits_carries_a_warning(worlds):
    operator = worlds.world.operator_id
    body = {"name": "w", "operatorId": operator, "resourceIds": [MAIN]}
    searching = {"collabAccessEnabled": True, "allowedCollabOperations": ["search_content"]}
    warning = [
        "`total` of a search counts content that this token may not see, and so reveals its "
        "words. With collabSearchTotals `visible` it does not."
    ]
    async with worlds.client(ADMIN) as admin:
        made = (await admin.post("/api/access-tokens", json=body | {"settings": searching})).json()
        path = f"/api/access-tokens/{made['id']}"

        async def changed_to(**settings):
            return (await admin.patch(path, json={"settings": settings})).json()["warnings"]

        assert made["warnings"] == warning
        assert made["settings"]["collabSearchTotals"] == "unfiltered"
        assert await changed_to(collabSearchTotals="visible") == []
        assert await changed_to(collabSearchTotals=None) == warning
        assert await changed_to(allowedCollabOperations=["list_files"]) == []
        assert await changed_to(allowedCollabOperations=["all"]) == warning
        (useless,) = await changed_to(collabAccessEnabled=False)
        assert useless.startswith("This token can do nothing")
        assert await changed_to(collabAccessEnabled=True, collabAllowAllDefault=True) == []
        rule = {"ruleType": "mime_type", "pattern": "image/*", "action": "allow"}
        await admin.post(f"{path}/collab-rules", json=rule)
        assert (await admin.get(path)).json()["warnings"] == []
        await admin.post(f"{path}/collab-rules", json=rule | {"action": "block"})
        assert (await admin.get(path)).json()["warnings"] == warning
        listed = (await admin.get("/api/access-tokens?limit=100")).json()["tokens"]
        assert warning in [token["warnings"] for token in listed]
