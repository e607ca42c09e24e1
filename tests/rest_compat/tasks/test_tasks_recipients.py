"""Recipient rules on tasks: people columns, which notify the people whom they name."""

import json

import pytest

from graph.tasks.write_arguments import name_people
from providers.item_visibility import Column
from sandbox.boards import errors
from sandbox.boards.context import ExecutionContext

BOARDS = "/api/access/tasks/boards"
ITEMS = "/api/access/tasks/items"
RULES = {"allowedTaskOperations": ["all"], "recipientRules": {"allow": ["@work.example"]}}
EVERYONE = RULES | {"recipientRules": {"allow": ["*"]}}

pytestmark = pytest.mark.asyncio(loop_scope="module")


def refusal(response):
    body = response.json()
    return response.status_code, body["error"], body["message"], body["details"]


def refused(message, field="fields.owner", times=1):
    detail = {"field": field, "message": "This token may not write to this recipient."}
    return 403, "RECIPIENT_NOT_ALLOWED", message, [detail] * times


@pytest.mark.slow
@pytest.mark.caller(**RULES)
@pytest.mark.parametrize(
    "value",
    [
        pytest.param('{"personsAndTeams":[{"id":1,"kind":"person"}]}', id="an unknown id"),
        pytest.param('{"personsAndTeams":[{"id":1,"kind":"team"}]}', id="a team"),
        pytest.param('{"personsAndTeams":[{"id":1}]}', id="an id of unknown kind"),
        pytest.param('{"personsAndTeams":[{"id":true,"kind":"person"}]}', id="no id"),
        pytest.param('{"personsAndTeams":{}}', id="no list"),
        pytest.param("me", id="a word"),
        pytest.param("0", id="a number"),
        pytest.param("false", id="a truth value"),
    ],
)
async def test_people_who_are_not_named_by_address_cannot_be_told(fresh, client, value):
    fields = {"note": "x", "owner": value}
    changed = await client.patch(f"{ITEMS}/{fresh['door']}", json={"fields": fields})
    created = await client.post(
        f"{BOARDS}/{fresh['kitchen']}/items", json={"name": "Lamp", "fields": fields}
    )

    message = "This token may not write to another recipient."
    assert refusal(changed) == refusal(created) == refused(message)
    assert fresh.boards.items.find(fresh["door"]).values.get("note") != "x"
    assert not any("mutation" in document for document in fresh.documents())


@pytest.mark.caller(**RULES)
async def test_an_address_beyond_the_rules_is_named(fresh, client):
    fields = {"owner": '["bo@work.example", "x@else.example"]'}
    response = await client.patch(f"{ITEMS}/{fresh['door']}", json={"fields": fields})

    assert refusal(response) == refused("This token may not write to x@else.example.")
    assert not any("mutation" in document for document in fresh.documents())


@pytest.mark.caller(**RULES)
@pytest.mark.parametrize("value", ["", "null"])
async def test_a_cleared_people_column_names_nobody(fresh, client, value):
    response = await client.patch(f"{ITEMS}/{fresh['door']}", json={"fields": {"owner": value}})

    assert response.status_code == 200


@pytest.mark.caller(**EVERYONE)
async def test_where_everyone_is_allowed_an_id_passes(fresh, client):
    fields = {"owner": '{"personsAndTeams":[]}'}
    response = await client.patch(f"{ITEMS}/{fresh['door']}", json={"fields": fields})

    assert response.status_code == 200


@pytest.mark.caller(resources=3, **RULES)
@pytest.mark.parametrize("value", ["x@else.example", '"x@else.example"', "X+tag@Else.Example"])
async def test_an_assignee_by_address_is_checked_at_the_other_provider(fresh, client, value):
    response = await client.patch(f"{ITEMS}/{fresh['roof']}", json={"fields": {"assignee": value}})

    address = value.strip('"').replace("Else.Example", "else.example")
    assert refusal(response) == refused(
        f"This token may not write to {address}.", "fields.assignee"
    )
    assert not any(call.startswith(("PUT", "POST")) for call in fresh.calls())


@pytest.mark.caller(resources=3, **RULES)
@pytest.mark.parametrize(
    "value",
    ["ana@t\u1d43sks.example", '"ana@t\u1d43sks.example"', '"ana\\u0040t\\u1d43sks.example"'],
)
async def test_an_assignee_is_written_with_the_domain_that_is_compared(fresh, client, value):
    fields = {"assignee": value}
    response = await client.patch(f"{ITEMS}/{fresh['roof']}", json={"fields": fields})

    assert refusal(response) == refused(
        "This token may not write to ana@tasks.example.", "fields.assignee"
    )


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("ana@t\u1d43sks.example", "ana@tasks.example"),
        ('"ana@t\u1d43sks.example"', '"ana@tasks.example"'),
        ('"ana\\u0040t\\u1d43sks.example"', '"ana@tasks.example"'),
        ('["ana@T.example", {"id": "7"}]', '["ana@t.example",{"id":"7"}]'),
        ("7, ana@T.example", "7,ana@t.example"),
        ("ana@t.example", "ana@t.example"),
    ],
)
async def test_people_columns_name_addresses_as_they_are_written(value, expected):
    columns = [Column(id="who", title="", native="people", type="people", writable=True)]
    fields = {"who": value, "note": "ana@t\u1d43sks.example"}

    assert name_people(fields, columns) == {"who": expected, "note": fields["note"]}


