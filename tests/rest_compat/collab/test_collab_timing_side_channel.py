"""
Timing side channel: ids with the same response cost the same upstream calls.

Under rules about folders and labels a denied resource must be read before it can be denied, and a
missing one need not be: docs/spec/rules.md#equal-cost.
"""

import content_world
import pytest
from content_world import ANN, BOB, MAIN, WRITE

pytestmark = pytest.mark.asyncio(loop_scope="session")

FOLDERS = ("folder", "own", "allow")
LABELS = ("sensitivity_label_id", "open", "allow")
PLACES = ("site_id", "mine", "allow")
KINDS = ("mime_type", "application/zip", "allow")
ITEMS = ("content_type_id", "0x0199", "allow")
BLOCKED_FOLDER = ("folder", "boats", "block")


def api_rule(content, rule):
    kind, name, action = rule
    patterns = {"sensitivity_label_id": lambda: content.labels[name].id}
    resource_id = content.id(name) if name in content.resources else name
    return (kind, patterns.get(kind, lambda: resource_id)(), action)


def call_kinds(content):
    """Return the kind of each upstream call: its method and the words of its path."""
    words = {"v1.0", "drives", "items", "sites", "lists", "root", "$batch", "children"}
    words |= {"permissions", "extractSensitivityLabels"}
    return [
        (call["method"], *(part if part in words else "*" for part in call["path"].split("/")))
        for call in content.calls()
        if call["batch"] is None
    ]


async def response_and_cost(content, token, path):
    """Return the response to a call, and the kinds of its upstream calls."""
    content.forget_calls()
    response = await content.get(path, token)
    return (response.status_code, response.json()["error"]), call_kinds(content)


def denied_and_missing_files(content):
    """Return files that are denied at several depths, and missing ones."""
    drive = content.resources["documents"].drive_id
    names = ("documents", "notes", "boats", "sketch", "inner", "plan", "hull")
    return [*map(content.id, names), *(f"collab:drive:{drive}:item:01NOTHING{n}" for n in "AB")]


RULES = pytest.mark.parametrize(
    "rules",
    [
        pytest.param([FOLDERS], id="folders"),
        pytest.param([LABELS], id="labels"),
        pytest.param([FOLDERS, LABELS], id="folders and labels"),
        pytest.param([FOLDERS, PLACES], id="folders and sites"),
        pytest.param([KINDS, ITEMS], id="types"),
        pytest.param([LABELS, BLOCKED_FOLDER], id="labels, and a blocked folder"),
    ],
)


@pytest.mark.slow
@RULES
@pytest.mark.parametrize("what", ["", "/download", "/permissions", "/sensitivity-label"])
async def test_a_denied_file_costs_the_same_calls_as_a_missing_one(readonly, rules, what):
    token = await readonly.block_all_token(*[api_rule(readonly, rule) for rule in rules])

    results = [
        await response_and_cost(readonly, token, f"/files/{file}{what}")
        for file in denied_and_missing_files(readonly)
    ]

    assert {response for response, _ in results} == {(404, "BLOCKED")}
    assert [calls for _, calls in results] == [results[0][1]] * len(results)
    batches = sum(call[-1] == "$batch" for call in results[0][1])
    assert batches == sum(kind in (FOLDERS, LABELS, PLACES, BLOCKED_FOLDER) for kind in rules)


@RULES
async def test_a_denied_list_item_costs_the_same_calls_as_a_missing_one(readonly, rules):
    token = await readonly.block_all_token(*[api_rule(readonly, rule) for rule in rules])
    lists = (await readonly.get(f"/sites/{readonly.id('yard')}/lists")).json()["lists"]
    library = next(
        list_entry["id"] for list_entry in lists if list_entry["displayName"] == "Documents"
    )
    site = f"/sites/{readonly.id('yard')}/lists"
    numbers = [readonly.resources[name].number for name in ("notes", "boats", "plan")]
    paths = [f"{site}/{library}/items/{library}:item:{number}" for number in (*numbers, 7001)]
    paths += [readonly.path("berths", number) for number in (1, 7001)]

    results = [await response_and_cost(readonly, token, path) for path in paths]

    assert {response for response, _ in results} == {(404, "BLOCKED")}
    assert [calls for _, calls in results] == [results[0][1]] * len(results)


async def test_a_missing_library_costs_the_same_calls_as_a_denied_one(readonly):
    for rules in ([PLACES], [PLACES, FOLDERS]):
        token = await readonly.block_all_token(*[api_rule(readonly, rule) for rule in rules])
        baseline = await response_and_cost(readonly, token, f"/files/{readonly.id('plan')}")
        guessed = await response_and_cost(
            readonly, token, "/files/collab:drive:b!nothing:item:01NOTHING"
        )
        assert baseline == guessed


async def test_a_denied_file_as_folder_id_looks_missing(readonly):
    token = await readonly.block_all_token(api_rule(readonly, FOLDERS))
    missing = f"collab:drive:{readonly.resources['documents'].drive_id}:item:01NOTHING"

    denied = await response_and_cost(readonly, token, f"/files?folderId={readonly.id('plan')}")

    assert denied[0] == (404, "BLOCKED")
    assert denied == await response_and_cost(readonly, token, f"/files?folderId={missing}")


async def test_an_allowed_file_is_read_once(readonly):
    """Only denied resources get padding calls."""
    token = await readonly.block_all_token(("folder", readonly.id("boats"), "allow"))
    readonly.forget_calls()

    response = await readonly.get(f"/files/{readonly.id('plan')}/permissions", token)

    assert response.status_code == 200
    assert [call[-1] for call in call_kinds(readonly)] == ["*", "$batch", "permissions"]


@pytest.mark.slow
@pytest.mark.asyncio(loop_scope="function")  # in the event loop of its world
async def test_the_cost_does_not_reveal_which_connection_sees_a_file(content):
    """The second account has a personal site that the first one cannot see."""
    make = content.make
    other = make.site(content_world.PEOPLE, "/personal/bob", "Bob Stone", owner=BOB)
    content.resources["bobs"] = make.library(other, "OneDrive", segment="Documents")
    content.resources["diary"] = make.file(content.resources["bobs"], "diary.docx", ("docx", "x"))
    make.save()
    await content_world.connect(content.world, resource=MAIN, scopes=WRITE, account=BOB)
    results = []
    for rules in ([FOLDERS], [LABELS], [FOLDERS, LABELS, PLACES]):
        token = await content.block_all_token(*[api_rule(content, rule) for rule in rules])
        ids = [*denied_and_missing_files(content), content.id("diary"), content.id("letter")]
        if FOLDERS in rules:
            ids.remove(content.id("letter"))
        results = [await response_and_cost(content, token, f"/files/{file_id}") for file_id in ids]
        assert {response for response, _ in results} == {(404, "BLOCKED")}
        assert [calls for _, calls in results] == [results[0][1]] * len(results), rules
    assert content.resources["diary"].author == ANN
