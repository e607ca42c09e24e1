"""The feed of changes on items of site lists: rows, rules, masks, failures."""

import random

import msgspec
import pytest
from change_histories import check_history
from content_feed import calls, edit, feed_of, new_token, shelf
from run_sizes import times
from world import MAIN

READER = ["read_list_item", "read_lists", "read_sites", "list_files"]


def change(content, name, number, **fields):
    row = shelf(content).row(content.resources[name].id, number)
    changed = msgspec.structs.replace(row, fields={**row.fields, **fields})
    shelf(content).put(changed)


def add(content, name, **fields):
    row = content.make.row(content.resources[name], fields)
    content.make.save()
    return row.number


def remove(content, name, number):
    shelf(content).delete(shelf(content).row(content.resources[name].id, number))


async def listed(content, token):
    """Return the items of the lists that the token sees, by their ids."""
    items = {}
    for name in ("berths", "crew"):
        answer = await content.get(content.path(name, 0), token, limit=200)
        if answer.status_code == 200:
            items |= {item["id"]: item for item in answer.json()["items"]}
    return items


async def test_rows_name_what_came_what_changed_and_what_went(content):
    feed = feed_of(content, await content.token())
    assert await feed.pull(surfaces="lists") == []
    (entry,) = feed.answer["upTo"]
    assert (entry["surface"], entry["code"], entry["from"], entry["to"]) == (
        "lists",
        None,
        None,
        None,
    )

    number = add(content, "berths", Title="Berth 5", Length=3)
    change(content, "berths", 1, Length=40)
    change(content, "crew", 1, Title="Bo")
    remove(content, "berths", 2)

    rows = await feed.pull()
    assert rows[0] == ("gone", content.row("berths", 2), ())
    assert sorted(rows[1:]) == sorted(
        [
            ("created", content.row("berths", number), ()),
            ("changed", content.row("berths", 1), ("fields",)),
            ("changed", content.row("crew", 1), ("name", "fields")),
        ]
    )
    assert {row["connectionId"] for row in feed.answer["changes"]} == {entry["connectionId"]}
    assert await feed.pull() == []
    assert feed.answer["more"] is False


async def test_an_idle_pull_reads_the_sites_their_lists_and_the_items(content):
    feed = feed_of(content, await content.token())
    await feed.pull(surfaces="lists")
    content.forget_calls()

    await feed.pull()

    kinds = [path.rpartition("/")[2] for _, path in calls(content)]
    sites = ["$batch", "sites", "followedSites", "root", "drive"]
    assert sorted(kinds) == sorted([*sites, *["lists"] * 3, *["items"] * 2])


async def test_what_is_hidden_changes_no_answer_and_no_call(content):
    """Hidden members, items of a blocked list and a blocked item."""
    token = await content.token(
        ("list_id", content.id("crew"), "block"),
        ("list_item_id", content.row("berths", 2), "block"),
        visibleCollabFields=["name", "field_values"],
        maskMode="strict",
    )
    feed = feed_of(content, token)
    await feed.pull(surfaces="lists")
    seen, bodies = [], []
    for number in range(3):
        if number == 1:
            change(content, "crew", 1, Title="Bo")
            change(content, "berths", 2, Length=99)
        if number == 2:
            remove(content, "berths", 2)
        content.forget_calls()
        assert await feed.pull() == []
        seen.append(calls(content))
        bodies.append((feed.answer["changes"], len(feed.cursor)))

    assert seen[0] == seen[1] == seen[2] != []
    assert bodies[0] == bodies[1] == bodies[2]


async def test_a_blocked_list_looks_deleted_and_an_opened_one_appears(content):
    crew, berths = ("list_id", content.id("crew")), ("list_id", content.id("berths"))
    token = await new_token(content, (*berths, "block"))
    feed = feed_of(content, token)
    await feed.pull(surfaces="lists")

    await edit(content, token, rules=[(*crew, "block")])

    rows = await feed.pull()
    assert rows == [
        ("gone", content.row("crew", 1), ()),
        *[("appeared", content.row("berths", number), ()) for number in range(1, 5)],
    ]
    remove(content, "crew", 1)
    assert await feed.pull() == []


