"""A package, such as a notebook, takes no files or folders: 400 after the look at it alone."""

import pytest

SENTENCE = "The destination is a notebook or another package, which takes no files or folders."


@pytest.fixture
def notebook(content):
    """Add a notebook to the documents; return its id in the API."""
    content.resources["ideas"] = content.make.notebook(content.resources["documents"], "Ideas")
    content.make.save()
    return content.id("ideas")


async def upload(content, notebook, **query):
    params = {"fileName": "new.txt", "folderId": notebook, **query}
    return await content.call("POST", "/files/upload", params=params, content=b"x")


async def upload_replacing(content, notebook):
    return await upload(content, notebook, conflictBehavior="replace")


async def upload_dry(content, notebook):
    params = {"fileName": "new.txt", "folderId": notebook}
    headers = {"prefer": "dry-run"}
    return await content.call("POST", "/files/upload", params=params, content=b"x", headers=headers)


async def create_folder(content, notebook):
    body = {"name": "New", "parentFolderId": notebook}
    return await content.call("POST", "/folders", json=body)


async def move(content, notebook):
    path = f"/files/{content.id('notes')}/move"
    return await content.call("PATCH", path, json={"destinationFolderId": notebook})


def assert_only_looked(content, reads):
    """Check that upstream was asked for *reads* items and nothing else, in whole calls."""
    calls = [call for call in content.calls() if not call.get("batch")]
    assert [call["method"] for call in calls] == ["GET"] * reads, calls


@pytest.mark.parametrize(
    ("write", "reads"),
    [
        pytest.param(upload, 1, id="upload"),
        pytest.param(create_folder, 1, id="folder"),
        pytest.param(upload_replacing, 1, id="replacing upload"),
        pytest.param(upload_dry, 1, id="dry run of an upload"),
        pytest.param(move, 2, id="move"),
    ],
)
async def test_a_package_takes_nothing(content, notebook, write, reads):
    await content.token()
    content.forget_calls()

    response = await write(content, notebook)

    body = response.json()
    assert (response.status_code, body["error"]) == (400, "INVALID_DESTINATION")
    assert body["message"] == SENTENCE
    assert_only_looked(content, reads)


@pytest.mark.parametrize(
    "mutation",
    [
        'uploadFile(fileName: "n.txt", folderId: $place, input: "eA==") { fileId }',
        'createFolder(input: {name: "New", parentFolderId: $place}) { fileId }',
    ],
    ids=["upload", "folder"],
)
async def test_graphql_refuses_alike(content, notebook, mutation):
    await content.token()
    content.forget_calls()

    body = await content.graphql(f"mutation ($place: String!) {{ {mutation} }}", place=notebook)

    (error,) = body["errors"]
    assert error["message"] == SENTENCE
    assert error["extensions"]["code"] == "INVALID_DESTINATION"
    assert_only_looked(content, 1)


async def test_a_package_that_is_hidden_is_no_destination_that_is_told(content, notebook):
    token = await content.token(("file_id", notebook, "block"))
    ordinary = await content.token(("file_id", content.id("boats"), "block"))
    body = {"name": "New", "parentFolderId": notebook}
    other = {"name": "New", "parentFolderId": content.id("boats")}

    refused = await content.call("POST", "/folders", token, json=body)
    expected = await content.call("POST", "/folders", ordinary, json=other)

    assert refused.status_code == expected.status_code
    assert refused.json()["error"] == expected.json()["error"]
