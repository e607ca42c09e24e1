"""Block rules on types hold for what a file is called as well as for what is said of it."""

import pytest

shared = pytest.mark.asyncio(loop_scope="session")  # for tests that change nothing

PDF = "application/pdf"
WORD = "application/vnd.openxmlformats-officedocument.wordprocessingml.document"


def writes(content):
    return [call for call in content.calls() if call["method"] != "GET" and not call["batch"]]


def blocked(response):
    return (response.status_code, response.json()["error"]) == (404, "BLOCKED")


@shared
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
async def test_no_upload_makes_a_blocked_type(readonly, rule, name, media_type, conflict):
    token = await readonly.token(("mime_type", rule, "block"))
    readonly.forget_calls()
    query = {"fileName": name, "folderId": readonly.id("boats"), "conflictBehavior": conflict}

    by_parameter = await readonly.call(
        "POST", "/files/upload", token, params={**query, "mimeType": media_type}, content=b"x"
    )
    by_header = await readonly.call(
        "POST",
        "/files/upload",
        token,
        params=query,
        content=b"x",
        headers={"content-type": media_type},
    )

    assert blocked(by_parameter)
    assert blocked(by_header)
    assert writes(readonly) == []


@shared
@pytest.mark.parametrize("name", ["x.pdf", "x.PDF"])
async def test_no_renaming_makes_a_blocked_type(readonly, name):
    token = await readonly.token(("mime_type", PDF, "block"))
    readonly.forget_calls()

    path = f"/files/{readonly.id('notes')}/rename"
    assert blocked(await readonly.call("PATCH", path, token, json={"newName": name}))
    assert writes(readonly) == []


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
