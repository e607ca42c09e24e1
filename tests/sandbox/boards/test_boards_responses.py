"""Responses of the boards API: scopes, errors by version, complexity budget, injected faults."""

import pytest

from sandbox.boards.complexity import set_budget

ME = "{me{name}}"
FAULTS = "http://sandbox.test/faults/tasks"


async def test_token_is_accepted_with_and_without_bearer(boards):
    (token,) = boards.issue().values()
    for header in (token, f"Bearer {token}"):
        answer = await boards.http.post(
            "/tasks/v2", json={"query": ME}, headers={"authorization": header}
        )
        assert answer.json()["data"] == {"me": {"name": "Nora Lindqvist"}}

    refused = await boards.http.post(
        "/tasks/v2", json={"query": ME}, headers={"authorization": "nonsense"}
    )
    assert (refused.status_code, refused.json()) == (401, {"errors": ["Not Authenticated"]})


async def test_successful_response_has_account_and_request_ids(boards):
    body = await boards.ask(ME)

    assert body.keys() == {"data", "account_id", "extensions"}
    assert (body["account_id"], list(body["extensions"])) == (7_310_442, ["request_id"])


REQUIRED_SCOPES = {
    "{boards{id}}": "boards:read",
    "{users{id}}": "users:read",
    "{me{id}}": "me:read",
    "{account{id}}": "account:read",
    "{updates{id}}": "updates:read",
    'mutation{create_item(board_id:1,item_name:"x"){id}}': "boards:write",
    'mutation{create_update(item_id:1,body:"x"){id}}': "updates:write",
}


@pytest.mark.parametrize("document", REQUIRED_SCOPES)
async def test_field_requires_its_scope(boards, document):
    boards.http.headers.update(boards.issue("workspaces:read"))
    body = await boards.ask(document)
    (error,) = body["errors"]

    assert error["extensions"]["code"] == "missingRequiredPermissions"
    assert error["extensions"]["error_data"] == {"required_scopes": [REQUIRED_SCOPES[document]]}
    boards.http.headers.update(boards.issue(REQUIRED_SCOPES[document]))
    after = await boards.ask(document)
    assert "required_scopes" not in str(after)


async def test_viewer_cannot_write_and_does_not_see_private_boards(boards):
    boards.http.headers.update(boards.issue(account="oskar@harbourlight.example"))
    (board, *_) = (await boards.data("{boards{id name}}"))["boards"]
    create = 'mutation($b:ID!){create_item(board_id:$b,item_name:"x"){id}}'

    assert (await boards.error(create, b=board["id"]))[0] == "UserUnauthorizedException"
    boards.http.headers.update(boards.issue(account="linnea@harbourlight.example"))
    names = [item["name"] for item in (await boards.data("{boards(limit:50){name}}"))["boards"]]
    assert "Salaries" in names


async def test_legacy_versions_report_errors_in_top_level_members(boards):
    document = "mutation{delete_item(item_id:1){id}}"
    old = await boards.ask(document, version="2024-10")
    new = await boards.ask(document, version="2026-10")

    assert old == {
        "error_code": "InvalidItemIdException",
        "status_code": 404,
        "error_message": "This item does not exist.",
        "error_data": {"item_id": "1"},
        "errors": ["This item does not exist."],
        "account_id": 7_310_442,
    }
    assert new["data"] == {"delete_item": None}
    assert new["errors"] == [
        {
            "message": "This item does not exist.",
            "locations": [{"line": 1, "column": 10}],
            "path": ["delete_item"],
            "extensions": {
                "code": "InvalidItemIdException",
                "status_code": 404,
                "error_data": {"item_id": "1"},
            },
        }
    ]


async def test_invalid_version_means_the_current_version(boards):
    for version in ("9999", "2026-13", "latest"):
        body = await boards.ask("{version{value}}", version=version)
        assert body["data"]["version"]["value"] == "2026-10"


INVALID = {
    "an unknown field": ("{nonsense}", "GRAPHQL_VALIDATION_FAILED"),
    "an unknown argument": ("{boards(nope:1){id}}", "GRAPHQL_VALIDATION_FAILED"),
    "no document": ("{", "ParseError"),
}


@pytest.mark.parametrize("row", INVALID)
async def test_invalid_document_has_errors_and_no_data(boards, row):
    document, code = INVALID[row]
    body = await boards.ask(document)

    assert "data" not in body
    assert body["errors"][0]["extensions"] == {"code": code}


@pytest.mark.parametrize("body", [b"", b"{", b"[]", b'{"query":1}', b'{"query":"{me{id}}","variables":3}'])  # fmt: skip # noqa: E501
async def test_body_that_is_not_a_graphql_request_is_a_bad_request(boards, body):
    answer = await boards.http.post("/tasks/v2", content=body)

    assert answer.status_code == 400
    assert answer.json()["errors"][0]["extensions"]["code"] == "BadRequest"


