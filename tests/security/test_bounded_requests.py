"""
No request holds the worker: the work on a request is bounded before it is done.

The generated search for the dearest accepted request is in `test_request_cost.py`.
"""

import orjson
import pytest
from generated_requests import LIMITS, WITH_BODY
from python_calls import MOST_CALLS_AT_ONCE, PythonCalls, calls_per_step

LONGEST_REFUSAL = 16 * 1024
MOST_CALLS = 60_000  # of Python functions; the hostile requests below made millions


def filled(opening, item, closing, size):
    """Return about *size* bytes: *item* again and again, separated by commas."""
    return opening + b",".join([item] * (size // (len(item) + 1))) + closing


def hostile(row):
    """Yield bodies of the largest size that a row takes, by name."""
    size = LIMITS[row.body] - 100
    for item in (b"{}", b"0", b'"\\\\"', b'{"email":"a"}'):
        yield item, filled(b'{"to":[', item, b"]}", size)
        yield item, filled(b'{"fields":{"a":[', item, b"]}}", size)
        yield item, filled(b'{"addLabels":[', item, b'],"name":"n"}', size)
    members = b",".join(b'"%d":1' % number for number in range(size // 13))
    yield "members", b"{" + members + b"}"
    yield "columns", b'{"name":"n","fields":{' + members + b"}}"
    yield "nested", b"[" * size
    yield "a name", b'{"' + b"n" * size + b'":1}'
    yield "a value", b'{"role":"' + b"n" * size + b'"}'
    yield "digits", b'{"connectionId":' + b"1" * size + b"}"
    yield "no JSON", b'"' * size
    yield "no text", b'"\\' * (size // 2)


@pytest.mark.slow
@pytest.mark.parametrize(
    "row", [pytest.param(row, id=f"{row.method} {row.document}") for row in WITH_BODY]
)
def test_no_body_is_walked_whole(served, row):
    before = served.upstream_calls()
    for name, body in hostile(row):
        with PythonCalls() as calls:
            headers = {"prefer": "handling=strict"}
            response, _ = served.call(
                row.method, served.url(row.path), content=body, headers=headers
            )

        assert response.status_code == 400, (name, response.text[:300])
        assert response.json()["error"] == "VALIDATION_ERROR", name
        assert len(response.content) <= LONGEST_REFUSAL, name
        assert calls.count <= MOST_CALLS, name
    assert served.upstream_calls() == before


@pytest.mark.slow
def test_no_set_of_rules_is_walked_whole(served):
    url = f"/api/access-tokens/{served.token_id}/collab-rules"
    rule = b'{"ruleType":"drive","pattern":"a","action":"block"}'
    for item in (b"{}", b"[]", b"0", b'"a"', rule[:-1] + b',"x":1}', rule):
        with PythonCalls() as calls:
            body = filled(b'{"rules":[', item, b"]}", 4_000_000)
            response, _ = served.call("PUT", url, content=body)

        assert response.status_code == 400, response.text[:300]
        assert len(response.content) <= LONGEST_REFUSAL
        assert calls.count <= MOST_CALLS


@pytest.mark.slow
def test_other_requests_go_on_while_a_set_of_rules_is_stored(served):
    """The loop does a bounded part of the work at a time, however many rules there are."""
    url = f"/api/access-tokens/{served.token_id}/collab-rules"
    rules = [
        {"ruleType": "mime_type", "pattern": f"text/x{number}", "action": "block"}
        for number in range(5000)
    ]

    with calls_per_step() as steps:
        response = served.runner.run(served.admin.put(url, json={"rules": rules}))

    assert [rule["pattern"] for rule in response.json()["rules"]] == [
        rule["pattern"] for rule in rules
    ]
    assert max(steps) <= MOST_CALLS_AT_ONCE


VARIABLES = {
    "recipients": {"to": [{"email": "a"}] * 4000},
    "empty recipients": {"to": [{}] * 15_000},
    "lists": {"to": [[]] * 20_000},
    "unknown members": {str(number): 1 for number in range(6000)},
    "a long name": {"x" * 60_000: 1},
    "labels": {"addLabels": ["a"] * 12_000},
    "no labels": {"addLabels": [1] * 20_000},
}
SENDING = "mutation ($input: SendEmailInput!) { sendEmail(input: $input) { success } }"
CHANGING = (
    'mutation ($input: ModifyEmailInput!) { modifyEmail(emailId: "x", input: $input) { success } }'
)


@pytest.mark.parametrize("value", VARIABLES.values(), ids=VARIABLES)
@pytest.mark.parametrize("query", [SENDING, CHANGING], ids=["send", "modify"])
def test_no_variable_is_walked_whole(served, query, value):
    before = served.upstream_calls()
    body = {"query": query, "variables": {"input": value}}
    with PythonCalls() as calls:
        response, _ = served.call("POST", "/graphql", content=orjson.dumps(body))

    assert response.status_code == 400
    assert response.json()["errors"][0]["extensions"]["code"] == "VALIDATION_ERROR"
    assert len(response.content) <= LONGEST_REFUSAL
    assert calls.count <= MOST_CALLS
    assert served.upstream_calls() == before
