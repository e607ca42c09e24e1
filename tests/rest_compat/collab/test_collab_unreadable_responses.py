"""Creation whose response is lost or unreadable happens once."""

from datetime import timedelta

import pytest

from providers.connectors.collab.files import upload_sessions
from providers.connectors.collab.files.uploads import SMALL, FileUploader
from providers.connectors.collab.files.writing import FileWriter
from providers.content import fingerprints
from providers.failures import Broken, OutcomeUnknown, Throttled, TimedOut, Unreachable

UNKNOWN = "It is not known whether the provider made the change."
UNUSABLE = "The provider's response is not valid."
KEYED = {"headers": {"Idempotency-Key": "k"}}


class Creation:
    """
    A creation, by REST (*path* and *sent*) and by GraphQL (*document*).

    Words with ``#`` stand for ids. *call* is the upstream call that creates: its method and a part
    of its path.
    """

    def __init__(self, path, sent, document, *call):
        self.path, self.sent, self.document, self.call = path, sent, document, call

    async def rest(self, content):
        sent = {name: replace_names(content, value) for name, value in self.sent.items()}
        return await content.call("POST", replace_names(content, self.path), **sent, **KEYED)

    async def graphql(self, content):
        body = {"query": f"mutation {{ {replace_names(content, self.document)} }}"}
        async with content.client(await content.token()) as client:
            return await client.post("/graphql", json=body, **KEYED)


def replace_names(content, value):
    """Replace words with ``#`` by ids."""
    if isinstance(value, dict):
        return {name: replace_names(content, entry) for name, entry in value.items()}
    if isinstance(value, str):
        for name in content.resources:
            value = value.replace(f"#{name}#", content.id(name))
    return value


def upload(conflict):
    params = {"fileName": "new.bin", "folderId": "#boats#", "conflictBehavior": conflict}
    document = f"""uploadFile(fileName: "new.bin", folderId: "#boats#", input: "eA==",
                              conflictBehavior: {conflict}) {{ success }}"""
    return Creation(
        "/files/upload", {"params": params, "content": b"x"}, document, "PUT", "/content"
    )


ITEM = Creation(
    "/sites/#yard#/lists/#berths#/items",
    {"json": {"fields": {"Title": "New"}}},
    """createListItem(siteId: "#yard#", listId: "#berths#", input: {fields: {Title: "New"}})
       { id }""",
    "POST",
    "/items",
)
LETTER = Creation(
    "/files/#sketch#/share",
    {"json": {"type": "user", "role": "reader", "emailAddress": "bob@work.example"}},
    """shareFile(fileId: "#sketch#",
                 input: {type: user, role: reader, emailAddress: "bob@work.example"})
       { success }""",
    "POST",
    "/invite",
)
LINK = Creation(
    "/files/#sketch#/share",
    {"json": {"type": "anyone", "role": "reader"}},
    """shareFile(fileId: "#sketch#", input: {type: anyone, role: reader}) { success }""",
    "POST",
    "/createLink",
)
FOLDER = Creation(
    "/folders",
    {"json": {"name": "new", "parentFolderId": "#boats#"}},
    """createFolder(input: {name: "new", parentFolderId: "#boats#"}) { success }""",
    "POST",
    "/children",
)
KINDS = pytest.mark.parametrize("kind", ["spoiltAnswer", "lostAnswer"])
# What is made cannot be told from others.
UNKNOWN_MAKINGS = [
    pytest.param(ITEM, id="a list item"),
    pytest.param(LETTER, id="a letter"),
    pytest.param(LINK, id="a link"),
]
# It is found by its name, or by those that upstream would have chosen.
FOUND_MAKINGS = [
    pytest.param(FOLDER, id="a folder"),
    pytest.param(upload("fail"), id="a file or fail"),
    pytest.param(upload("replace"), id="a file or replace"),
    pytest.param(upload("rename"), id="a file or rename"),
]
MAKINGS = UNKNOWN_MAKINGS + FOUND_MAKINGS


def count_resources(content):
    """Count all resources that the creations may add."""
    shelf = content.world.sandbox.state.content
    rows = shelf.rows(content.resources["berths"].id)
    return (
        len(rows) + len(shelf.shares(content.resources["sketch"])) + len(content.names("documents"))
    )


def creation_calls(content, making):
    """Count the upstream calls of the creation."""
    method, part = making.call
    return sum(call["method"] == method and part in call["path"] for call in content.calls())


