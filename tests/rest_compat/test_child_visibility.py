"""A child sees what its parent sees, at most: its rules, two worlds, and replays."""

import re
import uuid
from dataclasses import replace

import pytest
import whole_world
from twenty_writes import document_of, upstream_writes

CHILDREN = "/api/access/token/children"
MESSAGES = "/api/access/email/messages"
CONTENT = "/api/access/collab"
SAME = {"x-request-id": "same"}
DIGEST = re.compile(rb',"digest":"[^"]*"')


@pytest.fixture(scope="module")
def whole(world_template, tmp_path_factory):
    folder = tmp_path_factory.mktemp("children")
    with whole_world.opened(world_template, folder / "world") as whole:
        yield whole


def token_with(whole, settings=None):
    """Make a token that may have children; return its header and its id."""
    settings = {**whole_world.SETTINGS, **(settings or {})}
    own = {"authorization": f"Bearer {whole.runner.run(whole.world.token(settings))}"}
    return own, whole.call("GET", "/api/access/token", headers=own)[0].json()["id"]


def child_of(whole, own, **members):
    """Make a child of a token; return its header and its id."""
    made = whole.call("POST", CHILDREN, headers=own, json={"name": "child", **members})[0]
    assert made.status_code == 201, made.text
    return {"authorization": f"Bearer {made.json()['token']}"}, made.json()["id"]


def narrow(whole, token_id, settings):
    path = f"/api/access-tokens/{token_id}"
    changed = whole.call("PATCH", path, json={"settings": settings})[0]
    assert changed.status_code == 200, changed.text


# -- rules


def rule(action, file_id):
    return {"ruleType": "file_id", "pattern": file_id, "action": action}


def statuses(whole, own):
    """Return how the folder and the file in it are answered by REST, and by GraphQL."""
    ids = [whole.parameters["folderId"], whole.parameters["fileId"]]
    rest = [
        whole.call("GET", f"{CONTENT}/files/{each}", headers=own)[0].status_code for each in ids
    ]
    query = "query($id: String!) { collabFile(fileId: $id) { file { id } } }"
    graph = [
        "errors"
        not in whole.call(
            "POST", "/graphql", headers=own, json={"query": query, "variables": {"id": each}}
        )[0].json()
        for each in ids
    ]
    assert graph == [status == 200 for status in rest]
    return rest


@pytest.mark.slow
def test_the_rules_of_a_child_hold_beside_those_of_its_parent(whole):
    own, _ = token_with(whole)
    file_id = whole.parameters["fileId"]
    assert statuses(whole, own) == [200, 200]

    blocked, _ = child_of(whole, own, rules=[rule("block", file_id)])
    assert statuses(whole, blocked) == [200, 404]
    alone, child_id = child_of(whole, own, rules=[rule("allow", file_id)])
    assert statuses(whole, alone) == [404, 200]
    assert statuses(whole, own) == [200, 200]
    listed = whole.call("GET", f"/api/access-tokens/{child_id}/collab-rules")[0].json()["rules"]
    assert [(each["ruleType"], each["action"]) for each in listed] == [("file_id", "allow")]
    shown = whole.call("GET", "/api/access/token", headers=alone)[0].json()["settings"]
    assert shown["collabAllowAllDefault"] is False


def test_a_child_cannot_allow_what_its_parent_does_not(whole):
    own, parent_id = token_with(whole, {"collabAllowAllDefault": False})
    file_id = whole.parameters["fileId"]
    child, _ = child_of(whole, own, rules=[rule("allow", file_id)])
    assert statuses(whole, child) == [404, 404]

    path = f"/api/access-tokens/{parent_id}/collab-rules"
    added = whole.call("POST", path, json=rule("allow", file_id))[0]
    assert added.status_code == 201
    assert statuses(whole, child) == [404, 200]
    assert whole.call("DELETE", f"{path}/{added.json()['id']}")[0].status_code == 204
    assert statuses(whole, child) == [404, 404]


@pytest.mark.parametrize(
    ("rules", "code"),
    [
        ([{"ruleType": "colour", "pattern": "x", "action": "allow"}], "INVALID_RULE_TYPE"),
        ([{"ruleType": "file_id", "pattern": "", "action": "allow"}], "INVALID_PATTERN"),
        ([{"ruleType": "site_id", "pattern": "x", "action": "deny"}], "INVALID_ACTION"),
        ([{"ruleType": "site_id", "pattern": "x", "action": "block"}] * 1001, "VALIDATION_ERROR"),
    ],
    ids=["type", "pattern", "action", "too many"],
)
def test_wrong_rules_make_no_child(whole, rules, code):
    own, _ = token_with(whole)
    refused = whole.call("POST", CHILDREN, headers=own, json={"name": "c", "rules": rules})[0]

    assert (refused.status_code, refused.json()["error"]) == (400, code)
    assert whole.call("GET", CHILDREN, headers=own)[0].json() == {"children": []}


# -- two worlds

HIDDEN = {
    "subject": (b"Subject: ", b"Subject: Amber "),
    "from": (b"From: ", b"From: Amber "),
    "body": (b"Please sign", b"Please amber"),
}
QUERY = """query($id: String!) {
  email(emailId: $id) { subject from { email name } body bodyPreview }
  emails(q: "amber", limit: 5) { emails { id } }
}"""