async def test_other_masks_begin_with_a_resync(content):
    token = await new_token(content)
    feed = feed_of(content, token)
    await feed.pull(surfaces="lists")

    await edit(content, token, visibleCollabFields=["name"])
    change(content, "berths", 1, Length=40)

    assert await feed.pull() == [("resync", None, ())]
    assert await feed.pull() == []


async def test_a_connection_that_fails_tells_its_rows_later(content):
    feed = feed_of(content, await content.token())
    await feed.pull(surfaces="lists")
    since = feed.answer["upTo"][0]["at"]
    change(content, "berths", 1, Length=40)
    await content.fail(kind="503", count=50)

    assert await feed.pull() == []
    (entry,) = feed.answer["upTo"]
    assert (entry["code"], entry["at"]) == ("error", since)
    assert len(feed.answer["authWarnings"]) == 1

    content.world.sandbox.upstreams["collab"].faults.clear()
    content.world.gateway.services.accounts.forget(entry["connectionId"])
    assert await feed.pull() == [("changed", content.row("berths", 1), ("fields",))]


@pytest.mark.parametrize("missing", ["read_list_item", "read_lists", "read_sites"])
async def test_lists_need_the_operations_of_their_listings(content, missing):
    operations = [operation for operation in READER if operation not in {missing, "list_files"}]
    feed = feed_of(content, await content.token(allowedCollabOperations=operations))
    content.forget_calls()

    response = await feed.raw(surfaces="lists")

    refusal = (403, "OPERATION_NOT_ALLOWED")
    if missing == "read_list_item":  # then nothing that is followed may be listed
        refusal = (422, "EMAIL_NOT_ENABLED")
    assert (response.status_code, response.json()["error"]) == refusal
    assert content.calls() == []


async def test_graphql_selects_the_items_below_their_rows(content):
    feed = feed_of(content, await content.token())
    await feed.pull(surfaces="lists")
    change(content, "berths", 1, Title="Quay")
    document = (
        "query ($since: String) { changes(since: $since) { changes"
        " { kind objectId listItem { id name } task { id } email { id } } } }"
    )

    body = await content.graphql(document, feed.token, since=feed.cursor)

    assert body["data"]["changes"]["changes"] == [
        {
            "kind": "changed",
            "objectId": content.row("berths", 1),
            "listItem": {"id": content.row("berths", 1), "name": "Quay"},
            "task": None,
            "email": None,
        }
    ]


FIELDS = (["all"], ["name"], ["field_values", "modified_time"])


@pytest.mark.parametrize(
    "seed", [0, *(pytest.param(n, marks=pytest.mark.slow) for n in range(1, times(3)))]
)
async def test_rows_turn_the_listing_of_then_into_the_listing_of_now(content, seed):
    """Histories with edits of rules and masks, old cursors and lost answers."""
    rng = random.Random(seed)
    token = await new_token(content, resources=(MAIN,))

    await check_history(
        feed_of(content, token),
        rng,
        lambda step: happen(content, token, rng, step),
        lambda: listed(content, token),
        steps=10,
        surfaces="lists",
    )


async def happen(content, token, rng, step):
    """Change items a little, and sometimes what the token may see."""
    for _ in range(rng.randint(0, 3)):
        name = rng.choice(("berths", "crew"))
        numbers = [row.number for row in shelf(content).rows(content.resources[name].id)]
        what = rng.choice(("add", "change", "change", "remove"))
        if what == "add" or not numbers:
            add(content, name, Title=f"New {step}")
        elif what == "remove":
            remove(content, name, rng.choice(numbers))
        else:
            change(content, name, rng.choice(numbers), Title=rng.choice(("One", "Two")))
    draw = rng.random()
    if draw < 0.15:
        await edit(content, token, visibleCollabFields=rng.choice(FIELDS))
    elif draw < 0.4:
        rule = rng.choice(
            (
                ("list_id", content.id("crew"), "block"),
                ("list_item_id", content.row("berths", 1), "block"),
                ("site_id", content.id("yard"), "block"),
            )
        )
        await edit(content, token, rules=rng.choice(([], [rule])))
