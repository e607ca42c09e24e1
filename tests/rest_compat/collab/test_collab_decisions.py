"""The decision log on collaboration content: the rule that decided, for the operator alone."""

import pytest

from gateway.audit import reading
from gateway.audit.reading import DecisionFilter

pytestmark = pytest.mark.asyncio(loop_scope="session")

TOLD = ("operation", "outcome", "layer", "code", "status", "rule_id")
LINK = "query ($id: String!) { collabFileLink(fileId: $id) { success errorMessage } }"


async def decided(still, count):
    """Return the last *count* decisions, oldest first."""
    await still.world.gateway.services.decisions.flush()
    found = await reading.newest(
        still.world.gateway.services.database, DecisionFilter(), limit=count
    )
    return [row for _, row in reversed(found)]


async def rule_of(still, token, action):
    (found,) = [one["id"] for one in await still.rules(token) if one["action"] == action]
    return found


@pytest.mark.parametrize(
    ("rules", "asked"),
    [
        pytest.param([("file_id", "notes")], "notes", id="by its id"),
        pytest.param([("folder", "boats")], "plan", id="by a folder above it"),
        pytest.param([("drive_id", "drawings")], "hull", id="by its library"),
        pytest.param([("mime_type", "application/pdf")], "sketch", id="by what it is"),
        pytest.param([("sensitivity_label_id", "secret")], "plan", id="by its label"),
    ],
)
async def test_the_rule_that_blocks_is_named_to_the_operator_and_to_nobody_else(
    still, rules, asked
):
    ((kind, name),) = rules
    patterns = {
        "drive_id": lambda: still.things[name].drive_id,
        "mime_type": lambda: name,
        "sensitivity_label_id": lambda: still.labels[name].id,
    }
    pattern = patterns.get(kind, lambda: still.id(name))()
    token = await still.token((kind, pattern, "block"))
    rule = await rule_of(still, token, "block")

    answer = await still.get(f"/files/{still.id(asked)}", token)
    linked = await still.ask(LINK, token, id=still.id(asked))

    assert answer.json() == {
        "error": "BLOCKED",
        "message": "This token's rules do not allow this resource.",
        "requestId": answer.headers["X-Request-Id"],
    }
    assert set(linked["errors"][0]["extensions"]) == {"code", "httpStatus", "requestId"}
    rows = await decided(still, 2)
    assert [tuple(getattr(row, name) for name in TOLD) for row in rows] == [
        ("collabFile", "refused", "scope", "BLOCKED", 404, rule),
        ("collabFileLink", "refused", "scope", "BLOCKED", 404, rule),
    ]
    assert {row.resource_id for row in rows} == {still.id(asked)}


async def test_no_rule_is_named_where_none_allows(still):
    token = await still.selecting(("file_id", still.id("notes"), "allow"))

    for name in ("notes", "plan"):
        await still.get(f"/files/{still.id(name)}", token)

    assert [(row.outcome, row.code, row.rule_id) for row in await decided(still, 2)] == [
        ("allowed", None, None),
        ("refused", "BLOCKED", None),
    ]


async def test_what_a_rule_hides_in_a_listing_is_not_told(still):
    token = await still.token(("file_id", still.id("plan"), "block"))

    await still.get("/files", token, folderId=still.id("boats"))

    (row,) = await decided(still, 1)
    assert (row.operation, row.outcome, row.rule_id) == ("collabFiles", "allowed", None)
    assert row.resource_id == still.id("boats")
    assert still.things["plan"].id not in repr(row)


async def test_a_change_into_a_blocked_folder_names_the_rule(still):
    token = await still.token(("folder", still.id("boats"), "block"))
    rule = await rule_of(still, token, "block")

    answer = await still.call(
        "POST", "/folders", token, json={"name": "new", "parentFolderId": still.id("inner")}
    )

    assert (answer.status_code, answer.json()["error"]) == (404, "BLOCKED")
    (row,) = await decided(still, 1)
    assert (row.operation, row.code, row.rule_id) == ("createFolder", "BLOCKED", rule)