async def fail(content, making, kind):
    method, part = making.call
    await content.fail(kind=kind, count=1, method=method, match=part)
    content.forget_calls()


def failed_body(response, message):
    """Return the complete body of a failed REST call."""
    expected_body = {
        "error": None,
        "message": message,
        "requestId": response.headers["x-request-id"],
    }
    if "/lists/" in response.request.url.path:
        return expected_body
    return {
        **expected_body,
        "success": False,
        "fileId": None,
        **({"permissionId": None, "role": None} if "/share" in response.request.url.path else {}),
        "errorCode": "PROVIDER_ERROR",
        "errorMessage": message,
    }


@pytest.mark.slow
@KINDS
@pytest.mark.parametrize("making", UNKNOWN_MAKINGS)
async def test_an_unreadable_response_is_an_unknown_outcome_over_rest(content, making, kind):
    before = count_resources(content)
    await fail(content, making, kind)

    first, second = [await making.rest(content) for _ in range(2)]

    assert (first.status_code, first.json()) == (504, failed_body(first, UNKNOWN))
    assert (second.status_code, second.content) == (504, first.content)
    assert second.headers["idempotent-replayed"] == "true"
    assert (count_resources(content), creation_calls(content, making)) == (before + 1, 1)


@pytest.mark.slow
@KINDS
@pytest.mark.parametrize("making", UNKNOWN_MAKINGS)
async def test_an_unreadable_response_is_an_unknown_outcome_over_graphql(content, making, kind):
    before = count_resources(content)
    await fail(content, making, kind)

    first, second = [await making.graphql(content) for _ in range(2)]

    root = making.document.partition("(")[0]
    assert (first.status_code, second.content) == (200, first.content)
    assert first.json() == {
        "data": {root: None},
        "errors": [
            {
                "message": UNKNOWN,
                "locations": [{"line": 1, "column": 12}],
                "path": [root],
                "extensions": {
                    "code": "OUTCOME_UNKNOWN",
                    "httpStatus": 504,
                    "requestId": first.headers["x-request-id"],
                },
            }
        ],
        "extensions": {"access": {"hiddenFields": {}}},
    }
    assert second.headers["idempotent-replayed"] == "true"
    assert (count_resources(content), creation_calls(content, making)) == (before + 1, 1)


@pytest.mark.slow
@KINDS
@pytest.mark.parametrize("making", FOUND_MAKINGS)
async def test_a_creation_with_a_unique_name_is_found(content, making, kind):
    before = count_resources(content)
    await fail(content, making, kind)

    first, second = [await making.rest(content) for _ in range(2)]

    body = {"success": True, "fileId": first.json()["fileId"]}
    body |= {"errorCode": None, "errorMessage": None}
    assert (first.status_code, first.json()) == (200, body)
    made = await content.call("GET", f"/files/{first.json()['fileId']}")
    assert made.json()["file"]["name"].startswith("new")
    assert (second.status_code, second.content) == (200, first.content)
    assert second.headers["idempotent-replayed"] == "true"
    assert (count_resources(content), creation_calls(content, making)) == (before + 1, 1)


async def test_a_folder_of_somebody_else_is_not_taken_for_the_created_one(content, monkeypatch):
    """Another folder has the name: it was made before, so that the outcome is unknown."""
    monkeypatch.setattr(fingerprints, "CLOCK_SKEW", -timedelta(days=1))
    await fail(content, FOLDER, "lostAnswer")

    response = await FOLDER.rest(content)

    assert (response.status_code, response.json()) == (504, failed_body(response, UNKNOWN))


@pytest.mark.parametrize(("cause", "status"), [(Unreachable(sent=True), 502), (TimedOut(), 504)])
async def test_a_folder_that_is_not_there_was_not_made(content, monkeypatch, cause, status):
    """Unless the provider may still be at it: then its absence says nothing."""

    async def lose(*_, **__):
        raise OutcomeUnknown from cause

    monkeypatch.setattr(FileWriter, "create_folder", lose)
    before = count_resources(content)
    content.forget_calls()

    response = await FOLDER.rest(content)

    assert (response.status_code, response.json()["errorCode"]) == (status, "PROVIDER_ERROR")
    assert (count_resources(content), creation_calls(content, FOLDER)) == (before, 0)


def of_name(content, conflict, name="sketch.pdf"):
    """Return the parameters of an upload under a name; a file has that of `sketch.pdf`."""
    params = {"fileName": name, "folderId": content.id("boats")}
    return {"params": {**params, "conflictBehavior": conflict}}


