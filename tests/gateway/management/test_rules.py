"""Collab rules are stored raw, once each, and replaced all or none."""

import pytest

pytestmark = [pytest.mark.asyncio(loop_scope="module"), pytest.mark.usefixtures("emptied")]

GUID = "0F1E2D3C-4B5A-6978-8796-A5B4C3D2E1F0"
RULE = {"ruleType": "file_id", "pattern": "collab:drive:d1:item:i1", "action": "allow"}


@pytest.fixture
def rules(token):
    return f"/api/access-tokens/{token['id']}/collab-rules"


async def test_a_rule_is_stored_raw(admin, rules):
    response = await admin.post(rules, json={**RULE, "description": "the plan"})

    assert response.status_code == 201
    made = response.json()
    assert made == {
        "id": 1,
        "ruleType": "file_id",
        "pattern": "d1:i1",
        "action": "allow",
        "description": "the plan",
        "source": "manual",
        "createdAt": made["createdAt"],
        "updatedAt": made["createdAt"],
    }
    assert (await admin.get(f"{rules}/1")).json() == made
    listed = (await admin.get(rules)).json()
    assert listed == {"rules": [made], "nextPageToken": None, "hasMore": False}


@pytest.mark.parametrize(
    ("change", "code"),
    [
        ({"ruleType": "owner"}, "INVALID_RULE_TYPE"),
        ({"ruleType": []}, "INVALID_RULE_TYPE"),
        ({"action": "deny"}, "INVALID_ACTION"),
        ({"action": None}, "INVALID_ACTION"),
        ({"pattern": ""}, "INVALID_PATTERN"),
        ({"pattern": "collab:site:x"}, "INVALID_PATTERN"),
        ({"pattern": 5}, "INVALID_PATTERN"),
        ({"source": "auto"}, "VALIDATION_ERROR"),
        ({"description": "x" * 501}, "VALIDATION_ERROR"),
    ],
)
async def test_an_invalid_rule_is_refused(admin, rules, change, code):
    response = await admin.post(rules, json={**RULE, **change})

    assert (response.status_code, response.json()["error"]) == (400, code)
    assert (await admin.get(rules)).json()["rules"] == []


async def test_the_same_rule_twice_is_a_conflict_and_the_opposite_is_not(admin, rules):
    await admin.post(rules, json=RULE)

    again = await admin.post(rules, json={**RULE, "pattern": " d1:i1 "})
    assert again.status_code == 409
    assert again.json() == {
        "error": "DUPLICATE_RULE",
        "message": "This token already has this rule.",
        "requestId": again.json()["requestId"],
    }
    assert (await admin.post(rules, json={**RULE, "action": "block"})).status_code == 201


async def test_a_rule_can_be_changed_but_not_into_another_one(admin, rules):
    await admin.post(rules, json=RULE)
    await admin.post(rules, json={**RULE, "pattern": "d1:i2"})

    changed = await admin.patch(f"{rules}/1", json={"action": "block", "description": "no"})
    assert changed.status_code == 200
    assert (changed.json()["action"], changed.json()["description"]) == ("block", "no")
    assert (await admin.patch(f"{rules}/1", json={"description": None})).json()[
        "description"
    ] is None
    clash = await admin.patch(f"{rules}/2", json={"pattern": "d1:i1", "action": "block"})
    assert (clash.status_code, clash.json()["error"]) == (409, "DUPLICATE_RULE")
    assert (await admin.get(f"{rules}/2")).json()["pattern"] == "d1:i2"
    typed = await admin.patch(f"{rules}/2", json={"ruleType": "folder"})
    assert typed.status_code == 400