@pytest.mark.caller(**EVERYONE)
async def test_an_assignee_without_a_normal_form_is_invalid(fresh, client):
    fields = {"owner": "ana@stra\u00dfe.example"}
    response = await client.patch(f"{ITEMS}/{fresh['door']}", json={"fields": fields})

    why = "It is not an e-mail address that every mail system reads alike."
    assert (response.status_code, response.json()["details"]) == (
        400,
        [{"field": "fields.owner", "message": why}],
    )
    assert not any("mutation" in document for document in fresh.documents())


@pytest.mark.caller(**RULES | {"writableTaskFields": ["note"]})
async def test_a_column_that_would_not_be_set_is_not_checked(fresh, client):
    fields = {"note": "x", "owner": "x@else.example"}
    response = await client.patch(f"{ITEMS}/{fresh['door']}", json={"fields": fields})

    assert (response.status_code, response.json()["rejectedFields"]) == (200, ["owner"])


ANA = {"allowedTaskOperations": ["all"], "recipientRules": {"allow": ["ana@tasks.example"]}}


def persons(*ids):
    members = [{"id": int(person), "kind": "person"} for person in ids]
    return json.dumps({"personsAndTeams": members})


@pytest.mark.caller(**ANA)
async def test_an_allowed_person_who_is_named_by_an_id_passes_with_one_look_up(fresh, client):
    fields = {"owner": persons(fresh["ana"], fresh["ana"])}
    response = await client.patch(f"{ITEMS}/{fresh['door']}", json={"fields": fields})

    assert (response.status_code, response.json()["rejectedFields"]) == (200, None)
    assert sum("users(ids" in document for document in fresh.documents()) == 1
    assert str(fresh["ana"]) in str(fresh.boards.items.find(fresh["door"]).values["owner"])


@pytest.mark.caller(**ANA)
@pytest.mark.parametrize("name", ["bo", "nobody"])
async def test_an_id_of_somebody_else_is_refused_without_the_address(fresh, client, name):
    """An excluded person and an unknown one have the same answer."""
    other = fresh["bo"] if name == "bo" else "999999"
    fields = {"owner": persons(fresh["ana"], other)}
    response = await client.patch(f"{ITEMS}/{fresh['door']}", json={"fields": fields})

    assert refusal(response) == refused("This token may not write to another recipient.")
    assert not any("mutation" in document for document in fresh.documents())


@pytest.mark.caller(**ANA)
async def test_nobody_is_known_while_the_look_up_is_forbidden(fresh, client, monkeypatch):
    require = ExecutionContext.require_scope

    def forbid(context, scope):
        if scope == "users:read":
            raise errors.missing_scope(scope)
        require(context, scope)

    monkeypatch.setattr(ExecutionContext, "require_scope", forbid)
    fields = {"owner": persons(fresh["ana"])}
    response = await client.patch(f"{ITEMS}/{fresh['door']}", json={"fields": fields})

    assert refusal(response) == refused("This token may not write to another recipient.")
    assert not any("mutation" in document for document in fresh.documents())


@pytest.mark.caller(**EVERYONE)
async def test_nobody_is_looked_up_where_everyone_is_allowed(fresh, client):
    fields = {"owner": persons(fresh["bo"])}
    response = await client.patch(f"{ITEMS}/{fresh['door']}", json={"fields": fields})

    assert response.status_code == 200
    assert not any("users(ids" in document for document in fresh.documents())


@pytest.mark.caller(resources=3, **ANA)
async def test_people_of_the_other_provider_are_looked_up_by_their_ids(fresh, client):
    async def assign(*ids):
        fields = {"assignee": ",".join(ids)}
        return await client.patch(f"{ITEMS}/{fresh['roof']}", json={"fields": fields})

    allowed, excluded, unknown = (
        await assign(fresh["p-ana"]),
        await assign(fresh["p-me"]),
        await assign("999999"),
    )

    assert allowed.status_code == 200
    message = "This token may not write to another recipient."
    assert refusal(excluded) == refusal(unknown) == refused(message, "fields.assignee")
    assert [call.split()[0] for call in fresh.calls()].count("PUT") == 1
