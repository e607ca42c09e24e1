"""Readable text of files: the rules and masks of a download (docs/spec/readable-text.md#files)."""

import pytest

QUERY = "query($id: String!) { collabFileText(fileId: $id) { content isCut } }"
EDGE = "query($id: String!) { collabFile(fileId: $id) { file { text { content isCut } } } }"


@pytest.fixture
def files(content):
    """Put a document of Word and a page of HTML beside the drawings."""
    for name, source in {
        "order.docx": ("docx", "Two oars", "and a mast"),
        "page.html": ("html", "Yard", "Open today"),
    }.items():
        content.resources[name] = content.make.file(content.resources["drawings"], name, source)
    content.make.save()
    return content


async def text(content, name, token=None):
    """Return the answer by REST; by GraphQL and by the edge it is the same."""
    answer = await content.get(f"/files/{content.id(name)}/text", token)
    by_graphql = await content.graphql(QUERY, token, id=content.id(name))
    by_edge = await content.graphql(EDGE, token, id=content.id(name))
    body = answer.json()
    if answer.status_code == 200:
        assert by_graphql["data"] == {"collabFileText": body}
        assert by_edge["data"] == {"collabFile": {"file": {"text": body}}}
    else:
        assert by_graphql["errors"][0]["extensions"]["httpStatus"] == answer.status_code
        assert by_edge["data"]["collabFile"] in (None, {"file": {"text": None}})
    return answer.status_code, body


async def test_the_text_of_a_file(files):
    token = await files.token()

    assert await text(files, "order.docx", token) == (
        200,
        {"content": "Two oars\nand a mast\n", "isCut": False},
    )
    assert await text(files, "page.html", token) == (
        200,
        {"content": "Yard\nOpen today", "isCut": False},
    )
    assert await text(files, "letter", token) == (
        200,
        {"content": "dear all, the keel\n", "isCut": False},
    )


async def test_a_folder_and_a_picture_have_none(files):
    status, body = await text(files, "drawings")
    assert (status, body["error"]) == (400, "INVALID_REQUEST")
    files.forget_calls()
    status, body = await text(files, "hull")
    assert (status, body["error"]) == (415, "UNSUPPORTED_MEDIA_TYPE")
    assert not any("downloadUrl" in str(call["query"]) for call in files.calls())


async def test_a_rule_decides_before_a_byte_is_requested(files):
    token = await files.token(("file_id", files.id("order.docx"), "block"))
    files.forget_calls()

    status, body = await text(files, "order.docx", token)

    assert (status, body["error"]) == (404, "BLOCKED")
    assert not any("downloadUrl" in str(call["query"]) for call in files.calls())


async def test_a_mask_decides_before_anything_is_asked(files):
    token = await files.token_with_fields("name", maskMode="basic")
    files.forget_calls()

    status, body = await text(files, "order.docx", token)

    assert (status, body["error"]) == (403, "FIELD_NOT_VISIBLE")
    assert not any("downloadUrl" in str(call["query"]) for call in files.calls())


async def test_without_the_operation_it_is_refused(files):
    token = await files.token(allowedCollabOperations=["get_file_metadata"])

    status, body = await text(files, "order.docx", token)

    assert (status, body["requiredOperation"]) == (422, "download_file")
