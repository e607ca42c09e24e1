"""
Ids that get the same answer cost the same calls, so that no clock tells which of them are there.

Under rules about folders and labels what is denied must be read before that is known, and what is
missing need not be. Source: reference, reliability 4.3.
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


def written(content, rule):
    kind, name, action = rule
    patterns = {"sensitivity_label_id": lambda: content.labels[name].id}
    known = content.id(name) if name in content.things else name
    return (kind, patterns.get(kind, lambda: known)(), action)


def kinds(content):
    """Say what upstream was asked: each call by its method and the words of its path."""
    words = {"v1.0", "drives", "items", "sites", "lists", "root", "$batch", "children"}
    words |= {"permissions", "extractSensitivityLabels"}
    return [
        (call["method"], *(part if part in words else "*" for part in call["path"].split("/")))
        for call in content.calls()
        if call["batch"] is None
    ]


async def costs(content, token, path):
    """Return the answer to a call, and what it asked upstream."""
    content.forget_calls()
    answer = await content.get(path, token)
    return (answer.status_code, answer.json()["error"]), kinds(content)


def files(content):
    """Return what is denied at several depths, and what is not there."""
    drive = content.things["documents"].drive_id
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


@RULES
@pytest.mark.parametrize("what", ["", "/download", "/permissions", "/sensitivity-label"])
async def test_a_denied_file_costs_what_a_missing_one_does(still, rules, what):
    token = await still.selecting(*[written(still, rule) for rule in rules])

    seen = [await costs(still, token, f"/files/{one}{what}") for one in files(still)]

    assert {answer for answer, _ in seen} == {(404, "BLOCKED")}
    assert [calls for _, calls in seen] == [seen[0][1]] * len(seen)
    batches = sum(call[-1] == "$batch" for call in seen[0][1])
    assert batches == sum(kind in (FOLDERS, LABELS, PLACES, BLOCKED_FOLDER) for kind in rules)


@RULES
async def test_a_denied_list_item_costs_what_a_missing_one_does(still, rules):
    token = await still.selecting(*[written(still, rule) for rule in rules])
    lists = (await still.get(f"/sites/{still.id('yard')}/lists")).json()["lists"]
    library = next(one["id"] for one in lists if one["displayName"] == "Documents")
    site = f"/sites/{still.id('yard')}/lists"
    numbers = [still.things[name].number for name in ("notes", "boats", "plan")]
    paths = [f"{site}/{library}/items/{library}:item:{number}" for number in (*numbers, 7001)]
    paths += [still.path("berths", number) for number in (1, 7001)]

    seen = [await costs(still, token, path) for path in paths]

    assert {answer for answer, _ in seen} == {(404, "BLOCKED")}
    assert [calls for _, calls in seen] == [seen[0][1]] * len(seen)


async def test_a_library_that_is_not_there_costs_what_a_denied_one_does(still):
    for rules in ([PLACES], [PLACES, FOLDERS]):
        token = await still.selecting(*[written(still, rule) for rule in rules])
        known = await costs(still, token, f"/files/{still.id('plan')}")
        guessed = await costs(still, token, "/files/collab:drive:b!nothing:item:01NOTHING")
        assert known == guessed


async def test_a_file_that_is_denied_is_no_folder_and_not_told_of_either(still):
    token = await still.selecting(written(still, FOLDERS))
    missing = f"collab:drive:{still.things['documents'].drive_id}:item:01NOTHING"

    denied = await costs(still, token, f"/files?folderId={still.id('plan')}")

    assert denied[0] == (404, "BLOCKED")
    assert denied == await costs(still, token, f"/files?folderId={missing}")


async def test_what_is_allowed_is_read_once(still):
    """Costs are evened out on what is denied alone."""
    token = await still.selecting(("folder", still.id("boats"), "allow"))
    still.forget_calls()

    answer = await still.get(f"/files/{still.id('plan')}/permissions", token)

    assert answer.status_code == 200
    assert [call[-1] for call in kinds(still)] == ["*", "$batch", "permissions"]


@pytest.mark.asyncio(loop_scope="function")  # in the loop of its own world
async def test_several_connections_do_not_tell_which_of_them_sees_a_file(content):
    """The second account has a personal site that the first one cannot see."""
    make = content.make
    other = make.site(content_world.PEOPLE, "/personal/bob", "Bob Stone", owner=BOB)
    content.things["bobs"] = make.library(other, "OneDrive", segment="Documents")
    content.things["diary"] = make.file(content.things["bobs"], "diary.docx", ("docx", "x"))
    make.keep()
    await content_world.connect(content.world, resource=MAIN, scopes=WRITE, account=BOB)
    seen = []
    for rules in ([FOLDERS], [LABELS], [FOLDERS, LABELS, PLACES]):
        token = await content.selecting(*[written(content, rule) for rule in rules])
        ids = [*files(content), content.id("diary"), content.id("letter")]
        if FOLDERS in rules:
            ids.remove(content.id("letter"))
        seen = [await costs(content, token, f"/files/{one}") for one in ids]
        assert {answer for answer, _ in seen} == {(404, "BLOCKED")}
        assert [calls for _, calls in seen] == [seen[0][1]] * len(seen), rules
    assert content.things["diary"].author == ANN
