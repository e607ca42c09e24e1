"""Logs name routes and cases, and contain no content."""

import io
import json
import logging

import pytest
import pytest_asyncio

from gateway.telemetry import logs

pytestmark = [pytest.mark.asyncio(loop_scope="module"), pytest.mark.usefixtures("emptied")]
CANARY = "canary-7f3a"


@pytest_asyncio.fixture(loop_scope="module")
async def lines():
    """Everything that any logger writes, at its most talkative, as it would be written."""
    written = io.StringIO()
    handler = logging.StreamHandler(written)
    handler.setFormatter(logs.formatter("json"))
    root = logging.getLogger()
    level = root.level
    root.setLevel(logging.DEBUG)
    logs.silence_noisy_loggers()
    root.addHandler(handler)
    yield lambda: [json.loads(line) for line in written.getvalue().splitlines()]
    root.removeHandler(handler)
    root.setLevel(level)


async def test_a_request_is_logged_by_its_route(client, token, lines):
    mine = {"Authorization": f"Bearer {token['token']}", "X-Request-Id": "case-7"}
    await client.get(f"/api/access/email/messages/providerA:{CANARY}?q={CANARY}", headers=mine)

    logged = [line for line in lines() if line["event"] == "request"][-1]
    assert logged == {
        "time": logged["time"],
        "level": "info",
        "logger": "gateway",
        "event": "request",
        "request_id": "case-7",
        "token_id": token["id"],
        "operation": "GET /api/access/email/messages/{emailId}",
        "status": 422,
        "code": "EMAIL_NOT_ENABLED",
        "layer": "surface",
        "milliseconds": logged["milliseconds"],
    }


@pytest.mark.parametrize(
    ("method", "path", "bearer", "expected"),
    [
        pytest.param("GET", "/api/access/token", "own", (True, 200, None, None), id="allowed"),
        pytest.param(
            "GET",
            "/api/access/token",
            "agw_wrong",
            (False, 401, "UNAUTHENTICATED", "token"),
            id="an unknown token",
        ),
        pytest.param(
            "GET",
            "/api/operators",
            "wrong",
            (False, 401, "UNAUTHENTICATED", "token"),
            id="an unknown admin token",
        ),
        pytest.param(
            "POST",
            "/graphql",
            "own",
            (True, 400, "GRAPHQL_PARSE_FAILED", "input"),
            id="an unreadable document",
        ),
    ],
)
async def test_a_log_line_names_token_code_and_layer(  # noqa: PLR0917 - a row of the table
    client, token, lines, method, path, bearer, expected
):
    secret = token["token"] if bearer == "own" else bearer
    headers = {"Authorization": f"Bearer {secret}"}
    await client.request(method, path, headers=headers, json={"query": "{"})

    logged = [line for line in lines() if line["event"] == "request"][-1]
    refusal = (logged["status"], logged.get("code"), logged.get("layer"))
    assert (logged.get("token_id") == token["id"], *refusal) == expected


async def test_no_secret_address_or_search_word_is_logged(client, admin, token, new_token, lines):
    mine = {"Authorization": f"Bearer {token['token']}"}
    await client.get(f"/api/access/email/messages?q={CANARY}&from={CANARY}@x.example", headers=mine)
    await client.get(f"/{CANARY}?{CANARY}", headers={"Authorization": f"Bearer {CANARY}"})
    query = f'{{ emails(q: "{CANARY}") {{ totalCount }} }}'
    await client.post("/graphql", json={"query": query}, headers=mine)
    await admin.post("/api/access-tokens", json={**new_token, "name": CANARY, "x": CANARY})
    await admin.post("/api/operators", json={"email": f"{CANARY}@x.example", "displayName": CANARY})

    written = json.dumps(lines())
    assert CANARY not in written
    assert token["token"] not in written
    assert "the-admin-token" not in written


async def test_unlisted_log_fields_are_dropped():
    record = logging.makeLogRecord(
        {"name": "gateway", "levelno": 20, "levelname": "INFO", "msg": "x", "subject": CANARY}
    )
    record.request_id = "r"
    line = json.loads(logs.formatter("json").format(record))

    assert set(line) == {"time", "level", "logger", "event", "request_id"}
    assert logs.formatter("console").format(record) == "info: x request_id=r"


def shown(words, *arguments, failure=None, logger="uvicorn.error"):
    record = logging.makeLogRecord(
        {"name": logger, "levelname": "INFO", "msg": words, "args": arguments}
    )
    if failure is not None:
        record.exc_info = (type(failure), failure, None)
    return logs.formatter("console").format(record)


async def test_only_numbers_are_logged_of_server_line_arguments():
    assert shown("Started server process [%d]", 42) == "info: Started server process [42]"
    assert shown("Maximum of %s at %d", CANARY, 7) == "info: Maximum of … at 7"
    assert shown("100% done") == "info: 100% done"


async def test_an_exception_is_logged_by_its_type_alone():
    silent = f"info: {logs.SILENCED} kind=OSError"
    traceback = f"Traceback (most recent call last):\n  {CANARY}\nbuiltins.OSError: {CANARY}: x\n"

    assert shown(traceback) == silent
    assert shown(OSError(CANARY)) == silent
    assert shown(CANARY, failure=OSError(CANARY), logger="asyncio") == silent
    assert shown("ours", failure=OSError(CANARY), logger="gateway") == "info: ours kind=OSError"


async def test_a_probe_that_passes_is_logged_for_debugging_only(client, lines):
    await client.get("/readyz")

    (probe,) = [line for line in lines() if line.get("operation") == "GET /readyz"]
    assert (probe["level"], probe["status"]) == ("debug", 200)