async def test_budget_runs_out_and_is_restored_after_a_minute(boards):
    set_budget(boards.sandbox.state.database, 100)
    shown = await boards.data("{complexity{before query after reset_in_x_seconds}}")
    assert shown["complexity"] == {"before": 100, "query": 5, "after": 95, "reset_in_x_seconds": 60}

    boards.clock[0] += 20
    answer = await boards.http.post("/tasks/v2", json={"query": "{boards(limit:100){id}}"})
    assert answer.headers["retry-after"] == "40"
    assert answer.json()["errors"] == [
        {
            "message": "Complexity budget exhausted",
            "extensions": {"code": "COMPLEXITY_BUDGET_EXHAUSTED", "retry_in_seconds": 40},
        }
    ]
    boards.clock[0] += 40
    assert (await boards.data("{boards(limit:90){id}}"))["boards"]


@pytest.mark.slow
async def test_account_without_a_set_budget_never_runs_out(boards):
    costly = "{boards(limit:20){items_page(limit:500){items{id}}} complexity{before query}}"
    shown = [(await boards.data(costly))["complexity"] for _ in range(100)]

    assert shown[0] == {"before": 10_000_000, "query": shown[0]["query"]}
    assert sum(item["query"] for item in shown) > 10_000_000
    assert all(item["before"] >= item["query"] for item in shown)


async def test_budget_error_has_the_format_of_its_version(boards):
    set_budget(boards.sandbox.state.database, 10)
    document = "{boards(limit:100){id}}"
    middle = await boards.ask(document, version="2025-01")
    old = await boards.ask(document, version="2024-07")

    assert middle["errors"][0]["extensions"] == {
        "code": "COMPLEXITY_BUDGET_EXHAUSTED",
        "status_code": 429,
        "retry_in_seconds": 60,
        "complexity": 101,
        "complexity_budget_left": 10,
        "complexity_budget_limit": 10,
    }
    assert (old["error_code"], old["status_code"]) == ("ComplexityException", 429)
    assert old["error_message"].endswith("reset in 60 seconds")


async def test_document_that_costs_more_than_five_million_fails(boards):
    document = "{boards(limit:5000){items_page(limit:500){items{id name}}}}"

    assert (await boards.error(document))[0] == "maxComplexityExceeded"


# kind -> (code, status_code, seconds to wait)
FAULTS_BY_KIND = {
    "rateLimit": ("RateLimitExceeded", 429, 20),
    "tooManyRequests": ("tooManyRequests", 400, 5),
    "concurrency": ("maxConcurrencyExceeded", 429, 1),
    "dailyLimit": ("DAILY_LIMIT_EXCEEDED", 429, None),
    "locked": ("Resource is currently locked", 423, None),
    "unauthorized": ("UserUnauthorizedException", 403, None),
    "internal": ("INTERNAL_SERVER_ERROR", 500, None),
}


@pytest.mark.parametrize("kind", FAULTS_BY_KIND)
async def test_injected_fault_is_an_error_with_status_200(boards, kind):
    code, status, wait = FAULTS_BY_KIND[kind]
    assert (await boards.http.put(FAULTS, json={"kind": kind, "count": 1})).status_code == 200
    body = await boards.ask(ME)
    expected = {"code": code, "status_code": status}

    assert body["errors"][0]["extensions"] == (
        expected if wait is None else {**expected, "retry_in_seconds": wait}
    )
    assert "data" not in body
    assert (await boards.ask(ME))["data"]


async def test_faults_accept_a_code_a_retry_time_and_a_match_on_the_document(boards):
    fault = {"kind": "complexity", "retryAfter": 7, "match": "users"}
    await boards.http.put(FAULTS, json=fault)

    assert "errors" not in await boards.ask(ME)
    spoilt = await boards.http.post("/tasks/v2", json={"query": "{users{id}}"})
    assert spoilt.headers["retry-after"] == "7"
    await boards.http.put(FAULTS, json={"kind": "rateLimit", "reason": "IP_RATE_LIMIT_EXCEEDED"})
    assert (await boards.error(ME))[0] == "IP_RATE_LIMIT_EXCEEDED"
    await boards.http.put(FAULTS, json={"kind": "strings"})
    assert await boards.ask(ME) == {
        "errors": ["Complexity budget exhausted, reset in 12 seconds"],
        "status_code": 429,
        "error_code": "complexityBudgetExhausted",
    }


async def test_fault_kinds_of_one_upstream_are_unknown_to_another(boards):
    refused = await boards.http.put("http://sandbox.test/faults/collab", json={"kind": "locked"})

    assert refused.status_code == 400


async def test_call_log_has_the_document_without_its_variables(boards):
    await boards.ask("query($i:[ID!]){items(ids:$i){id}}", i=["424242"])
    (call,) = (await boards.http.get("http://sandbox.test/calls/tasks")).json()["calls"]

    assert call["document"] == "query($i:[ID!]){items(ids:$i){id}}"
    assert "424242" not in str(call)
