"""`explain` of dry runs, of draft mode and of child tokens agrees with the calls themselves."""

import pytest
import whole_world
from twenty_writes import WRITES, call, document_of, filled, upstream_writes

DRY = {"prefer": "dry-run"}
DRAFT = {"sendMode": "draft"}
NOBODY = {"recipientRules": {}}
HIDDEN = {"visibleEmailFields": [], "visibleCollabFields": [], "maskMode": "strict"}
MAY_NOTHING = {
    "allowedEmailOperations": [],
    "allowedTaskOperations": [],
    "allowedCollabOperations": [],
}
POLICIES = {
    "everything": {},
    "draft mode": DRAFT,
    "nobody may be written to": NOBODY,
    "recipients are hidden": {**NOBODY, **HIDDEN},
    "no operation": MAY_NOTHING,
}
# Policy -> how many of the writes it allows, by REST and by GraphQL.
ALLOWED = {
    "everything": 24,
    "draft mode": 24,
    "nobody may be written to": 16,
    "recipients are hidden": 16,
    "no operation": 0,
}


@pytest.fixture(scope="module")
def whole(world_template, tmp_path_factory):
    folder = tmp_path_factory.mktemp("explained")
    with whole_world.opened(world_template, folder / "world") as whole:
        shared = call(whole, "shareFile", {})  # the others are inherited and cannot be changed
        whole.parameters["permissionId"] = shared.json()["permissionId"]
        yield whole


def token_with(whole, settings):
    """Make a token; return its authorization header and its id."""
    settings = {**whole_world.SETTINGS, **settings}
    text = whole.runner.run(whole.world.token(settings))
    own = {"authorization": f"Bearer {text}"}
    return own, whole.call("GET", "/api/access/token", headers=own)[0].json()["id"]


def child_of(whole, own, parent_id, narrower):
    """Make a child of a token, then narrow its parent; return the child's header and id."""
    body = {"name": "child"}
    made = whole.call("POST", "/api/access/token/children", headers=own, json=body)[0].json()
    path = f"/api/access-tokens/{parent_id}"
    changed = whole.call("PATCH", path, json={"settings": narrower})[0]
    assert changed.status_code == 200, changed.text
    return {"authorization": f"Bearer {made['token']}"}, made["id"]


def explained(whole, token_id, question):
    path = f"/api/access-tokens/{token_id}/explain"
    answer, _ = whole.call("POST", path, json=question)
    assert answer.status_code == 200, answer.text
    return answer.json()


def rest_question(whole, name):
    method, path, body = WRITES[name]
    content = filled(whole, body)
    question = {"method": method, "path": whole.url(path)}
    if content is not None and "params" in content:
        return {**question, "query": content["params"]}
    return question if content is None else {**question, "body": content}


def forget_calls(whole):
    for wire in whole.world.sandbox.upstreams.values():
        wire.calls.clear()


def compare(whole, name, own, token_id):
    """Compare a dry run by both APIs with its explanations; return that of the REST call."""
    forget_calls(whole)
    answer = call(whole, name, {**DRY, **own})
    by_rest = explained(whole, token_id, {**rest_question(whole, name), "dryRun": True})

    error = None if answer.status_code < 300 else answer.json()["error"]
    assert (by_rest["status"], by_rest["error"], by_rest["dryRun"]) == (
        answer.status_code,
        error,
        True,
    ), (name, answer.text, by_rest)

    document = document_of(whole, name)
    request = {**document, "extensions": {"dryRun": True}}
    graph = whole.call("POST", "/graphql", headers=own, json=request)[0].json()
    question = {"document": document["query"], "variables": document["variables"], "dryRun": True}
    by_graph = explained(whole, token_id, question)
    codes = [problem["extensions"]["code"] for problem in graph.get("errors", ())]
    assert (by_graph["status"], by_graph["error"], by_graph["dryRun"]) == (
        200,
        codes[0] if codes else None,
        True,
    ), (name, graph, by_graph)
    assert by_graph["outcome"] == by_rest["outcome"]
    assert (by_graph["error"] is None) == (error is None), name
    assert upstream_writes(whole) == [], name
    return by_rest


@pytest.mark.slow
@pytest.mark.parametrize("policy", POLICIES)
def test_a_dry_run_is_explained_with_its_own_verdict(whole, policy):
    own, token_id = token_with(whole, POLICIES[policy])
    allowed = 0
    for name in WRITES:
        explanation = compare(whole, name, own, token_id)
        allowed += explanation["error"] is None
        if explanation["error"] is None:
            details = {step["layer"]: step["detail"] for step in explanation["layers"]}
            assert details["upstream"] == "Nothing would be written: the call is a dry run."
    assert allowed == ALLOWED[policy]


