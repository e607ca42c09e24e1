"""The feed of changes on files: rows, rules, masks, positions of the provider."""

import random

import content_world
import msgspec
import pytest
from change_histories import check_history
from content_feed import calls, edit, feed_of, new_token, shelf
from run_sizes import times
from world import MAIN

MEMBERS = (
    *("name", "mimeType", "size", "createdTime", "modifiedTime", "owners", "description"),
    *("webViewLink", "parentFolderId", "isFolder"),
)


def change(content, key, **members):
    item = content.resources[key]
    stored = shelf(content).item(item.drive_id, item.id)
    shelf(content).put(msgspec.structs.replace(stored, version=stored.version + 1, **members))


def add(content, key, folder, name):
    content.resources[key] = content.make.file(content.resources[folder], name, ("text", "oak"))
    content.make.save()
    return content.id(key)


def remove(content, key):
    item = content.resources[key]
    shelf(content).delete(shelf(content).item(item.drive_id, item.id))


async def seen(content, token):
    """Return the members of all files that the token may see, by their ids."""
    files = {}
    for library in ("documents", "drawings", "own"):
        for item in shelf(content).items(content.resources[library].drive_id):
            name = f"collab:drive:{item.drive_id}:item:{item.id}"
            answer = await content.get(f"/files/{name}", token)
            if answer.status_code == 200 and item.parent_id:
                file = answer.json()["file"]
                files[name] = {member: file[member] for member in MEMBERS}
    return files


async def test_rows_name_what_came_what_changed_and_what_went(content):
    feed = feed_of(content, await content.token())
    assert await feed.pull(surfaces="files") == []
    (entry,) = feed.answer["upTo"]
    assert (entry["surface"], entry["code"]) == ("files", None)
    sketch = content.id("sketch")

    change(content, "notes", description="Done", modified="2026-02-01T08:00:00Z")
    remove(content, "sketch")
    deck = add(content, "deck", "inner", "deck.txt")

    rows = await feed.pull()
    assert rows[0] == ("gone", sketch, ())
    assert sorted(rows[1:]) == sorted(
        [
            ("created", deck, ()),
            ("changed", content.id("notes"), ("modifiedTime", "description")),
            ("changed", content.id("boats"), ("size",)),
            ("changed", content.id("inner"), ("size",)),
        ]
    )
    assert {row["connectionId"] for row in feed.answer["changes"]} == {entry["connectionId"]}
    assert await feed.pull() == []


async def test_a_folder_that_moves_changes_the_addresses_below_it(content):
    feed = feed_of(content, await content.token())
    await feed.pull(surfaces="files")

    change(content, "inner", name="Inside")

    assert sorted(await feed.pull()) == sorted(
        [
            ("changed", content.id("inner"), ("name", "webViewLink")),
            ("changed", content.id("plan"), ("webViewLink",)),
        ]
    )


async def test_an_idle_pull_asks_each_library_once_what_has_changed(content):
    feed = feed_of(content, await content.token())
    await feed.pull(surfaces="files")
    first = feed.cursor
    content.forget_calls()

    assert await feed.pull() == []

    deltas = [call for call in content.calls() if call["path"].endswith("/delta")]
    assert len(deltas) == 3
    assert all(call["query"].keys() == {"token"} for call in deltas)
    kinds = sorted(path.rpartition("/")[2] for _, path in calls(content))
    assert kinds == sorted(IDLE)
    assert len(feed.cursor) == len(first)


IDLE = (
    *("$batch", "sites", "followedSites", "root", "drive"),
    *("$batch", "drives", "drives", "drives"),
    *("delta", "delta", "delta"),
)


async def test_a_position_that_the_provider_forgot_loses_nothing(content):
    feed = feed_of(content, await content.token())
    await feed.pull(surfaces="files")
    change(content, "notes", description="Done")
    shelf(content).deltas.clear()  # 410 resyncRequired

    assert await feed.pull() == [("changed", content.id("notes"), ("description",))]
    shelf(content).deltas.clear()
    assert await feed.pull() == []