def answers(whole, child):
    """Return the answers to the child's reads by both APIs, and to a dry reply."""
    lease = whole.world.id("lease")
    own = {**child, **SAME}
    document = {"query": QUERY, "variables": {"id": lease}}
    replied = {"body": "Yes", "replyAll": True}
    responses = [
        whole.call("GET", f"{MESSAGES}/{lease}?includeBody=true", headers=own)[0],
        whole.call("GET", f"{MESSAGES}?q=amber&limit=5", headers=own)[0],
        whole.call("GET", f"{MESSAGES}?from=amber&limit=5", headers=own)[0],
        whole.call("GET", f"{MESSAGES}?subject=amber&limit=5", headers=own)[0],
        whole.call("POST", "/graphql", headers=own, json=document)[0],
        whole.call(
            "POST", f"{MESSAGES}/{lease}/reply", headers={**own, "prefer": "dry-run"}, json=replied
        )[0],
    ]
    # The digest of the effect stands for hidden values too.
    contents = [DIGEST.sub(b"", response.content) for response in responses]
    return [*zip([response.status_code for response in responses], contents, strict=True)]


@pytest.mark.slow
@pytest.mark.parametrize("mode", ["strict", "basic"])
@pytest.mark.parametrize("word", HIDDEN)
def test_a_child_does_not_learn_what_its_parent_may_not_see(whole, word, mode):
    """The child's own settings show everything; its parent was narrowed since."""
    own, parent_id = token_with(whole)
    child, _ = child_of(whole, own)
    words = {"subject", "from", "to", "cc", "bcc", "body", "body_preview"}
    hidden = {"body", "body_preview"} if word == "body" else {word}
    shown = sorted(words - hidden)
    before, after = HIDDEN[word]
    mails = whole.world.sandbox.state.mails
    mail = whole.world.mails["lease"]
    other = replace(mail, raw=mail.raw.replace(before, after, 1))
    assert other.raw != mail.raw

    def in_both():
        seen = []
        for version in (mail, other):
            mails._index_mails(mail.mailbox, [version])
            seen.append(answers(whole, child))
        mails._index_mails(mail.mailbox, [mail])
        return seen

    wide = in_both()
    assert wide[0] != wide[1]  # a child of the wide parent sees it
    narrow(whole, parent_id, {"visibleEmailFields": shown, "maskMode": mode})
    first, second = in_both()
    assert first == second


@pytest.mark.slow
def test_lists_of_children_do_not_tell_of_other_tokens(whole):
    own, _ = token_with(whole)
    other, _ = token_with(whole)
    child, child_id = child_of(whole, own, settings={"allowChildren": True})

    def listings():
        seen = []
        for header in (own, child):
            query = {"query": "{ childTokens { children { id name } } }"}
            seen += [
                whole.call("GET", CHILDREN, headers={**header, **SAME})[0].content,
                whole.call("POST", "/graphql", headers={**header, **SAME}, json=query)[0].content,
                whole.call("DELETE", f"{CHILDREN}/999999", headers={**header, **SAME})[0].content,
            ]
        return seen

    def shown(header):
        listed = whole.call("GET", CHILDREN, headers=header)[0].json()
        return [row["id"] for row in listed["children"]]

    listings()
    whole.runner.run(whole.world.gateway.services.last_uses.write())  # else some second of the test
    before = listings()
    _, stranger = child_of(whole, other)
    assert listings() == before
    unknown = whole.call("DELETE", f"{CHILDREN}/999999", headers={**own, **SAME})[0]
    refused = whole.call("DELETE", f"{CHILDREN}/{stranger}", headers={**own, **SAME})[0]
    assert (refused.status_code, refused.content) == (unknown.status_code, unknown.content)
    _, grandchild = child_of(whole, child)
    assert shown(own) == [child_id]
    assert shown(child) == [grandchild]


# -- replays


@pytest.mark.parametrize("door", ["rest", "graphql"])
def test_a_replay_hides_what_the_parent_may_no_longer_see(whole, door):
    own, parent_id = token_with(whole)
    child, _ = child_of(whole, own)
    key = {**child, "idempotency-key": str(uuid.uuid4())}
    path = whole.url("/api/access/collab/sites/{siteId}/lists/{listId}/items")
    row = {"fields": {"Title": "Amber"}}

    def create():
        if door == "rest":
            response = whole.call("POST", path, headers=key, json=row)[0]
            return response, response.json()
        write = ("POST", "/api/access/collab/sites/{siteId}/lists/{listId}/items", row)
        request = document_of(whole, "createListItem", write)
        response = whole.call("POST", "/graphql", headers=key, json=request)[0]
        assert "errors" not in response.json(), response.text
        return response, response.json()["data"]["result"]

    first, created = create()
    assert created["fields"]["Title"] == "Amber"
    again, replayed = create()
    assert (again.headers["idempotent-replayed"], replayed) == ("true", created)
    narrow(whole, parent_id, {"visibleCollabFields": ["name"]})
    for wire in whole.world.sandbox.upstreams.values():
        wire.calls.clear()
    masked, hidden = create()

    assert masked.status_code == first.status_code
    assert (hidden["id"], hidden["fields"]) == (created["id"], None)
    assert b"Amber" not in masked.content
    assert upstream_writes(whole) == []
