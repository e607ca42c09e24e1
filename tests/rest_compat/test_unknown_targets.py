"""Writes to targets that are not there: a dry run, its explanation and the call refuse alike."""

import pytest
import whole_world
from twenty_writes import WRITES, call, filled, upstream_writes

DRY = {"prefer": "dry-run"}
HIDDEN = {"visibleEmailFields": [], "visibleTaskFields": [], "visibleCollabFields": []}
POLICIES = {
    "everything": {},
    "hidden, basic": {**HIDDEN, "maskMode": "basic"},
    "hidden, strict": {**HIDDEN, "maskMode": "strict"},
    "no reads": {
        "allowedEmailOperations": [
            *("send_email", "reply_to_email", "forward_email"),
            *("delete_email", "mark_as_read", "apply_labels"),
        ],
        "allowedTaskOperations": ["create_items", "update_items", "delete_items", "add_comments"],
    },
    "draft mode": {"sendMode": "draft"},
    "recipient rules": {"recipientRules": {"allow": ["*"], "block": ["x@y.example"]}},
}
OTHER_MAILBOX = "providerB:00000000-0000-0000-0000-000000000000"
# Write -> members of its body that name something that is not there.
REFERENCES = [
    ("sendEmail", {"connectionId": 999}),
    ("sendEmail", {"attachments": [{"handle": "x"}]}),
    ("replyToEmail", {"attachments": [{"handle": "x"}]}),
    ("forwardEmail", {"attachments": [{"handle": "x"}]}),
    ("createTaskItem", {"groupId": "nothing"}),
    ("createTaskItem", {"fields": {"nothing": "x"}}),
    ("updateTaskItem", {"fields": {"nothing": "x"}}),
    ("createListItem", {"fields": {"Nothing": "x"}}),
    ("updateListItem", {"fields": {"Nothing": "x"}}),
]
HANDLE = "/api/access/email/attachments/{handle}"


@pytest.fixture(scope="module")
def whole(world_template, tmp_path_factory):
    folder = tmp_path_factory.mktemp("unknown")
    with whole_world.opened(world_template, folder / "world") as whole:
        shared = call(whole, "shareFile", {})  # the others are inherited and cannot be changed
        whole.parameters["permissionId"] = shared.json()["permissionId"]
        yield whole


def targets():
    """Return (write, parameter) for everything that the path, query or body of a write names."""
    for name, (_, path, body) in WRITES.items():
        values = [*path.split("/")]
        if isinstance(body, dict):
            values += [*body.values(), *body.get("params", {}).values()]
        texts = {value for value in values if isinstance(value, str) and value.startswith("{")}
        yield from ((name, text[1:-1]) for text in sorted(texts))


def unknown_ids(base):
    """Return ids that nothing has: two in the form of *base*, and others."""
    last = "9" if base[-1] != "9" else "8"
    ids = [f"{base[:-1]}{last}", "x", f"{base}9", "0", "%20"]
    return [*ids, OTHER_MAILBOX] if base.startswith("providerA:") else ids


def verdict(response):
    status = 200 if response.status_code == 204 else response.status_code
    return status, response.json().get("error") if response.content else None


def compare(whole, caller, method, url, content):
    """Make a call dry, really, and explained; return what all of them answered."""
    own, token_id = caller
    for wire in whole.world.sandbox.upstreams.values():
        wire.calls.clear()
    body = {}
    if content is not None:
        body = content if "params" in content else {"json": content}
    question = {"method": method, "path": url, "query": body.get("params"), "body": content}
    question = question if "json" in body else {**question, "body": None}
    explain = f"/api/access-tokens/{token_id}/explain"
    dry = whole.call(method, url, headers={**DRY, **own}, **body)[0]
    explained = [
        whole.call("POST", explain, json={**question, "dryRun": dry_run})[0].json()
        for dry_run in (False, True)
    ]
    assert upstream_writes(whole) == []
    real = whole.call(method, url, headers=own, **body)[0]
    statuses = [200 if each["status"] == 204 else each["status"] for each in explained]
    errors = [each["error"] for each in explained]
    answers = [verdict(dry), *zip(statuses, errors, strict=True)]
    assert answers == [verdict(real)] * 3, (method, url, content)
    return answers[0]


def caller_with(whole, settings):
    text = whole.runner.run(whole.world.token({**whole_world.SETTINGS, **settings}))
    own = {"authorization": f"Bearer {text}"}
    return own, whole.call("GET", "/api/access/token", headers=own)[0].json()["id"]


@pytest.mark.slow
@pytest.mark.parametrize("count", [1, 3])
@pytest.mark.parametrize("policy", POLICIES)
def test_every_unknown_target_is_refused_as_by_the_call_itself(whole, policy, count):
    caller = caller_with(whole, POLICIES[policy])
    assert len(list(targets())) == 30
    for name, member in targets():
        method, path, body = WRITES[name]
        base = whole.parameters[member]
        if "/lists/" in path and member == "itemId":
            base = f"{whole.parameters['listId']}:item:1"
        for unknown in unknown_ids(base)[:count]:
            url = whole.url(path, **{member: unknown})
            known = dict(whole.parameters)
            whole.parameters[member] = unknown
            content = filled(whole, body)
            whole.parameters.update(known)

            status, _ = compare(whole, caller, method, url, content)
            assert 400 <= status < 500, (name, member, unknown)


@pytest.mark.slow
@pytest.mark.parametrize("policy", POLICIES)
def test_an_unknown_reference_is_answered_as_by_the_call_itself(whole, policy):
    caller = caller_with(whole, POLICIES[policy])
    for name, members in REFERENCES:
        method, path, body = WRITES[name]
        compare(whole, caller, method, whole.url(path), {**filled(whole, body), **members})


def test_an_unknown_handle_is_refused_as_by_the_call_itself(whole):
    caller = caller_with(whole, {})
    for handle in ("x", whole.parameters["handle"], "0" * 101, "%20"):
        url = HANDLE.format(handle=handle)

        assert compare(whole, caller, "DELETE", url, None) == (404, "NOT_FOUND")
    mine = {"authorization": whole.client.headers["authorization"]}
    url = whole.url(HANDLE)
    dry = whole.call("DELETE", url, headers={**DRY, **mine})[0].json()
    target = {"kind": "attachment", "id": whole.parameters["handle"], "name": "oars.txt"}
    assert dry["effect"]["target"] == target
    query = 'mutation {{ deleteUploadedAttachment(handle: "{}") {{ success }} }}'
    for handle, code in (("x", ["NOT_FOUND"]), (whole.parameters["handle"], [])):
        request = {"query": query.format(handle), "extensions": {"dryRun": True}}
        graph = whole.call("POST", "/graphql", headers=mine, json=request)[0].json()
        codes = [problem["extensions"]["code"] for problem in graph.get("errors", ())]
        assert codes == code
    assert whole.call("DELETE", url, headers=mine)[0].status_code == 204
