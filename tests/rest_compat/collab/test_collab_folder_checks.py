"""A folder is deleted, moved and shared only with a right to all that lies in it."""

import pytest
from content_world import BOB

from graph.collab.visibility import folder_checks


def blocking(content, kind, name):
    return (kind, content.id(name), "block")


async def changes(content, token, folder):
    """Try everything that is done to a folder as a whole; return statuses and words."""
    path = f"/files/{content.id(folder)}"
    given = await content.get(f"{path}/permissions")
    permission = next(
        one["id"] for one in given.json()["permissions"] if one["emailAddress"] == BOB
    )
    found = {}
    for name, method, end, body in (
        ("share", "POST", "/share", {"type": "anyone", "role": "reader"}),
        ("permit", "PATCH", f"/permissions/{permission}", {"role": "writer"}),
        ("withdraw", "DELETE", f"/permissions/{permission}", None),
        ("move", "PATCH", "/move", {"destinationFolderId": content.id("houses")}),
        ("delete", "DELETE", "", None),
    ):
        answer = await content.call(
            method, path + end, token, **({} if body is None else {"json": body})
        )
        word = answer.json()["error"] if answer.status_code >= 400 else None
        found[name] = (answer.status_code, word)
    return found


ALL = ("share", "permit", "withdraw", "move", "delete")
REFUSED = dict.fromkeys(ALL, (404, "BLOCKED"))
DONE = {**dict.fromkeys(("share", "permit", "move"), (200, None)), "withdraw": (204, None)}
DONE["delete"] = (204, None)


@pytest.fixture
async def shared(content):
    """The folder of the tests is shared with somebody already."""
    content.make.share(content.things["boats"], "user", "read", to=(BOB,))
    content.make.keep()
    return content


def writes(content):
    return [one for one in content.calls() if one["method"] != "GET" and not one["batch"]]


BLOCKS = (
    pytest.param(lambda content: blocking(content, "file_id", "plan"), id="a file below"),
    pytest.param(lambda content: blocking(content, "file_id", "inner"), id="a folder below"),
    pytest.param(lambda content: blocking(content, "folder", "inner"), id="what is below a folder"),
    pytest.param(lambda _: ("mime_type", "application/pdf", "block"), id="a type"),
    pytest.param(
        lambda content: ("sensitivity_label_id", content.labels["secret"].id, "block"),
        id="a label",
    ),
)


@pytest.mark.parametrize("rule", BLOCKS)
async def test_what_is_blocked_in_a_folder_holds_the_folder(shared, rule):
    token = await shared.token(rule(shared))
    there = shared.names("documents")
    shared.forget_calls()

    assert await changes(shared, token, "boats") == REFUSED
    assert [one["path"] for one in writes(shared) if "$batch" not in one["path"]] == []
    assert shared.names("documents") == there


async def test_a_folder_without_anything_blocked_is_changed(shared):
    token = await shared.token(blocking(shared, "file_id", "house"))

    assert await changes(shared, token, "boats") == DONE


async def test_without_rules_nothing_is_looked_at(shared):
    token = await shared.token()
    shared.forget_calls()

    await shared.call("DELETE", f"/files/{shared.id('boats')}", token)

    assert not any("children" in one["path"] for one in shared.calls())


async def test_a_rule_about_a_place_settles_it_without_a_look(shared):
    places = [("drive_id", shared.things["documents"].drive_id, "allow")]
    token = await shared.selecting(*places)
    shared.forget_calls()

    assert await changes(shared, token, "boats") == DONE
    assert not any("children" in one["path"] for one in shared.calls())


async def test_a_folder_alone_is_no_right_to_what_lies_in_it(shared):
    """Block-all: the folder is allowed by its id, its files are not."""
    token = await shared.selecting(
        ("file_id", shared.id("boats"), "allow"),
        ("folder", shared.id("houses"), "allow"),
        ("file_id", shared.id("houses"), "allow"),
    )

    assert await changes(shared, token, "boats") == REFUSED


async def test_what_a_token_made_in_its_own_folder_goes_with_the_folder(content):
    token = await content.selecting(("file_id", content.id("boats"), "allow"))
    body = {"name": "Mine", "parentFolderId": content.id("boats")}
    folder = (await content.call("POST", "/folders", token, json=body)).json()["fileId"]
    params = {"fileName": "mine.txt", "folderId": folder}
    made = await content.call("POST", "/files/upload", token, params=params, content=b"x")
    assert made.status_code == 200, made.text

    answer = await content.call("DELETE", f"/files/{folder}", token)

    assert answer.status_code == 204
    assert not {"Mine", "mine.txt"} & content.names("documents")


async def test_a_file_is_deleted_without_a_look_around(content):
    token = await content.token(blocking(content, "file_id", "plan"))
    content.forget_calls()

    answer = await content.call("DELETE", f"/files/{content.id('sketch')}", token)

    assert answer.status_code == 204
    assert not any("children" in one["path"] for one in content.calls())


@pytest.mark.parametrize("bound", ["MAX_PAGES", "MAX_ENTRIES"])
async def test_more_than_can_be_looked_at_counts_as_blocked(shared, monkeypatch, bound):
    monkeypatch.setattr(folder_checks, bound, 1)
    token = await shared.token(("mime_type", "video/*", "block"))
    shared.forget_calls()

    answer = await shared.call("DELETE", f"/files/{shared.id('boats')}", token)

    assert (answer.status_code, answer.json()["error"]) == (404, "BLOCKED")
    assert sum("children" in one["path"] for one in shared.calls()) == 1
    assert "Boats" in shared.names("documents")


async def test_a_wide_folder_costs_a_page_for_two_hundred(content):
    """Stated: one call for each page of 200 in each folder, besides the reads of any deletion."""
    make, wide = content.make, content.make.folder(content.things["documents"], "Wide")
    for number in range(450):
        make.file(wide, f"{number}.txt", ("text", "x"))
    make.keep()
    content.things["wide"] = wide
    token = await content.token(("mime_type", "video/*", "block"))
    content.forget_calls()

    answer = await content.call("DELETE", f"/files/{content.id('wide')}", token)

    assert answer.status_code == 204
    assert sum("children" in one["path"] for one in content.calls()) == 3
    assert len(content.calls()) == 5


async def test_the_row_of_a_folder_is_deleted_with_the_same_right(content):
    from sandbox.collab.records import SiteList

    shelf = content.world.sandbox.ground.shelf
    boats = content.things["boats"]
    (of,) = [one for one in shelf.every(SiteList) if one.drive_id == boats.drive_id]
    site = content.id("yard")
    list_id = f"{site}:list:{of.id.lower()}"
    path = f"/sites/{site}/lists/{list_id}/items/{list_id}:item:{boats.number}"
    blocked = await content.token(blocking(content, "file_id", "plan"))

    answer = await content.call("DELETE", path, blocked)
    assert (answer.status_code, answer.json()["error"]) == (404, "BLOCKED")
    assert "Boats" in content.names("documents")

    done = await content.call(
        "DELETE", path, await content.token(blocking(content, "file_id", "house"))
    )
    assert done.status_code == 204
    assert "Boats" not in content.names("documents")