@pytest.mark.slow
@pytest.mark.parametrize("policy", list(POLICIES)[1:])
def test_a_dry_run_of_a_child_is_explained_by_the_ancestor_that_refuses(whole, policy):
    own, parent_id = token_with(whole, {})
    child, child_id = child_of(whole, own, parent_id, POLICIES[policy])
    for name in WRITES:
        explanation = compare(whole, name, child, child_id)
        refusing = None if explanation["error"] is None else parent_id
        assert explanation["refusedBy"] == refusing, name
        if refusing is not None:
            assert str(parent_id) in explanation["unchangeable"]
            assert explanation["change"] is None


@pytest.mark.parametrize("of_child", [False, True])
def test_a_held_message_is_explained_as_one(whole, of_child):
    own, token_id = token_with(whole, {} if of_child else DRAFT)
    if of_child:
        own, token_id = child_of(whole, own, token_id, DRAFT)
    for name in ("sendEmail", "replyToEmail", "forwardEmail"):
        forget_calls(whole)
        document = document_of(whole, name)
        for dry_run in (False, True):
            asked = {"dryRun": dry_run}
            by_rest = explained(whole, token_id, {**rest_question(whole, name), **asked})
            question = {"document": document["query"], "variables": document["variables"]}
            by_graph = explained(whole, token_id, {**question, **asked})

            assert (by_rest["outcome"], by_rest["status"]) == ("held", 202)
            assert (by_graph["outcome"], by_graph["status"]) == ("held", 200)
            assert [field["outcome"] for field in by_graph["fields"]] == ["held"]
        assert upstream_writes(whole) == []
        assert call(whole, name, {**DRY, **own}).status_code == 202


@pytest.mark.slow
def test_an_effect_that_changed_is_explained(whole):
    own, token_id = token_with(whole, {})
    for name in ("sendEmail", "renameFile", "updateTaskItem"):
        digest = call(whole, name, {**DRY, **own}).json()["effect"]["digest"]
        question = rest_question(whole, name)
        document = document_of(whole, name)
        graph = {"document": document["query"], "variables": document["variables"]}
        for asked in (question, graph):
            same = explained(whole, token_id, {**asked, "ifEffect": digest})
            other = explained(whole, token_id, {**asked, "ifEffect": "x"})

            assert (same["outcome"], same["error"]) == ("allowed", None)
            assert (other["outcome"], other["error"]) == ("refused", "EFFECT_CHANGED")
            assert other["unchangeable"] == (
                "The call would do something else than its dry run showed."
            )
        forget_calls(whole)
        refused = call(whole, name, {"if-effect": "x", **own})
        assert (refused.status_code, refused.json()["error"]) == (412, "EFFECT_CHANGED")
        assert explained(whole, token_id, {**question, "ifEffect": "x"})["status"] == 412
        assert upstream_writes(whole) == []


def test_the_effect_of_a_child_is_not_compared_with_its_ancestors(whole):
    own, parent_id = token_with(whole, {})
    child, child_id = child_of(whole, own, parent_id, {})
    digest = call(whole, "sendEmail", {**DRY, **child}).json()["effect"]["digest"]
    question = {**rest_question(whole, "sendEmail"), "ifEffect": digest}

    assert explained(whole, child_id, question)["outcome"] == "allowed"
    refused = explained(whole, child_id, {**question, "ifEffect": "x"})
    assert (refused["error"], refused["refusedBy"]) == ("EFFECT_CHANGED", child_id)
    others = explained(whole, parent_id, question)
    assert others["error"] == "EFFECT_CHANGED"


def test_a_read_has_no_dry_run(whole):
    _, token_id = token_with(whole, {})
    question = {"method": "GET", "path": "/api/access/email/messages", "dryRun": True}
    explanation = explained(whole, token_id, {**question, "ifEffect": "x"})

    assert (explanation["outcome"], explanation["dryRun"]) == ("allowed", False)


def test_a_token_without_room_for_an_automatic_rule_is_explained(whole, monkeypatch):
    own, token_id = token_with(whole, {"collabAllowAllDefault": False})
    rule = {"ruleType": "site_id", "pattern": whole.parameters["siteId"], "action": "allow"}
    added = whole.call("POST", f"/api/access-tokens/{token_id}/collab-rules", json=rule)[0]
    assert added.status_code == 201, added.text
    assert compare(whole, "createFolder", own, token_id)["error"] is None
    monkeypatch.setattr("gateway.rule_intents.log.MAX_RULES", 1)

    assert compare(whole, "createFolder", own, token_id)["error"] == "RULE_LIMIT"
    explanation = explained(whole, token_id, rest_question(whole, "createFolder"))
    assert (explanation["outcome"], explanation["error"]) == ("refused", "RULE_LIMIT")
    assert upstream_writes(whole) == []
    path = f"/api/access-tokens/{token_id}/collab-rules"
    assert len(whole.call("GET", path)[0].json()["rules"]) == 1
