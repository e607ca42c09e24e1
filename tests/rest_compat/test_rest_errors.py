"""Error bodies of every code, on every surface, for every result object."""

import orjson
import pytest
from failed_results import NULLS

from graph.errors import STATUSES, described
from policy.refusals import NotFound, Refusal
from policy.vocabulary import Code, Surface
from rest_compat.documents import root_members
from rest_compat.errors import RESULT_OBJECTS, error_response
from rest_compat.table import ENDPOINTS

SURFACES = (*Surface, None)
WORDLESS = {Code.UNAUTHENTICATED, Code.RATE_LIMITED}


def body(code, *, surface=Surface.EMAIL, result=None, members=(), status=None, **more):
    stated = {"code": code, "httpStatus": status or STATUSES[code], "requestId": "r", **more}
    error = {"message": "No.", "extensions": stated}
    shaped = error_response(
        error, Refusal("No.", code=code), surface=surface, result=result, members=members
    )
    return orjson.loads(shaped.body), shaped


@pytest.mark.parametrize("surface", SURFACES, ids=str)
def test_error_is_null_exactly_where_specified(surface):
    wordless = {code for code in Code if body(code, surface=surface)[0]["error"] is None}

    on_collab = {Code.NOT_FOUND} | {code for code in Code if STATUSES[code] >= 500}
    assert wordless == WORDLESS | (on_collab if surface is Surface.COLLAB else set())


@pytest.mark.parametrize("name", RESULT_OBJECTS)
def test_a_result_object_reads_its_own_error(name):
    for code in Code:
        error, _ = body(code, surface=Surface.COLLAB, result=name)

        assert list(error)[:3] == ["error", "message", "requestId"]
        assert error["success"] is False
        assert error["errorMessage"] == "No."
        assert ("errorCode" in error) is (name != "ItemSensitivityLabelResponse")


ROWS = [row for row in ENDPOINTS if row.result]


@pytest.mark.parametrize("row", ROWS, ids=lambda row: f"{row.method} {row.path}")
def test_an_error_has_every_member_of_the_result(row):
    members = root_members(row.document)
    assert {"success", "errorMessage", *NULLS[row.result]} <= set(members)
    for code in Code:
        error, _ = body(code, surface=row.surface, result=row.result, members=members)

        stated = {"success": False, "errorMessage": "No.", "isGoogleWorkspaceFile": False}
        assert [name for name in error if name in members] == list(members)
        assert {name: error[name] for name in members if name != "errorCode"} == {
            name: stated.get(name) for name in members if name != "errorCode"
        }


def test_the_id_of_what_was_made_is_a_member_of_the_result():
    error, _ = body(
        Code.RULE_LIMIT,
        surface=Surface.COLLAB,
        result="DriveOperationResult",
        members=("success", "fileId", "errorMessage", "errorCode"),
        fileId="collab:drive:d:item:i",
    )

    assert error["fileId"] == "collab:drive:d:item:i"
    assert list(error).count("fileId") == 1


@pytest.mark.parametrize("name", ["TaskItemResult", "TaskOperationResult", "TaskCommentResult"])
def test_task_results_keep_to_their_closed_set(name):
    error_codes = {
        code: body(code, surface=Surface.TASKS, result=name)[0]["errorCode"] for code in Code
    }

    assert {code: word for code, word in error_codes.items() if word} == {
        Code.ACCESS_DENIED: "ACCESS_DENIED",
        Code.OPERATION_NOT_ALLOWED: "ACCESS_DENIED",
        Code.NOT_FOUND: "NOT_FOUND",
        Code.NO_WRITABLE_FIELDS: "NO_WRITABLE_FIELDS",
    }


@pytest.mark.parametrize(
    ("code", "error", "error_code"),
    [
        (Code.NOT_FOUND, None, "NOT_FOUND"),
        (Code.PROVIDER_ERROR, None, "PROVIDER_ERROR"),
        (Code.QUOTA_EXCEEDED, None, "QUOTA_EXCEEDED"),
        (Code.INVALID_ID, "INVALID_ID", "INVALID_REQUEST"),
        (Code.PAYLOAD_TOO_LARGE, "PAYLOAD_TOO_LARGE", "TOO_LARGE"),
        (Code.PROVIDER_REFUSED, "PROVIDER_REFUSED", "OPERATION_NOT_ALLOWED"),
        (Code.READ_ONLY, "READ_ONLY", "READ_ONLY"),
        (Code.BLOCKED, "BLOCKED", "BLOCKED"),
        (Code.NAME_CONFLICT, "NAME_CONFLICT", "NAME_CONFLICT"),
        (Code.RATE_LIMITED, None, None),
        (Code.UNAUTHENTICATED, None, None),
    ],
)
def test_drive_results_spell_some_words_differently(code, error, error_code):
    answer, _ = body(code, surface=Surface.COLLAB, result="DriveOperationResult")

    assert (answer["error"], answer["errorCode"]) == (error, error_code)


def test_optional_members_come_in_their_order_and_only_when_they_say_something():
    answer, _ = body(
        Code.PROVIDER_REQUIRED,
        surface=Surface.TASKS,
        accessInfo="A.",
        connectedProviders=["BOARDS"],
        details=[],
        reason=None,
    )

    assert answer == {
        "error": "PROVIDER_REQUIRED",
        "message": "No.",
        "requestId": "r",
        "connectedProviders": ["BOARDS"],
        "accessInfo": "A.",
    }


def test_headers_belong_to_their_status_alone():
    for code in Code:
        _, shaped = body(code, retryAfter=3)
        names = {name for name, _ in shaped.headers}

        assert ("WWW-Authenticate" in names) is (shaped.status == 401)
        assert ("Retry-After" in names) is (shaped.status == 429)


def test_an_endpoint_may_spell_a_code_of_its_own():
    cause = NotFound("No.")
    error = described(cause, surface=None, request_id="r")
    shaped = error_response(
        error, cause, surface=Surface.CALENDAR, codes={"NOT_FOUND": "EVENT_NOT_FOUND"}
    )

    assert orjson.loads(shaped.body)["error"] == "EVENT_NOT_FOUND"