async def test_put_replaces_rules_atomically(admin, rules):
    await admin.post(rules, json=RULE)
    new = [{"ruleType": "list_id", "pattern": GUID, "action": "block"}, RULE]

    refused = await admin.put(rules, json={"rules": [*new, RULE]})
    assert (refused.status_code, refused.json()["error"]) == (409, "DUPLICATE_RULE")
    refused = await admin.put(rules, json={"rules": [*new, {**RULE, "action": "x"}]})
    assert (refused.status_code, refused.json()["error"]) == (400, "INVALID_ACTION")
    assert [rule["id"] for rule in (await admin.get(rules)).json()["rules"]] == [1]

    done = await admin.put(rules, json={"rules": new})
    assert done.status_code == 200
    assert [rule["pattern"] for rule in done.json()["rules"]] == [GUID.lower(), "d1:i1"]
    assert (await admin.get(rules)).json()["rules"] == done.json()["rules"]


@pytest.mark.parametrize(
    ("change", "code", "place", "why"),
    [
        ({"action": "x"}, "INVALID_ACTION", "rules[1].action", "action must be allow or block."),
        (
            {"pattern": " "},
            "INVALID_PATTERN",
            "rules[1].pattern",
            "A pattern has 1 to 1024 characters.",
        ),
        (
            {"ruleType": "owner"},
            "INVALID_RULE_TYPE",
            "rules[1].ruleType",
            "ruleType must be one of: file_id, folder, drive_id, site_id, list_id, list_item_id, "
            "mime_type, sensitivity_label_id, content_type_id.",
        ),
    ],
)
async def test_put_names_an_invalid_rule(admin, rules, *, change, code, place, why):
    response = await admin.put(rules, json={"rules": [RULE, {**RULE, **change}]})

    assert response.status_code == 400
    assert response.json() == {
        "error": code,
        "message": f"{place}: {why}",
        "requestId": response.json()["requestId"],
        "details": [{"field": place, "message": why}],
    }
    assert (await admin.get(rules)).json()["rules"] == []


async def test_put_names_a_repeated_rule(admin, rules):
    other = {**RULE, "action": "block"}
    response = await admin.put(rules, json={"rules": [RULE, other, {**RULE, "pattern": " d1:i1"}]})

    assert response.status_code == 409
    assert response.json() == {
        "error": "DUPLICATE_RULE",
        "message": "rules[2] repeats an earlier rule.",
        "requestId": response.json()["requestId"],
    }
    assert (await admin.get(rules)).json()["rules"] == []


async def test_rules_are_filtered_and_paged(admin, rules):
    for number in range(3):
        await admin.post(rules, json={**RULE, "pattern": f"d:i{number}"})
    await admin.post(rules, json={"ruleType": "mime_type", "pattern": "image/*", "action": "block"})

    async def patterns(**params):
        return [r["pattern"] for r in (await admin.get(rules, params=params)).json()["rules"]]

    assert await patterns(ruleType="mime_type") == ["image/*"]
    assert await patterns(action="allow") == ["d:i0", "d:i1", "d:i2"]
    first = (await admin.get(rules, params={"limit": 3})).json()
    rest = {"pageToken": first["nextPageToken"]}
    assert await patterns(**rest) == ["image/*"]
    assert (await admin.get(rules, params={"ruleType": "x"})).status_code == 400


async def test_a_rule_of_another_token_is_404(admin, rules, new_token):
    await admin.post(rules, json=RULE)
    await admin.post("/api/access-tokens", json=new_token)

    for method in ("GET", "PATCH", "DELETE"):
        response = await admin.request(method, "/api/access-tokens/2/collab-rules/1", json={})
        assert (response.status_code, response.json()["error"]) == (404, "RULE_NOT_FOUND")
    nobody = await admin.get("/api/access-tokens/9/collab-rules")
    assert (nobody.status_code, nobody.json()["error"]) == (404, "TOKEN_NOT_FOUND")


async def test_a_rule_is_deleted(admin, rules):
    await admin.post(rules, json=RULE)

    assert (await admin.delete(f"{rules}/1")).status_code == 204
    assert (await admin.get(f"{rules}/1")).status_code == 404