@pytest.mark.parametrize("masked", [True, False])
async def test_what_is_hidden_changes_no_answer_and_no_call(content, masked):
    """Hidden members, the content of a blocked folder and a blocked file."""
    fields = {"visibleCollabFields": ["name", "mime_type"], "maskMode": "strict"}
    rules = [] if masked else [("folder", content.id("boats"), "block")]
    token = await content.token(
        *rules, ("mime_type", "application/pdf", "block"), **(fields if masked else {})
    )
    feed = feed_of(content, token)
    await feed.pull(surfaces="files")
    told, asked = [], []
    for number in range(3):
        if number == 1:
            change(content, "sketch", name="other.pdf")
            change(content, "plan" if not masked else "notes", description="New")
        if number == 2:
            remove(content, "sketch")
        content.forget_calls()
        assert await feed.pull() == []
        asked.append(calls(content))
        told.append((feed.answer["changes"], len(feed.cursor)))

    assert told[0] == told[1] == told[2]
    assert asked[0] == asked[1] == asked[2] != []


async def test_what_is_in_a_blocked_folder_looks_deleted_and_an_opened_one_appears(content):
    token = await new_token(content, ("folder", content.id("houses"), "block"))
    feed = feed_of(content, token)
    await feed.pull(surfaces="files")

    await edit(content, token, rules=[("folder", content.id("boats"), "block")])

    gone, appeared = ("inner", "plan", "sketch"), ("house",)
    rows = await feed.pull()
    assert sorted(rows) == sorted(
        [
            *[("gone", content.id(name), ()) for name in gone],
            *[("appeared", content.id(name), ()) for name in appeared],
        ]
    )
    remove(content, "plan")
    assert await feed.pull() == []


async def test_too_many_files_are_not_followed(content, monkeypatch):
    from graph.changes import content as followed

    feed = feed_of(content, await content.token())
    await feed.pull(surfaces="files")
    monkeypatch.setattr(followed, "MAX_FILES", 3)

    assert await feed.pull() == []
    assert [entry["code"] for entry in feed.answer["upTo"]] == ["too_many"]


async def test_a_connection_that_fails_tells_its_rows_later(content):
    feed = feed_of(content, await content.token())
    await feed.pull(surfaces="files")
    change(content, "notes", description="Done")
    await content.fail(kind="503", count=50)

    assert await feed.pull() == []
    (entry,) = feed.answer["upTo"]
    assert entry["code"] == "error"
    assert len(feed.answer["authWarnings"]) == 1

    content.world.sandbox.upstreams["collab"].faults.clear()
    content.world.gateway.services.accounts.forget(entry["connectionId"])
    assert await feed.pull() == [("changed", content.id("notes"), ("description",))]


async def test_an_object_that_two_connections_see_has_one_row(content):
    second = await content_world.connect(content.world, resource=MAIN, scopes=content_world.READ)
    token = await new_token(content)
    for surface, name in (("files", "notes"), ("lists", "berths")):
        feed = feed_of(content, token)
        await feed.pull(surfaces=surface)
        first = feed.answer["upTo"][0]["connectionId"]
        if surface == "files":
            change(content, "notes", description="Done")
            row = ("changed", content.id(name), ("description",))
        else:
            remove_row(content, name, 1)
            row = ("gone", content.row(name, 1), ())

        assert await feed.pull() == [row]
        assert [entry["connectionId"] for entry in feed.answer["upTo"]] == [first, second]
        assert feed.answer["changes"][0]["connectionId"] == first

        disabled = {"status": "disabled"}
        await content.world.admin.patch(f"/api/connections/{second}", json=disabled)
        assert await feed.pull() == [("resync", None, ())]
        assert [entry["code"] for entry in feed.answer["upTo"]] == [None, "disabled"]
        assert await feed.pull() == []
        await content.world.admin.patch(f"/api/connections/{second}", json={"status": "active"})
        assert await feed.pull() == [("resync", None, ()), ("resync", None, ())]
        assert await feed.pull() == []


def remove_row(content, name, number):
    shelf(content).delete(shelf(content).row(content.resources[name].id, number))


async def test_files_need_the_operation_of_their_listing(content):
    feed = feed_of(content, await content.token(allowedCollabOperations=["read_list_item"]))
    content.forget_calls()

    response = await feed.raw(surfaces="files")

    assert (response.status_code, response.json()["error"]) == (403, "OPERATION_NOT_ALLOWED")
    assert content.calls() == []


