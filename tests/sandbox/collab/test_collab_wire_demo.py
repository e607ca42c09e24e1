"""The complete content of the demo world, read through the API."""

from collections import Counter
from datetime import UTC, datetime

import httpx
import pytest

from sandbox.collab import records as r
from sandbox.collab.files import content
from sandbox.state import open_state
from sandbox.world.collab import sites
from sandbox.world.collab.edge_cases import ODD_NAMES


async def every(client: httpx.AsyncClient, link: str | None) -> list[dict]:
    records = []
    while link:
        page = (await client.get(link)).json()
        records += page["value"]
        link = page.get("@odata.nextLink")
    return records


@pytest.mark.slow
async def test_user_sees_all_sites_except_restricted_ones(demo):
    found_sites = await every(demo.client(), "/sites?search=*&$top=3")

    assert [site["webUrl"].partition(".example")[2] for site in found_sites] == [
        "",
        "/sites/yard",
        "/sites/studio",
        "/sites/office",
        "/sites/store",
        "/sites/regatta",
        "/personal/nora_harbourlight-studio_example",
        "",  # repeated
    ]


@pytest.mark.slow
async def test_recursive_listing_reaches_every_file(demo):
    client = demo.client()
    kinds: Counter[str] = Counter()
    for site_id in {site["id"] for site in await every(client, "/sites?search=*")}:
        for drive in await every(client, f"/sites/{site_id}/drives"):
            waiting = [f"/drives/{drive['id']}/root/children?$top=999"]
            while waiting:
                for item in await every(client, waiting.pop()):
                    if "folder" in item:
                        kinds["folder"] += 1
                        waiting.append(f"/drives/{drive['id']}/items/{item['id']}/children")
                    else:
                        kinds["package" if "package" in item else "file"] += 1
    store = demo.store
    closed = {"/sites/council", "/personal/jonas_harbourlight_example"}
    open_sites = [site.id for site in store.every(r.Site) if site.path not in closed]
    drives = {library.id for library in store.every(r.Library) if library.site_id in open_sites}
    inside = [item for item in store.every(r.Item) if item.drive_id in drives and item.parent_id]

    assert kinds.total() == len(inside)
    assert kinds["package"] == 1
    assert kinds["file"] > 2000


def test_generated_files_have_their_stated_size(demo):
    wrong = [
        item.name
        for item in demo.store.every(r.Item)
        if item.source and len(content.generate(item.source)) != item.size
    ]

    assert wrong == []


@pytest.mark.slow
async def test_listing_returns_all_list_items(demo):
    client = demo.client()
    counted = {}
    for path in ("", "/sites/yard", "/sites/store"):
        site = demo.facts.sites[path]
        for site_list in await every(
            client, f"/sites/{site}/lists?$select=id,displayName,list,system"
        ):
            rows = await every(
                client, f"/sites/{site}/lists/{site_list['id']}/items?$expand=fields&$top=2000"
            )
            counted[site_list["displayName"]] = len(rows)

    assert counted["Stock movements"] == 6000
    assert counted["Berths"] == 120
    assert counted["Customers"] == 20
    assert counted["Work orders"] == 180
    assert counted["appdata"] == 0


@pytest.mark.slow
async def test_search_finds_all_files_with_a_rare_word(demo):
    body = {"entityTypes": ["driveItem", "listItem", "list", "site"]}
    asked = {"requests": [{**body, "query": {"queryString": "garboard"}, "size": 100}]}
    answer = (await demo.client().post("/search/query", json=asked)).json()
    container = answer["value"][0]["hitsContainers"][0]

    assert container["total"] == 32
    assert len(container["hits"]) == 32


async def test_application_sees_only_its_selected_sites(demo):
    client = demo.client(demo.app_token)
    statuses = {
        path: (await client.get(f"/sites/{site}/drives")).status_code
        for path, site in demo.facts.sites.items()
    }

    assert {path for path, status in statuses.items() if status == 200} == set(sites.SELECTED_PATHS)
    assert set(statuses.values()) == {200, 403}


@pytest.mark.slow
def test_content_persists_when_reopened(tmp_path):
    day = datetime(2026, 11, 20, tzinfo=UTC)
    first = open_state(tmp_path)
    made = sites.seed(first.database, first.content, day)
    again = open_state(tmp_path)
    reopened = sites.seed(again.database, again.content)

    assert (made.created, reopened.created) == (True, False)
    assert (made.sites, made.subjects, made.day) == (
        reopened.sites,
        reopened.subjects,
        reopened.day,
    )
    for kind in (r.Site, r.Library, r.Item, r.SiteList, r.Row, r.Share, r.Label, r.Person):
        assert first.content.every(kind) == again.content.every(kind)


async def test_subjects_cover_every_kind_of_rule(demo):
    subjects, client = demo.facts.subjects, demo.client()
    drive = f"/drives/{subjects['drive']}"
    berths = f"/sites/{subjects['site']}/lists/{subjects['list']}"
    folder = (await client.get(f"{drive}/items/{subjects['folder']}")).json()
    file = (await client.get(f"{drive}/items/{subjects['file']}")).json()
    row = await client.get(f"{berths}/items/{subjects['list_item']}")
    orders = await every(client, f"/sites/{subjects['site']}/lists/Work%20orders/items")
    label = await client.post(f"{drive}/items/{subjects['labelled_file']}/extractSensitivityLabels")

    assert subjects.keys() == sites.SUBJECTS.keys()
    assert folder["folder"]["childCount"] == 3
    assert file["file"]["mimeType"] == "application/pdf"
    assert row.status_code == 200
    assert label.json()["labels"][0]["sensitivityLabelId"] == subjects["label"]
    assert sum(order["contentType"]["id"] == subjects["content_type"] for order in orders) == 15


async def test_edge_cases_behave_as_described(demo):
    subjects, client = demo.facts.subjects, demo.client()
    own = (await client.get("/me/drive")).json()["id"]
    unread = f"/drives/{own}/items/{subjects['unreadable_file']}/extractSensitivityLabels"
    held = f"/drives/{own}/items/{subjects['locked_file']}"
    columns = (
        await client.get(
            f"/sites/{subjects['site']}/lists/{subjects['list']}/columns"
            "?$select=name,readOnly,required,indexed,hidden,number,boolean,dateTime"
        )
    ).json()["value"]
    own_columns = {column["name"]: column for column in columns}

    assert (await client.post(unread)).status_code == 423
    assert (await client.patch(held, json={"name": "x.xlsx"})).status_code == 423
    assert "number" in own_columns["Length"]
    assert "boolean" in own_columns["Paid"]
    assert "dateTime" in own_columns["Until"]
    assert (own_columns["Length"]["indexed"], own_columns["Draught"]["indexed"]) == (True, False)
    assert own_columns["Tenant"]["required"] is True
    assert own_columns["Code"]["readOnly"] is True


def test_odd_names_are_stored(demo):
    stored_names = {item.name for item in demo.store.every(r.Item)}

    assert set(ODD_NAMES) <= stored_names
