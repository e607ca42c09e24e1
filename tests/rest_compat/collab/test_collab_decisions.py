"""Decision log of collaboration content: the deciding rule, shown to the operator only."""

import pytest

from gateway.audit import reading
from gateway.audit.reading import DecisionFilter

pytestmark = pytest.mark.asyncio(loop_scope="session")

TOLD = ("operation", "outcome", "layer", "code", "status", "rule_id")
LINK = "query ($id: String!) { collabFileLink(fileId: $id) { success errorMessage } }"


async def last_decisions(readonly, count):
    """Return the last *count* decisions, oldest first."""
    await readonly.world.gateway.services.decisions.flush()
    rows = await reading.newest(
        readonly.world.gateway.services.database, DecisionFilter(), limit=count
    )
    return [row for _, row in reversed(rows)]


async def rule_of(readonly, token, action):
    (rule_id,) = [rule["id"] for rule in await readonly.rules(token) if rule["action"] == action]
    return rule_id


@pytest.mark.parametrize(
    ("rules", "request_path"),
    [
        pytest.param([("file_id", "notes")], "notes", id="by its id"),
        pytest.param([("folder", "boats")], "plan", id="by a folder above it"),
        pytest.param([("drive_id", "drawings")], "hull", id="by its library"),
        pytest.param([("mime_type", "application/pdf")], "sketch", id="by what it is"),
        pytest.param([("sensitivity_label_id", "secret")], "plan", id="by its label"),
    ],
)
async def test_only_the_operator_sees_the_blocking_rule(readonly, rules, request_path):
    ((kind, name),) = rules
    patterns = {
        "drive_id": lambda: readonly.resources[name].drive_id,
        "mime_type": lambda: name,
        "sensitivity_label_id": lambda: readonly.labels[name].id,
    }
    pattern = patterns.get(kind, lambda: readonly.id(name))()
    token = await readonly.token((kind, pattern, "block"))
    rule = await rule_of(readonly, token, "block")

    response = await readonly.get(f"/files/{readonly.id(request_path)}", token)
    linked = await readonly.graphql(LINK, token, id=readonly.id(request_path))

    assert response.json() == {
        "error": "BLOCKED",
        "message": "This token's rules do not allow this resource.",
        "requestId": response.headers["X-Request-Id"],
    }
    assert set(linked["errors"][0]["extensions"]) == {"code", "httpStatus", "requestId"}
    rows = await last_decisions(readonly, 2)
    assert [tuple(getattr(row, name) for name in TOLD) for row in rows] == [
        ("collabFile", "refused", "scope", "BLOCKED", 404, rule),
        ("collabFileLink", "refused", "scope", "BLOCKED", 404, rule),
    ]
    assert {row.resource_id for row in rows} == {readonly.id(request_path)}


async def test_a_block_by_default_names_no_rule(readonly):
    token = await readonly.block_all_token(("file_id", readonly.id("notes"), "allow"))

    for name in ("notes", "plan"):
        await readonly.get(f"/files/{readonly.id(name)}", token)

    assert [(row.outcome, row.code, row.rule_id) for row in await last_decisions(readonly, 2)] == [
        ("allowed", None, None),
        ("refused", "BLOCKED", None),
    ]


async def test_entries_hidden_in_a_listing_are_not_logged(readonly):
    token = await readonly.token(("file_id", readonly.id("plan"), "block"))

    await readonly.get("/files", token, folderId=readonly.id("boats"))

    (row,) = await last_decisions(readonly, 1)
    assert (row.operation, row.outcome, row.rule_id) == ("collabFiles", "allowed", None)
    assert row.resource_id == readonly.id("boats")
    assert readonly.resources["plan"].id not in repr(row)


async def test_a_change_into_a_blocked_folder_logs_the_rule(readonly):
    token = await readonly.token(("folder", readonly.id("boats"), "block"))
    rule = await rule_of(readonly, token, "block")

    response = await readonly.call(
        "POST", "/folders", token, json={"name": "new", "parentFolderId": readonly.id("inner")}
    )

    assert (response.status_code, response.json()["error"]) == (404, "BLOCKED")
    (row,) = await last_decisions(readonly, 1)
    assert (row.operation, row.code, row.rule_id) == ("createFolder", "BLOCKED", rule)