async def test_graphql_selects_the_files_below_their_rows(content):
    feed = feed_of(content, await content.token())
    await feed.pull(surfaces="files")
    change(content, "notes", description="Done")
    document = (
        "query ($since: String) { changes(since: $since) { changes"
        " { kind objectId file { id description } listItem { id } } } }"
    )

    body = await content.graphql(document, feed.token, since=feed.cursor)

    notes = content.id("notes")
    assert body["data"]["changes"]["changes"] == [
        {
            "kind": "changed",
            "objectId": notes,
            "file": {"id": notes, "description": "Done"},
            "listItem": None,
        }
    ]


FIELDS = (["all"], ["name"], ["size", "modified_time", "parent_folder"])


@pytest.mark.parametrize(
    "seed", [0, *(pytest.param(n, marks=pytest.mark.slow) for n in range(1, times(3)))]
)
async def test_rows_turn_the_listing_of_then_into_the_listing_of_now(content, seed):
    """Histories with edits of rules and masks, old cursors, lost answers and lost positions."""
    rng = random.Random(seed)
    token = await new_token(content)

    await check_history(
        feed_of(content, token),
        rng,
        lambda step: happen(content, token, rng, step),
        lambda: seen(content, token),
        steps=10,
        surfaces="files",
    )


async def happen(content, token, rng, step):
    """Change files a little, and sometimes what the token may see."""
    for _ in range(rng.randint(0, 3)):
        mine = [name for name in ("plan", "notes", "house", "hull") if name in content.resources]
        added = [name for name in content.resources if name.startswith("new")]
        what = rng.choice(("add", "change", "change", "move", "remove"))
        if what == "add":
            number = f"new{step}{rng.random()}"
            add(content, number, rng.choice(("boats", "inner", "houses")), f"{number}.txt")
        elif what == "remove" and added:
            name = rng.choice(added)
            remove(content, name)
            del content.resources[name]
        elif what == "move":
            folder = content.resources[rng.choice(("boats", "houses", "documents"))]
            change(content, "inner", parent_id=folder.id)
        else:
            text = {"description": f"Text {step}"}
            member = rng.choice((text, {"name": f"n{step}{rng.random()}.txt"}))
            change(content, rng.choice(mine), **member)
    if rng.random() < 0.2:
        shelf(content).deltas.clear()
    draw = rng.random()
    if draw < 0.15:
        await edit(content, token, visibleCollabFields=rng.choice(FIELDS))
    elif draw < 0.4:
        rule = rng.choice(
            (
                ("folder", content.id("boats"), "block"),
                ("file_id", content.id("plan"), "block"),
                ("mime_type", "text/*", "block"),
                ("site_id", content.id("mine"), "block"),
            )
        )
        await edit(content, token, rules=rng.choice(([], [rule])))


async def test_the_feed_shows_of_each_account_what_it_allows(content):
    make, bob = content.make, content_world.BOB
    site = make.site(content_world.PEOPLE, "/personal/bob", "Bob Stone", owner=bob)
    content.resources["bobs"] = make.library(site, "OneDrive", segment="Documents")
    content.resources["diary"] = make.file(content.resources["bobs"], "diary.txt", ("text", "x"))
    make.save()
    connection = await content_world.connect(
        content.world, resource=MAIN, scopes=content_world.WRITE, account=bob
    )
    own = {str(connection): {"visibleCollabFields": ["size"]}}
    token = await new_token(content, accounts=own)
    feed = feed_of(content, token)
    assert await feed.pull(surfaces="files") == []

    for name in ("letter", "diary"):
        change(content, name, description="Done")
    told = await feed.pull()
    change(content, "diary", size=99)
    sizes = await feed.pull()
    await edit(content, token, accounts={str(connection): {"allowedCollabOperations": []}})
    without = await feed.pull()
    change(content, "diary", size=77)
    change(content, "letter", size=5)

    assert told == [("changed", content.id("letter"), ("description",))]
    assert sizes == [("changed", content.id("diary"), ("size",))]
    assert {kind for kind, _, _ in without} == {"resync"}
    assert await feed.pull() == [("changed", content.id("letter"), ("size",))]
