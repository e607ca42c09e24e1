"""Files and sites of tenants with more sites and libraries than can be sorted."""

import pytest

pytestmark = pytest.mark.asyncio(loop_scope="session")


@pytest.fixture
def large(readonly, monkeypatch):
    """The shared world, as if it had too many sites."""
    monkeypatch.setattr("providers.content.merged_sites.FEW_SITES", 1)
    return readonly


def names(response):
    assert response.status_code == 200, response.text
    return [file["name"] for file in response.json()["files"]]


async def pages(world, path, key, **query):
    """Return every page of a listing."""
    listed, token = [], None
    for _ in range(10):
        more = {"pageToken": token} if token else {}
        response = await world.get(path, **query, **more)
        assert response.status_code == 200, response.text
        body = response.json()
        listed.append([entry[key] for entry in next(v for v in body.values() if type(v) is list)])
        token = body["nextPageToken"]
        assert body["hasMore"] is (token is not None)
        if token is None:
            return listed
    raise AssertionError("the listing does not end")


async def test_files_are_those_changed_last_of_all_folders(large):
    response = await large.get("/files")

    files = response.json()["files"]
    times = [file["modifiedTime"] for file in files]
    assert times == sorted(times, reverse=True)
    assert names(response)[0] == "sketch.pdf"
    assert {"plan.docx", "sketch.pdf", "hull.png", "letter.txt"} < set(names(response))
    assert not any(file["isFolder"] for file in files)
    assert all(file["parentFolderId"] for file in files)
    searches = [call for call in large.calls() if call["path"].endswith("/search/query")]
    assert len(searches) == 1
    assert not any(call["path"].endswith("/children") for call in large.calls())


async def test_second_page_costs_no_more_than_the_first(large):
    first = await large.get("/files", limit=2)
    calls = len(large.calls())
    large.forget_calls()
    second = await large.get("/files", limit=2, pageToken=first.json()["nextPageToken"])

    assert len(names(first)) == len(names(second)) == 2
    assert set(names(first)).isdisjoint(names(second))
    assert len(large.calls()) <= calls


async def test_paging_returns_every_file_once(large):
    whole = names(await large.get("/files", limit=100))
    listed = await pages(large, "/files", "name", limit=2)

    assert sorted(name for page in listed for name in page) == sorted(whole)


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        pytest.param({"q": "keel"}, {"sketch.pdf", "notes.txt", "letter.txt", "plan.docx"}, id="q"),
        pytest.param({"q": "kee AND"}, set(), id="operators are words"),
        pytest.param({"q": "/ '"}, set(), id="signs alone"),
        pytest.param({"name": "OTE"}, {"notes.txt"}, id="name"),
        pytest.param({"mimeType": "image/*"}, {"hull.png"}, id="type"),
        pytest.param(
            {"modifiedAfter": "2026-01-05T09:00:00Z"}, {"notes.txt", "sketch.pdf"}, id="after"
        ),
        pytest.param({"modifiedAfter": "2026-01-06T08:00:00Z"}, {"sketch.pdf"}, id="exclusive"),
    ],
)
async def test_filters_select_among_indexed_files(large, query, expected):
    assert set(names(await large.get("/files", **query))) == expected


async def test_rules_hide_indexed_files(large):
    token = await large.token(("mime_type", "text/plain", "block"))

    listed = names(await large.get("/files", token, limit=100))

    assert "plan.docx" in listed
    assert {"notes.txt", "letter.txt"}.isdisjoint(listed)


async def test_hidden_descriptions_and_owners_are_not_searched(large):
    token = await large.token_with_fields("name", "modified_time")

    assert names(await large.get("/files", token, q="keel")) == []
    assert names(await large.get("/files", token, q="plan")) == ["plan.docx"]


@pytest.mark.parametrize("order", ["name", "size"])
async def test_an_order_that_the_index_lacks_asks_for_a_place(large, order):
    response = await large.get("/files", orderBy=order)

    assert (response.status_code, response.json()["error"]) == (400, "INVALID_PARAMETER")
    assert "siteId or a folderId" in response.json()["message"]
    assert not any("search/query" in call["path"] for call in large.calls())


async def test_a_token_that_may_see_little_is_asked_for_a_place(large):
    token = await large.block_all_token(("mime_type", "text/plain", "allow"))

    response = await large.get("/files", token)

    assert (response.status_code, response.json()["error"]) == (400, "INVALID_PARAMETER")
    assert not any("search/query" in call["path"] for call in large.calls())


async def test_a_token_of_the_sorted_listing_is_refused(readonly, monkeypatch):
    files = (await readonly.get("/files", limit=1)).json()["nextPageToken"]
    sites = (await readonly.get("/sites", limit=1)).json()["nextPageToken"]
    monkeypatch.setattr("providers.content.merged_sites.FEW_SITES", 1)

    for path, token in (("/files", files), ("/sites", sites)):
        response = await readonly.get(path, limit=1, pageToken=token)
        assert (response.status_code, response.json()["error"]) == (400, "INVALID_PAGE_TOKEN")


async def test_sites_come_page_by_page_in_upstreams_order(large):
    listed = await pages(large, "/sites", "id", limit=1)

    sorted_ids = {large.id(name) for name in ("company", "yard", "mine")}
    assert {site for page in listed for site in page} == sorted_ids
    assert all(len(page) <= 1 for page in listed)
    warnings = (await large.get("/sites")).json()["authWarnings"]
    assert any("too many sites to sort" in warning for warning in warnings)


async def test_a_page_of_sites_costs_the_same_everywhere(large):
    token = (await large.get("/sites", limit=1)).json()["nextPageToken"]
    large.forget_calls()
    await large.get("/sites", limit=1, pageToken=token)

    assert len(large.calls()) == 1


async def test_sites_are_searched_by_name(large):
    response = await large.get("/sites", q="yar")

    assert [site["id"] for site in response.json()["sites"]] == [large.id("yard")]
    assert large.calls()[-1]["query"]["search"] == ["yar"]


@pytest.mark.parametrize("path", ["/sites", "/files"])
async def test_a_list_of_sites_that_is_surely_incomplete_is_a_warning(readonly, monkeypatch, path):
    monkeypatch.setattr("sandbox.collab.sites.LARGE_TENANT", 0)
    monkeypatch.setattr("sandbox.collab.sites.LEFT_OUT", 1)  # every site
    warning = "COLLAB (ann@x.example), the list of sites: may leave some out."

    response = await readonly.get(path)
    strict = await readonly.call("GET", path, headers={"prefer": "partial=fail"})

    assert response.json()["authWarnings"] == [warning]
    assert (strict.status_code, strict.json()["authWarnings"]) == (200, [warning])


async def test_sites_of_other_sources_are_listed_with_the_others(readonly, monkeypatch):
    monkeypatch.setattr("sandbox.collab.sites.LARGE_TENANT", 0)
    monkeypatch.setattr("sandbox.collab.sites.LEFT_OUT", 1)

    response = await readonly.get("/sites")

    assert [site["id"] for site in response.json()["sites"]] == [
        readonly.id("mine"),  # the personal site
        readonly.id("company"),  # the root site
    ]
    assert [call["path"] for call in readonly.calls() if call["batch"]] == [
        "/v1.0/sites",
        "/v1.0/me/followedSites",
        "/v1.0/sites/root",
        "/v1.0/me/drive",
    ]
