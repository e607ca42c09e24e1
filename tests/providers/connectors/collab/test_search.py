"""Search by delegated and by app-only connections, against the sandbox."""

import pytest
from collab_upstream import key, list_key

from providers.failures import Broken, Missing
from providers.ports.collab import InvalidSearch, SearchQuery
from sandbox.collab import records as r

EVERYTHING = frozenset({"driveItem", "listItem", "list", "site"})


async def search(port, text, *kinds, **more):
    query = SearchQuery(text=text, entity_types=frozenset(kinds) or EVERYTHING, **more)
    return await port.search(query)


def titles_by_type(page):
    return sorted((hit.entity_type, hit.title) for hit in page.hits)


async def test_a_search_covers_all_entity_types(tenant):
    page = await search(tenant.delegated().port, "keel OR berth OR yard OR boats")

    assert ("driveItem", "Plan é.docx") in titles_by_type(page)
    assert ("driveItem", "Boats") in titles_by_type(page)
    assert ("list", "Berths") not in titles_by_type(page)
    assert ("site", "Yard") in titles_by_type(page)
    assert ("listItem", "Berth 1") in titles_by_type(page)
    assert page.total == len(page.hits)
    assert page.more is False


async def test_a_missing_search_endpoint_is_broken(tenant):
    tenant.fault(kind="404", match="search/query")

    with pytest.raises(Broken):
        await search(tenant.delegated().port, "keel")


async def test_file_hits_carry_facts(tenant):
    (hit,) = (await search(tenant.delegated().port, "keel")).hits

    assert hit.id == f"collab:drive:{tenant.plan.drive_id}:item:{tenant.plan.id}"
    assert hit.file.parent == key(tenant.inner)
    assert hit.file.site == tenant.yard.id
    assert hit.file.list_item_id == str(tenant.plan.number)
    assert hit.summary == "The keel of oak is ready"
    assert hit.last_modified_date_time is not None
    assert hit.web_url.startswith("https://content.x.test/")


async def test_list_item_hits_carry_facts(tenant):
    page = await search(tenant.delegated().port, '"Berth 3"', "listItem")

    (hit,) = page.hits
    assert hit.id == f"collab:site:{tenant.yard.id}:list:{tenant.berths.id}:item:3"
    assert (hit.title, hit.list_item.list) == ("Berth 3", tenant.berths.id)


async def test_a_file_and_its_list_item_are_one_hit(tenant):
    tenant.store.settings.doubles_hits = True

    page = await search(tenant.delegated().port, "keel")

    assert titles_by_type(page) == [("driveItem", "Plan é.docx")]


async def test_files_of_other_users_are_not_found(tenant):
    page = await search(tenant.delegated().port, "secret OR minutes")

    assert page.hits == ()


async def test_hits_are_counted_and_paged(tenant):
    port = tenant.delegated().port
    first = await search(port, "berth", "listItem", limit=3)
    last = await search(port, "berth", "listItem", limit=3, start=6)

    assert (len(first.hits), first.total, first.more) == (3, 7, True)
    assert (len(last.hits), last.total, last.more) == (1, 7, False)


@pytest.mark.parametrize("mode", ["delegated", "selected"])
async def test_searching_one_site(tenant, mode):
    tenant.make.file(tenant.own, "keel.txt", ("text", "keel"))
    tenant.make.save()
    port = (tenant.delegated() if mode == "delegated" else tenant.selected(tenant.yard)).port

    page = await search(port, "keel OR nothing", site=tenant.yard.id)

    assert titles_by_type(page) == [("driveItem", "Plan é.docx")]


@pytest.mark.parametrize("mode", ["delegated", "selected"])
async def test_searching_an_invisible_site_is_missing(tenant, mode):
    port = (tenant.delegated() if mode == "delegated" else tenant.selected(tenant.yard)).port

    with pytest.raises(Missing):
        await search(port, "keel", site=tenant.board.id)


@pytest.mark.parametrize("mode", ["delegated", "selected"])
@pytest.mark.parametrize("text", ['"keel', "keel)", "a) OR (b", "keel OR"])
async def test_malformed_searches_are_not_sent(tenant, mode, text):
    port = (tenant.delegated() if mode == "delegated" else tenant.selected(tenant.yard)).port

    with pytest.raises(InvalidSearch):
        await search(port, text, site=tenant.yard.id)

    assert not tenant.calls


async def test_searches_that_upstream_refuses_are_invalid(tenant):
    with pytest.raises(InvalidSearch):
        await search(tenant.delegated().port, "lastmodifiedtime>=soon")


@pytest.mark.parametrize(
    ("text", "titles"),
    [
        ("keel", [("driveItem", "Plan é.docx")]),
        ("keel varnish", []),
        ("keel OR varnish", [("driveItem", "Plan é.docx"), ("driveItem", "notes.txt")]),
        ("varnish -filetype:txt", []),
        ("filetype:txt", [("driveItem", "notes.txt")]),
        ("title:berths", [("list", "Berths")]),
        ('"Berth 2"', [("listItem", "Berth 2")]),
        ("boats", [("driveItem", "Boats"), ("site", "Yard")]),
        ("author:miller filename:notes", [("driveItem", "notes.txt")]),
        ("yard -boats -berth", []),
        ("keel lastmodifiedtime>=2026-01-05", [("driveItem", "Plan é.docx")]),
        ("keel lastmodifiedtime>2026-01-05", []),
        ("minutes", []),
    ],
)
async def test_searching_selected_sites(tenant, text, titles):
    port = tenant.selected(tenant.yard).port

    page = await search(port, text)

    assert titles_by_type(page) == titles
    assert page.warnings == (
        "In selected sites, lists are found by their names and list items by their titles.",
    )


async def test_hits_of_selected_sites_are_merged_and_paged(tenant):
    port = tenant.selected(tenant.yard, tenant.board).port
    pages = [await search(port, "keel OR berth", start=start, limit=4) for start in (0, 4, 8)]

    assert [page.total for page in pages] == [9, 9, 9]
    assert [page.more for page in pages] == [True, True, False]
    ids = [hit.id for page in pages for hit in page.hits]
    assert len(set(ids)) == len(ids) == 9
    assert f"collab:drive:{tenant.secret.drive_id}:item:{tenant.secret.id}" in ids
    assert list_key(tenant.berths) in {
        hit.list_item.key.of for page in pages for hit in page.hits if hit.list_item
    }


async def test_conditions_without_words_search_whole_libraries(tenant):
    tenant.store.put(r.Person(email="x@x.test", name="X"))
    page = await search(tenant.selected(tenant.yard).port, "contenttype:Item", "listItem")

    assert page.total == 7
