"""A library's file is a list item too: its row grants no change that the file's flags forbid."""

import pytest

from sandbox.collab import records as r

shared = pytest.mark.asyncio(loop_scope="session")  # for tests that change nothing

ROWS = ("read_list_item", "write_list_item", "delete_list_item")
FLAG_OF = {"PATCH": "rename_file", "DELETE": "delete_file"}


def writes(content):
    return [call for call in content.calls() if call["method"] != "GET" and not call["batch"]]


@pytest.fixture
def row(content):
    return row_of(content)


def row_of(content):
    """Return the path of the row of a library's file."""
    file = content.resources["hull"]
    library = content.world.sandbox.state.content.get(r.Library, file.drive_id)
    site = f"collab:site:{library.site_id.lower()}"
    list_id = f"{site}:list:{library.list_id.lower()}"
    return f"/sites/{site}/lists/{list_id}/items/{list_id}:item:{file.number}"


@pytest.mark.parametrize(
    ("method", "body"), [("PATCH", {"fields": {"FileLeafRef": "renamed.png"}}), ("DELETE", None)]
)
async def test_a_row_that_is_a_file_asks_for_the_flag_of_the_file(content, row, method, body):
    token = await content.token(allowedCollabOperations=ROWS)
    content.forget_calls()

    response = await content.call(method, row, token, **({} if body is None else {"json": body}))

    answer = response.json()
    flag = FLAG_OF[method]
    assert (response.status_code, answer["error"]) == (422, "OPERATION_NOT_ALLOWED")
    assert answer["requiredOperation"] == flag
    assert response.headers["x-required-operation"] == flag
    assert answer["message"] == f"This token does not allow {flag}."
    assert writes(content) == []
    assert "hull.png" in content.names("drawings")


async def test_with_the_flags_of_files_the_row_renames_and_deletes(content, row):
    token = await content.token(allowedCollabOperations=(*ROWS, "rename_file", "delete_file"))

    renamed = await content.call("PATCH", row, token, json={"fields": {"FileLeafRef": "a.png"}})
    assert (renamed.status_code, renamed.json()["name"]) == (200, "a.png")
    assert content.names("drawings") >= {"a.png"}
    assert (await content.call("DELETE", row, token)).status_code == 204
    assert "a.png" not in content.names("drawings")


async def test_other_rows_are_written_without_the_flags_of_files(content):
    token = await content.token(allowedCollabOperations=ROWS)
    path = content.path("berths", 1)

    assert (await content.call("PATCH", path, token, json={"fields": {"Length": 3}})).is_success
    assert (await content.call("DELETE", path, token)).status_code == 204


@shared
@pytest.mark.parametrize("name", ["CON.txt", "a/b.txt", "", " x", "~$a.docx", "x_vti_y", 7, None])
async def test_the_name_in_a_row_is_checked_as_the_name_of_a_file(readonly, name):
    token = await readonly.token()
    readonly.forget_calls()

    response = await readonly.call(
        "PATCH", row_of(readonly), token, json={"fields": {"FileLeafRef": name}}
    )

    answer = response.json()
    assert (response.status_code, answer["error"]) == (400, "INVALID_FIELDS")
    assert [detail["field"] for detail in answer["details"]] == ["fields.FileLeafRef"]
    assert readonly.calls() == []


@shared
@pytest.mark.parametrize(
    "column",
    [
        "FileDirRef",
        "filedirref",
        "FileRef",
        "BaseName",
        "LinkFilename",
        "_ModerationStatus",
        "CheckoutUserLookupId",
        "HasUniqueRoleAssignments",
        "_IpLabelId",
    ],
)
async def test_columns_that_reach_beyond_the_row_are_never_written(readonly, column):
    token = await readonly.token()
    readonly.forget_calls()

    response = await readonly.call("PATCH", row_of(readonly), token, json={"fields": {column: "1"}})

    answer = response.json()
    assert (response.status_code, answer["error"]) == (400, "INVALID_FIELDS")
    assert [detail["field"] for detail in answer["details"]] == [f"fields.{column}"]
    assert readonly.calls() == []


@shared
async def test_a_row_is_not_renamed_to_a_blocked_type(readonly):
    token = await readonly.token(("mime_type", "application/pdf", "block"))
    readonly.forget_calls()

    response = await readonly.call(
        "PATCH", row_of(readonly), token, json={"fields": {"FileLeafRef": "h.pdf"}}
    )

    assert (response.status_code, response.json()["error"]) == (404, "BLOCKED")
    assert writes(readonly) == []


@shared
@pytest.mark.parametrize("fields", [{"ContentTypeId": "0x01AB"}, {"ContentType": "Any"}])
@pytest.mark.parametrize("number", [0, 1])
async def test_a_row_is_not_given_a_blocked_content_type(readonly, fields, number):
    token = await readonly.token(("content_type_id", "0x01ab", "block"))
    readonly.forget_calls()
    method = "PATCH" if number else "POST"

    response = await readonly.call(
        method, readonly.path("berths", number), token, json={"fields": {"Title": "x", **fields}}
    )

    assert (response.status_code, response.json()["error"]) == (404, "BLOCKED")
    assert writes(readonly) == []
