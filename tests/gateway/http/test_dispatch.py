"""REST and GraphQL bypass the application; failures use the error shape of the path."""

import gc

import orjson
import pytest
from failed_results import failed_result

from gateway import server
from gateway.errors import Overloaded
from gateway.http import admission_control
from gateway.http.admission_control import AdmissionControl
from gateway.store.database import StorageUnavailable


async def test_an_unavailable_database_is_503(gateway, client, monkeypatch):
    async def unavailable(*_args, **_more):
        raise StorageUnavailable

    monkeypatch.setattr(gateway.services.calls, "admit", unavailable)

    answer = await client.get("/api/access/email/messages")

    assert answer.status_code == 503
    assert answer.json()["error"] == "OVERLOADED"


BUG, BUSY = RuntimeError("a secret"), Overloaded()
SORRY = "Internal error. The operator can find its cause by the request id."
LATER = "The service is overloaded. Try again shortly."
RESULTS = {
    "email": "EmailActionResult",
    "tasks": "TaskItemResult",
    "collab": "DriveOperationResult",
}
EMAILS, FILES = "/api/access/email/messages", "/api/access/collab/files"


@pytest.mark.parametrize(
    ("method", "path", "failure", "expected"),
    [
        ("GET", EMAILS, BUG, {"error": "INTERNAL_ERROR"}),
        ("GET", EMAILS, BUSY, {"error": "OVERLOADED"}),
        ("HEAD", EMAILS, BUSY, {"error": "OVERLOADED"}),
        ("POST", f"{EMAILS}/send", BUG, {"error": "INTERNAL_ERROR", "errorCode": "INTERNAL_ERROR"}),
        ("POST", f"{EMAILS}/send", BUSY, {"error": "OVERLOADED", "errorCode": "OVERLOADED"}),
        (
            "POST",
            "/api/access/tasks/boards/b/items",
            BUSY,
            {"error": "OVERLOADED", "errorCode": None},
        ),
        ("GET", FILES, BUG, {"error": None}),
        ("GET", f"{FILES}/none/at/all/here", BUSY, {"error": None}),
        ("PUT", f"{FILES}/x/move", BUSY, {"error": None}),
        ("PATCH", f"{FILES}/x/move", BUSY, {"error": None, "errorCode": None}),
        ("POST", f"{FILES}/x/share", BUG, {"error": None, "errorCode": None}),
        ("POST", "/api/access-tokens", BUG, {"error": "INTERNAL_ERROR"}),
        ("GET", "/api/access/nowhere", BUSY, {"error": "OVERLOADED"}),
    ],
)
async def test_failures_outside_a_row_use_the_error_shape_of_the_row(
    gateway, method, path, failure, expected
):
    scope = {"type": "http", "method": method, "path": path, "headers": []}
    status, message = (500, SORRY) if failure is BUG else (503, LATER)

    answer = gateway.middleware.app.refuse(scope, failure)

    body = orjson.loads(answer.body)
    assert body.pop("requestId")
    if "errorCode" in expected:
        expected = {**failed_result(RESULTS[path.split("/")[3]], message, None), **expected}
    if path.endswith("/share"):
        expected |= {"permissionId": None, "role": None}
    assert (answer.status, answer.headers) == (status, ())
    assert body == {"message": message, **expected}


async def test_overload_response_uses_the_error_shape_of_the_path(gateway, client, monkeypatch):
    monkeypatch.setattr(gateway.middleware, "_admission", AdmissionControl(active=0, queued=0))
    monkeypatch.setattr(admission_control, "REFUSAL_SECONDS", 0.0)
    mine = {"X-Request-Id": "r"}

    rest = await client.get(FILES, headers=mine)
    graphql = await client.post("/graphql", json={}, headers=mine)

    assert (rest.status_code, graphql.status_code) == (503, 503)
    assert "retry-after" not in rest.headers
    assert rest.json() == {"error": None, "message": LATER, "requestId": "r"}
    extensions = {"code": "OVERLOADED", "httpStatus": 503, "requestId": "r"}
    assert graphql.json() == {"errors": [{"message": LATER, "extensions": extensions}]}


async def test_an_unexpected_exception_is_500_without_its_text(gateway, client, monkeypatch):
    async def broken(*_args, **_more):
        raise BUG

    monkeypatch.setattr(gateway.services.entry, "authenticate", broken)
    mine = {"X-Request-Id": "r"}

    rest = await client.post(f"{EMAILS}/send", json={}, headers=mine)
    graphql = await client.post("/graphql", json={}, headers=mine)

    assert (rest.status_code, graphql.status_code) == (500, 500)
    assert rest.json() == {
        "error": "INTERNAL_ERROR",
        "message": SORRY,
        "requestId": "r",
        **failed_result("EmailActionResult", SORRY, "INTERNAL_ERROR"),
    }
    extensions = {"code": "INTERNAL_ERROR", "httpStatus": 500, "requestId": "r"}
    assert graphql.json() == {"errors": [{"message": SORRY, "extensions": extensions}]}


async def test_other_methods_of_graphql_reach_the_application(client):
    answer = await client.put("/graphql", json={})

    assert answer.status_code == 405


def test_garbage_collection_is_tuned_after_start_up():
    before = gc.get_threshold()
    try:
        server.tune_garbage_collector()

        assert gc.get_threshold() == (20_000, 20, 50)
        assert gc.get_freeze_count() > 0
    finally:
        gc.set_threshold(*before)  # what is frozen stays: the tests' own million objects
