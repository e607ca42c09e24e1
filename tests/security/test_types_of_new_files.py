"""Block rules on types hold for what a file is called as well as for what is said of it."""

import pytest

PDF = "application/pdf"
WORD = "application/vnd.openxmlformats-officedocument.wordprocessingml.document"


def writes(content):
    return [call for call in content.calls() if call["method"] != "GET" and not call["batch"]]


def blocked(response):
    return (response.status_code, response.json()["error"]) == (404, "BLOCKED")


@pytest.mark.parametrize(
    ("rule", "name", "media_type"),
    [
        pytest.param(PDF, "evil.pdf", "text/plain", id="by its name"),
        pytest.param(PDF, "evil.PDF", "text/plain", id="by its name, any case"),
        pytest.param(PDF, "evil.txt", PDF, id="as said"),
        pytest.param(WORD, "evil.docx", "text/plain", id="an office type"),
        pytest.param("application/gzip", "evil.tar.gz", "text/plain", id="compressed"),
        pytest.param("application/x-tar", "evil.tar.gz", "text/plain", id="inside"),
        pytest.param("application/octet-stream", "evil.zzz", "text/plain", id="no known ending"),
        pytest.param("*", "evil", "text/plain", id="any type"),
    ],
)
@pytest.mark.parametrize("conflict", ["fail", "replace"])
async def test_no_upload_makes_a_blocked_type(content, rule, name, media_type, conflict):
    token = await content.token(("mime_type", rule, "block"))
    content.forget_calls()
    query = {"fileName": name, "folderId": content.id("boats"), "conflictBehavior": conflict}

    by_parameter = await content.call(
        "POST", "/files/upload", token, params={**query, "mimeType": media_type}, content=b"x"
    )
    by_header = await content.call(
        "POST",
        "/files/upload",
        token,
        params=query,
        content=b"x",
        headers={"content-type": media_type},
    )

    assert blocked(by_parameter)
    assert blocked(by_header)
    assert writes(content) == []


@pytest.mark.parametrize("name", ["x.pdf", "x.PDF"])
async def test_no_renaming_makes_a_blocked_type(content, name):
    token = await content.token(("mime_type", PDF, "block"))
    content.forget_calls()

    path = f"/files/{content.id('notes')}/rename"
    assert blocked(await content.call("PATCH", path, token, json={"newName": name}))
    assert writes(content) == []


async def test_a_renamed_file_must_stay_allowed(content):
    token = await content.block_all_token(("mime_type", "text/plain", "allow"))
    path = f"/files/{content.id('notes')}/rename"
    content.forget_calls()

    assert blocked(await content.call("PATCH", path, token, json={"newName": "x.pdf"}))
    assert writes(content) == []
    assert (await content.call("PATCH", path, token, json={"newName": "x.txt"})).is_success


async def test_folders_are_renamed_whatever_their_name_says(content):
    token = await content.token(("mime_type", PDF, "block"))
    path = f"/files/{content.id('inner')}/rename"

    assert (await content.call("PATCH", path, token, json={"newName": "x.pdf"})).is_success