def file_of(content, file_id):
    drive, _, item = file_id.removeprefix("collab:drive:").partition(":item:")
    return content.world.sandbox.state.content.item(drive, item)


@pytest.fixture(params=["503", "503 with a wait"])
def ended_session(request, monkeypatch):
    """Lose the response to the last slice of a file; the session has ended then."""
    failure = Broken(failed=True)
    if request.param == "503 with a wait":
        failure = Throttled(1)
        failure.retry_after = 0  # nothing to wait for here
    finish = upload_sessions.UploadSession._put

    async def finish_and_fail(self, piece, start, size):
        response = await finish(self, piece, start, size)
        if response.status != 202:
            raise failure
        return response

    monkeypatch.setattr(upload_sessions.UploadSession, "_put", finish_and_fail)


@pytest.mark.usefixtures("ended_session")
@pytest.mark.parametrize(
    ("conflict", "name"), [("replace", "sketch.pdf"), ("rename", "sketch 1.pdf")]
)
async def test_a_file_is_found_whose_session_ended_with_a_failure(content, conflict, name):
    taken = content.resources["sketch"]
    content.forget_calls()

    response = await content.call(
        "POST", "/files/upload", **of_name(content, conflict), content=bytes(SMALL + 1), **KEYED
    )

    assert (response.status_code, response.json()["success"]) == (200, True), response.text
    stored = file_of(content, response.json()["fileId"])
    assert (stored.name, stored.size) == (name, SMALL + 1)
    assert (stored.id == taken.id) == (conflict == "replace")
    assert file_of(content, content.id("sketch")).size == (
        SMALL + 1 if conflict == "replace" else taken.size
    )
    sessions = [call for call in content.calls() if "createUploadSession" in call["path"]]
    assert len(sessions) == 1


@pytest.mark.parametrize(
    ("upload", "cause", "status"),
    [
        (("replace", "sketch.pdf"), Broken(), 502),  # the file is as it was
        (("replace", "sketch.pdf"), TimedOut(), 504),  # upstream may still be at it
        (("replace", "other.pdf"), Broken(), 502),
        (("rename", "other.pdf"), Broken(), 502),  # upstream would have taken this name
        (("rename", "sketch.pdf"), Broken(), 504),  # or any other one
    ],
)
async def test_a_file_that_is_not_there_was_not_stored(content, monkeypatch, upload, cause, status):
    async def lose(*_, **__):
        raise OutcomeUnknown from cause

    monkeypatch.setattr(FileUploader, "upload", lose)
    before = content.names("documents")
    content.forget_calls()

    response = await content.call(
        "POST", "/files/upload", **of_name(content, *upload), content=b"x"
    )

    assert (response.status_code, response.json()["errorCode"]) == (status, "PROVIDER_ERROR")
    assert content.names("documents") == before
    assert {call["method"] for call in content.calls()} <= {"GET"}


@pytest.mark.slow
@pytest.mark.parametrize("making", MAKINGS)
async def test_a_definite_upstream_failure_can_be_retried(content, making):
    before = count_resources(content)
    await fail(content, making, "500")

    first, second = [await making.rest(content) for _ in range(2)]

    assert (first.status_code, first.json()) == (502, failed_body(first, UNUSABLE))
    assert second.status_code in (200, 201)
    assert "idempotent-replayed" not in second.headers
    assert (count_resources(content), creation_calls(content, making)) == (before + 1, 2)


@pytest.mark.parametrize(
    ("path", "sent"),
    [
        pytest.param("/files/#sketch#/rename", {"newName": "other.pdf"}, id="a name"),
        pytest.param("/files/#sketch#/move", {"destinationFolderId": "#inner#"}, id="a place"),
        pytest.param("row", {"fields": {"Title": "Other"}}, id="a list item"),
    ],
)
async def test_a_change_with_an_unreadable_response_is_502_and_repeatable(content, path, sent):
    path = content.path("berths", 1) if path == "row" else replace_names(content, path)
    await content.fail(kind="spoiltAnswer", count=1, method="PATCH")
    content.forget_calls()

    first, second = [
        await content.call("PATCH", path, json=replace_names(content, sent)) for _ in range(2)
    ]

    assert (first.status_code, first.json()) == (502, failed_body(first, UNUSABLE))
    assert second.status_code == 200, second.text
    assert sum(call["method"] == "PATCH" for call in content.calls()) == 2
