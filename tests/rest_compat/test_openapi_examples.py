"""Every documented operation has an example that fits its schemas; texts are for REST callers."""

import json

import jsonschema_rs
import pytest

from gateway.http.api_descriptions import access_document

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
        word
        for word in ("error of the field", "4 MiB here", "come from `collabFileLink`")
        if word in text
    ] == []
    assert DOCUMENT["info"]["license"] == {"name": "MIT", "identifier": "MIT"}
    assert DOCUMENT["servers"][0]["url"] == "/"
    summaries = [operation["summary"] for operation in OPERATIONS.values()]
    assert [summary for summary in summaries if "`" in summary or len(summary) > 120] == []
    assert [name for name, row in OPERATIONS.items() if row["summary"] in row["description"]] == []


def test_a_description_names_what_a_call_requires_and_its_field():
    assert OPERATIONS["modifyEmail"]["description"] == (
        "Every needed operation is checked before anything changes.\n\n"
        "Requires `mark_as_read` or `apply_labels`. "
        "In GraphQL and in the decision log: `modifyEmail`.\n\n"
        "[Open in the explorer](../explorer/open.html#operation=ModifyEmail)"
    )
    assert OPERATIONS["listTaskItems"]["description"] == (
        "Requires `view_items`. In GraphQL and in the decision log: `taskItems`.\n\n"
        "[Open in the explorer](../explorer/open.html#operation=ListTaskItems)"
    )
    assert OPERATIONS["getEmailAttachment"]["summary"] == "Download one attachment of a message"


def test_a_member_with_a_default_stays_optional_in_generated_clients():
    requests = {
        name: schema
        for name, schema in DOCUMENT["components"]["schemas"].items()
        if name.endswith("Request")
    }

    members = requests["SendEmailRequest"]["properties"]
    assert '"default"' not in json.dumps(requests)
    assert members["bodyType"]["description"] == 'The format of the body. Default: `"html"`.'


def test_a_member_of_a_request_may_be_null_unless_it_is_required():
    """docs/spec/requests.md: null counts as absent."""
    schemas = DOCUMENT["components"]["schemas"]
    message = {"to": [{"email": "a@example.com", "name": None}], "subject": "", "body": ""}
    optional = schemas["SendEmailRequest"]["properties"].keys() - message.keys()
    send = {"$ref": "#/components/schemas/SendEmailRequest"}

    assert optional == {"cc", "bcc", "bodyType", "importance", "connectionId", "attachments"}
    assert fits({**message, **dict.fromkeys(optional)}, send)
    assert [name for name in message if fits({**message, name: None}, send)] == []


def test_no_schema_has_the_name_of_one_of_its_members():
    schemas = DOCUMENT["components"]["schemas"]

    assert [
        name
        for name, schema in schemas.items()
        if name.lower() in {member.lower() for member in schema.get("properties", ())}
    ] == []


def test_a_maximum_to_which_a_limit_is_lowered_is_not_a_schema_error():
    rows = [row for operation in OPERATIONS.values() for row in operation["parameters"]]
    limits = [row for row in rows if row.get("name") == "limit"]

    assert len(limits) > 5
    assert [row for row in limits if "maximum" in row["schema"]] == []
