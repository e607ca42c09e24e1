"""Deleting, moving and sharing a folder require access to all of its contents."""

import pytest
from content_world import BOB

from graph.collab.visibility import folder_checks


def block_rule(content, kind, name):
    return (kind, content.id(name), "block")


async def try_all_changes(content, token, folder):
    """Try every change of a whole folder; return the status and code of each."""
    path = f"/files/{content.id(folder)}"
    permissions_response = await content.get(f"{path}/permissions")
    permission = next(
        permission["id"]
        for permission in permissions_response.json()["permissions"]
        if permission["emailAddress"] == BOB
    )
    outcomes = {}
    for name, method, end, body in (
        ("share", "POST", "/share", {"type": "anyone", "role": "reader"}),
        ("permit", "PATCH", f"/permissions/{permission}", {"role": "writer"}),
        ("withdraw", "DELETE", f"/permissions/{permission}", None),
        ("move", "PATCH", "/move", {"destinationFolderId": content.id("houses")}),
        ("delete", "DELETE", "", None),
    ):
        response = await content.call(
            method, path + end, token, **({} if body is None else {"json": body})
        )
        word = response.json()["error"] if response.status_code >= 400 else None
        outcomes[name] = (response.status_code, word)
    return outcomes


ALL = ("share", "permit", "withdraw", "move", "delete")
REFUSED = dict.fromkeys(ALL, (404, "BLOCKED"))
DONE = {**dict.fromkeys(("share", "permit", "move"), (200, None)), "withdraw": (204, None)}
DONE["delete"] = (204, None)


@pytest.fixture
async def shared(content):
    """A world in which the folder of the tests is already shared."""
    content.make.share(content.resources["boats"], "user", "read", to=(BOB,))
    content.make.save()
    return content


def writes(content):
    return [call for call in content.calls() if call["method"] != "GET" and not call["batch"]]


BLOCKS = (
    pytest.param(lambda content: block_rule(content, "file_id", "plan"), id="a file below"),
    pytest.param(lambda content: block_rule(content, "file_id", "inner"), id="a folder below"),
    pytest.param(
        lambda content: block_rule(content, "folder", "inner"), id="what is below a folder"
    ),
    pytest.param(lambda _: ("mime_type", "application/pdf", "block"), id="a type"),
    pytest.param(
        lambda content: ("sensitivity_label_id", content.labels["secret"].id, "block"), id="a label"
    ),
)


@pytest.mark.slow
@pytest.mark.parametrize("rule", BLOCKS)
async def test_a_folder_with_blocked_contents_is_not_changed(shared, rule):
    token = await shared.token(rule(shared))
    names_before = shared.names("documents")
    shared.forget_calls()

    assert await try_all_changes(shared, token, "boats") == REFUSED
    assert [call["path"] for call in writes(shared) if "$batch" not in call["path"]] == []
    assert shared.names("documents") == names_before


async def test_a_folder_without_blocked_contents_is_changed(shared):
    token = await shared.token(block_rule(shared, "file_id", "house"))

    assert await try_all_changes(shared, token, "boats") == DONE


async def test_without_rules_the_contents_are_not_listed(shared):
    token = await shared.token()
    shared.forget_calls()

    await shared.call("DELETE", f"/files/{shared.id('boats')}", token)

    assert not any("children" in call["path"] for call in shared.calls())


async def test_a_place_rule_allows_the_change_without_listing(shared):
    places = [("drive_id", shared.resources["documents"].drive_id, "allow")]
    token = await shared.block_all_token(*places)
    shared.forget_calls()

    assert await try_all_changes(shared, token, "boats") == DONE
    assert not any("children" in call["path"] for call in shared.calls())


async def test_access_to_a_folder_does_not_include_its_contents(shared):
    """Block-all: the folder is allowed by its id, its files are not."""
    token = await shared.block_all_token(
        ("file_id", shared.id("boats"), "allow"),
        ("folder", shared.id("houses"), "allow"),
        ("file_id", shared.id("houses"), "allow"),
    )

    assert await try_all_changes(shared, token, "boats") == REFUSED


async def test_contents_that_the_token_created_are_deleted_with_the_folder(content):
    token = await content.block_all_token(("file_id", content.id("boats"), "allow"))
    body = {"name": "Mine", "parentFolderId": content.id("boats")}
    folder = (await content.call("POST", "/folders", token, json=body)).json()["fileId"]
    params = {"fileName": "mine.txt", "folderId": folder}
    upload_response = await content.call(
        "POST", "/files/upload", token, params=params, content=b"x"
    )
    assert upload_response.status_code == 200, upload_response.text

    response = await content.call("DELETE", f"/files/{folder}", token)

    assert response.status_code == 204
    assert not {"Mine", "mine.txt"} & content.names("documents")


async def test_deleting_a_file_lists_nothing(content):
    token = await content.token(block_rule(content, "file_id", "plan"))
    content.forget_calls()

    response = await content.call("DELETE", f"/files/{content.id('sketch')}", token)

    assert response.status_code == 204
    assert not any("children" in call["path"] for call in content.calls())


@pytest.mark.parametrize("bound", ["MAX_PAGES", "MAX_ENTRIES"])
async def test_contents_beyond_the_bounds_count_as_blocked(shared, monkeypatch, bound):
    monkeypatch.setattr(folder_checks, bound, 1)
    token = await shared.token(("mime_type", "video/*", "block"))
    shared.forget_calls()

    response = await shared.call("DELETE", f"/files/{shared.id('boats')}", token)

    assert (response.status_code, response.json()["error"]) == (404, "BLOCKED")
    assert sum("children" in call["path"] for call in shared.calls()) == 1
    assert "Boats" in shared.names("documents")


@pytest.mark.slow
async def test_checking_a_folder_costs_one_page_per_999_entries(content):
    """One call for each page of 999 in each folder, besides the reads of any deletion."""
    make, wide = content.make, content.make.folder(content.resources["documents"], "Wide")
    for number in range(450):
        make.file(wide, f"{number}.txt", ("text", "x"))
    make.save()
    content.resources["wide"] = wide
    token = await content.token(("mime_type", "video/*", "block"))
    content.forget_calls()

    response = await content.call("DELETE", f"/files/{content.id('wide')}", token)

    assert response.status_code == 204
    assert sum("children" in call["path"] for call in content.calls()) == 1
    assert len(content.calls()) == 3


async def test_deleting_the_list_item_of_a_folder_checks_its_contents(content):
    from sandbox.collab.records import SiteList

    shelf = content.world.sandbox.state.content
    boats = content.resources["boats"]
    (of,) = [
        site_list for site_list in shelf.every(SiteList) if site_list.drive_id == boats.drive_id
    ]
    site = content.id("yard")
    list_id = f"{site}:list:{of.id.lower()}"
    path = f"/sites/{site}/lists/{list_id}/items/{list_id}:item:{boats.number}"
    blocked = await content.token(block_rule(content, "file_id", "plan"))

    response = await content.call("DELETE", path, blocked)
    assert (response.status_code, response.json()["error"]) == (404, "BLOCKED")
    assert "Boats" in content.names("documents")

    deletion = await content.call(
        "DELETE", path, await content.token(block_rule(content, "file_id", "house"))
    )
    assert deletion.status_code == 204
    assert "Boats" not in content.names("documents")
