"""A shortcut is an item of its own; its target is opened by the rules of both places."""

import pytest

LIST = "query($f: String!) { collabFiles(folderId: $f) { files { name } } }"
LINK = "query($f: String!) { collabFileLink(fileId: $f) { downloadUrl fileName } }"


@pytest.fixture
def shortcuts(content):
    """Put shortcuts to a folder, a file and a file that is gone into the drawings."""
    letter, boats = content.resources["letter"], content.resources["boats"]
    targets = {
        "to boats": (boats.drive_id, boats.id),
        "to letter": (letter.drive_id, letter.id),
        "to nothing": (letter.drive_id, "01NOTHINGNOTHINGNOTHINGNOTHINGNOTH"),
    }
    for name, target in targets.items():
        content.resources[name] = content.make.file(
            content.resources["drawings"], name, ("text", ""), target=target
        )
    content.make.save()
    return content


def drive(content, name, action):
    return ("drive_id", content.resources[name].drive_id, action)


async def listed(content, token, name):
    answer = await content.get("/files", token, folderId=content.id(name))
    return answer.status_code, answer.json()


async def opened(content, token, name):
    answer = await content.get(f"/files/{content.id(name)}/download", token)
    body = answer.json()
    body.pop("requestId", None)
    return answer.status_code, body


async def test_the_target_is_opened_where_both_places_are_allowed(shortcuts):
    token = await shortcuts.block_all_token(
        drive(shortcuts, "drawings", "allow"),
        drive(shortcuts, "documents", "allow"),
        drive(shortcuts, "own", "allow"),
    )

    status, drawings = await listed(shortcuts, token, "drawings")
    _, boats = await listed(shortcuts, token, "to boats")
    _, link = await opened(shortcuts, token, "to letter")
    by_graphql = await shortcuts.graphql(LIST, token, f=shortcuts.id("to boats"))
    link_by_graphql = await shortcuts.graphql(LINK, token, f=shortcuts.id("to letter"))

    assert status == 200
    folders = {file["name"]: file["isFolder"] for file in drawings["files"]}
    assert folders == {
        "hull.png": False, "to boats": True, "to letter": False, "to nothing": False,
    }  # fmt: skip
    assert sorted(file["id"] for file in boats["files"]) == sorted(
        shortcuts.id(name) for name in ("inner", "sketch")
    )
    assert link["fileName"] == "letter.txt"
    assert link["downloadUrl"]
    names = [file["name"] for file in by_graphql["data"]["collabFiles"]["files"]]
    assert sorted(names) == ["Inner", "sketch.pdf"]
    assert link_by_graphql["data"]["collabFileLink"]["fileName"] == "letter.txt"


async def test_a_target_that_is_denied_is_refused_as_one_that_is_gone(shortcuts):
    token = await shortcuts.block_all_token(drive(shortcuts, "drawings", "allow"))
    shortcuts.forget_calls()

    folder = await listed(shortcuts, token, "to boats")
    denied = await opened(shortcuts, token, "to letter")
    gone = await opened(shortcuts, token, "to nothing")
    by_graphql = await shortcuts.graphql(LIST, token, f=shortcuts.id("to boats"))

    assert folder[0] == 404
    assert denied == gone
    assert denied[0] == 404
    assert "files" not in (by_graphql["data"] or {})
    paths = [call["path"] for call in shortcuts.calls()]
    assert not [path for path in paths if path.endswith(("/children", "/content"))]


@pytest.mark.parametrize("block", [True, False])
async def test_a_shortcut_that_is_denied_is_not_followed(shortcuts, block):
    rules = [drive(shortcuts, "drawings", "block")]
    token = (
        await shortcuts.token(*rules)
        if block
        else await shortcuts.block_all_token(drive(shortcuts, "documents", "allow"))
    )
    shortcuts.forget_calls()

    status, _ = await listed(shortcuts, token, "to boats")

    assert status == 404
    documents = shortcuts.resources["documents"].drive_id
    assert not [call for call in shortcuts.calls() if documents in call["path"]]
