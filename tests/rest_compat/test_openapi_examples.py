"""Every documented operation has an example that fits its schemas; texts are for REST callers."""

import json

import jsonschema_rs
import pytest

from gateway.http.openapi import access_document

DOCUMENT = json.loads(json.dumps(access_document()))
OPERATIONS = {
    operation["operationId"]: operation
    for methods in DOCUMENT["paths"].values()
    for operation in methods.values()
}


def fits(example, schema):
    return jsonschema_rs.is_valid({**schema, "components": DOCUMENT["components"]}, example)


@pytest.mark.parametrize("name", OPERATIONS)
def test_an_operation_has_an_example_of_its_request_and_answer(name):
    operation = OPERATIONS[name]
    parameters = [row for row in operation["parameters"] if row.get("in") == "path"]
    bodies = [operation.get("requestBody", {}).get("content", {}).get("application/json")]
    success = next(row for status, row in operation["responses"].items() if status < "3")
    bodies.append(success.get("content", {}).get("application/json"))

    assert [row["name"] for row in parameters if "example" not in row] == []
    assert all(fits(row["example"], row["schema"]) for row in parameters)
    for body in bodies:
        assert body is None or fits(body["example"], body["schema"])


def test_texts_do_not_speak_of_the_schema_behind_rest():
    text = json.dumps(DOCUMENT["paths"]) + json.dumps(DOCUMENT["components"])

    assert [
        word for word in ("error of the field", "4 MiB here", "collabFileLink`") if word in text
    ] == []
    assert DOCUMENT["info"]["license"] == {"name": "MIT", "identifier": "MIT"}
    assert DOCUMENT["servers"][0]["url"] == "/"
    summaries = [operation["summary"] for operation in OPERATIONS.values()]
    assert [summary for summary in summaries if "`" in summary or len(summary) > 120] == []
    same = [op["summary"] for op in OPERATIONS.values() if op.get("description") == op["summary"]]
    assert same == []


def test_a_maximum_to_which_a_limit_is_lowered_is_not_a_schema_error():
    rows = [row for operation in OPERATIONS.values() for row in operation["parameters"]]
    limits = [row for row in rows if row.get("name") == "limit"]

    assert len(limits) > 5
    assert [row for row in limits if "maximum" in row["schema"]] == []
