"""Attacks on the search: reading hidden fields by bisection, and hidden words by their count."""

import content_world
import pytest
import pytest_asyncio

from policy.vocabulary import CollabField

pytestmark = pytest.mark.asyncio(loop_scope="session")

SEARCH = "query ($q: String!) { collabSearch(q: $q) { total hits { id } } }"


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def content(content_template, tmp_path_factory):
    """A world of content that no test changes."""
    async with content_world.opened(content_template, tmp_path_factory.mktemp("attacked")) as world:
        yield world


async def all_but(content, *words):
    return await content.token_with_fields(*(word for word in CollabField if word not in words))


async def test_a_hidden_time_cannot_be_bisected(content):
    token = await all_but(content, CollabField.MODIFIED_TIME)
    content.forget_calls()

    for name in ("lastmodified", "LastModifiedTime", "write", "lastmodified ", "lastmodified://"):
        for bound in ("2020-01-01", "2026-01-05T08:00:00", "2030-01-01"):
            query = f'filename:"plan" {name}>={bound}'
            response = await content.get("/search", token, q=query)
            assert (response.status_code, response.json()["error"]) == (403, "FIELD_NOT_VISIBLE")
            body = await content.graphql(SEARCH, token, q=query)
            assert body["errors"][0]["extensions"]["code"] == "FIELD_NOT_VISIBLE"
    assert content.calls() == []


async def test_a_hidden_author_is_not_read_behind_slashes(content):
    token = await all_but(content, CollabField.OWNERS)
    content.forget_calls()

    for name in ("author", "createdby", "modifiedby", "editor"):
        for operator in (":", "://", " : ", "=", "<>"):
            response = await content.get("/search", token, q=f"keel {name}{operator}ann")
            assert (response.status_code, response.json()["error"]) == (403, "FIELD_NOT_VISIBLE")
    assert content.calls() == []


@pytest.mark.parametrize("word", ["keel", "key", "ke*", '"keel of oak"', "filename:p* keel"])
async def test_a_word_of_blocked_content_is_not_told_by_its_count(content, word):
    token = await content.block_all_token(collabSearchTotals="visible")

    body = (await content.get("/search", token, q=word)).json()
    tree = await content.graphql(SEARCH, token, q=word)

    assert (body["hits"], body["total"], body["moreResultsAvailable"]) == ([], 0, False)
    assert tree["data"]["collabSearch"] == {"total": 0, "hits": []}


async def test_a_closed_site_is_not_searched(content):
    token = await content.token(("site_id", content.id("yard"), "block"))
    content.forget_calls()

    response = await content.get("/search", token, q="keel", siteId=content.id("yard"))

    assert (response.status_code, response.json()["error"]) == (404, "BLOCKED")
    assert content.calls() == []


async def test_a_search_cannot_leave_its_site_by_brackets(content):
    token = await content.token()
    site = content.id("company")

    for text in (
        "keel) OR (keel",
        'x") OR (path:"https',
        "keel OR keel",
        'keel OR path:"https://"',
    ):
        response = await content.get("/search", token, q=text, siteId=site)
        if response.status_code == 200:
            ids = [hit["id"] for hit in response.json()["hits"]]
            assert all(hit == site or hit.startswith(f"{site}:list:") for hit in ids)
        else:
            assert response.json()["error"] == "INVALID_QUERY"
