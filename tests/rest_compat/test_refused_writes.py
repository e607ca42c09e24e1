"""The table of docs/spec/refused-writes.md, row by row: all doors, `explain` and the log agree."""

import uuid
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import quote

import pytest
import twenty_writes
import whole_world
from paths import REPOSITORY
from twenty_writes import WRITES, document_of, filled, upstream_writes

from gateway.child_tokens import store
from gateway.feeds import subscriptions

PAGE = REPOSITORY / "docs/spec/refused-writes.md"
DRY = {"dryRun": True}
CHILDREN = "/api/access/token/children"
SUBSCRIPTIONS = "/api/access/subscriptions"
SUBSCRIBER = {"subscriptionsEnabled": True}
NOT_THERE = {"id": "notasubscription"}
NOBODY = {"recipientRules": {}}
OTHERS = {"recipientRules": {"allow": ["@work.example"], "block": ["bo@work.example"]}}
PARENT = {"allowChildren": True}
NEW = {"name": "child"}
BO_BY_ADDRESS = {"fields": {"owner": "bo@tasks.example"}}
CALLS = {
    **WRITES,
    "createChildToken": ("POST", CHILDREN, NEW),
    "revokeChildToken": ("DELETE", f"{CHILDREN}/{{childId}}", None),
    "createChangeSubscription": ("POST", SUBSCRIPTIONS, {"url": "https://hooks.example/wake"}),
    "rotateChangeSubscription": ("POST", f"{SUBSCRIPTIONS}/{{id}}/rotate", None),
    "deleteChangeSubscription": ("DELETE", f"{SUBSCRIPTIONS}/{{id}}", None),
}


@dataclass(frozen=True, kw_only=True)
class Case:
    """
    A call that is refused.

    Attributes:
        body: Members of the body that differ from those of `CALLS`.
        ids: Parameters of the path that differ from those of the world.
        asked: `dryRun` and `ifEffect`.
        narrower: Settings that the parent of the calling child gets; None: no child calls.
        generations: How many ancestors the caller has.
    """

    write: str
    settings: dict[str, Any] = field(default_factory=dict)
    body: dict[str, Any] = field(default_factory=dict)
    ids: dict[str, str] = field(default_factory=dict)
    asked: dict[str, Any] = field(default_factory=dict)
    narrower: dict[str, Any] | None = None
    generations: int = 0


CASES = {
    "dry run of a call that is refused": Case(
        write="sendEmail", settings={"allowedEmailOperations": []}, asked=DRY
    ),
    "dry run that takes a name twice": Case(
        write="createFolder", body={"name": "inner"}, asked=DRY
    ),
    "dry run of what is not there": Case(
        write="deleteEmail", ids={"emailId": "providerA:0000000000000000"}, asked=DRY
    ),
    "`If-Effect` of another effect": Case(write="sendEmail", asked={"ifEffect": "x"}),
    "dry run with `If-Effect` of another effect": Case(
        write="moveFile", asked={**DRY, "ifEffect": "x"}
    ),
    "write without `If-Effect`, `writes` is `effect`": Case(
        write="moveFile", settings={"writes": "effect"}
    ),
    "`If-Effect` of another effect, `writes` is `effect`": Case(
        write="replyToEmail", settings={"writes": "effect"}, asked={"ifEffect": "x"}
    ),
    "dry run of the creation of a child token": Case(write="createChildToken", asked=DRY),
    "dry run of the revocation of a child token": Case(write="revokeChildToken", asked=DRY),
    "send to somebody outside the rules": Case(write="sendEmail", settings=OTHERS),
    "reply to somebody outside the rules": Case(write="replyToEmail", settings=NOBODY),
    "forward to somebody outside the rules": Case(write="forwardEmail", settings=OTHERS),
    "share with somebody outside the rules": Case(write="shareFile", settings=OTHERS),
    "change of the permission of somebody outside the rules": Case(
        write="updateFilePermission", settings=OTHERS
    ),
    "new task of somebody outside the rules": Case(
        write="createTaskItem", settings=OTHERS, body=BO_BY_ADDRESS
    ),
    "task given to somebody outside the rules": Case(
        write="updateTaskItem", settings=NOBODY, body=BO_BY_ADDRESS
    ),
    "reply under rules, `from` is hidden": Case(
        write="replyToEmail",
        settings={**OTHERS, "visibleEmailFields": ["to", "cc"]},
        body={"replyAll": False},
    ),
    "reply to all under rules, `cc` is hidden": Case(
        write="replyToEmail", settings={**OTHERS, "visibleEmailFields": ["from", "to"]}
    ),
    "change of a permission under rules, `shared_with` is hidden": Case(
        write="updateFilePermission", settings={**OTHERS, "visibleCollabFields": ["name"]}
    ),
    "dry run of a send to somebody outside the rules": Case(
        write="sendEmail", settings=OTHERS, asked=DRY
    ),
    "send in draft mode to somebody outside the rules": Case(
        write="sendEmail", settings={**OTHERS, "sendMode": "draft"}
    ),
    "reply in draft mode under rules, `from` is hidden": Case(
        write="replyToEmail",
        settings={**OTHERS, "visibleEmailFields": ["to", "cc"], "sendMode": "draft"},
    ),
    "new draft to somebody outside the rules": Case(write="createDraft", settings=OTHERS),
    "change of a draft to somebody outside the rules": Case(write="updateDraft", settings=OTHERS),
    "send of a draft to somebody outside the rules": Case(write="sendDraft", settings=OTHERS),
    "dry run of a send of a draft to somebody outside the rules": Case(
        write="sendDraft", settings=OTHERS, asked=DRY
    ),
    "send of a draft in draft mode to somebody outside the rules": Case(
        write="sendDraft", settings={**OTHERS, "sendMode": "draft"}
    ),
    "change of a draft under rules, `bcc` is hidden": Case(
        write="updateDraft", settings={**OTHERS, "visibleEmailFields": ["to", "cc"]}
    ),
    "send of a draft under rules, `bcc` is hidden": Case(
        write="sendDraft", settings={**OTHERS, "visibleEmailFields": ["to", "cc"]}
    ),
    "child of a token without `allowChildren`": Case(
        write="createChildToken", settings={"allowChildren": False}
    ),
    "child of a token with three ancestors": Case(write="createChildToken", generations=3),
    "child with an unknown member": Case(
        write="createChildToken", body={"settings": {"unknown": 1}}
    ),
    "child that allows more than the token": Case(
        write="createChildToken",
        settings={"timeframePastDays": 30},
        body={"settings": {"timeframePastDays": 31}},
    ),
    "child of the third generation with `allowChildren`": Case(
        write="createChildToken", body={"settings": PARENT}, generations=2
    ),
    "101st living child": Case(write="createChildToken"),
    "revocation of an unknown child": Case(write="revokeChildToken", ids={"childId": "999999"}),
    "child of a revoked token": Case(write="sendEmail", generations=1),
    "child of an expired token": Case(write="sendEmail", generations=1),
    "operation that an ancestor does not allow": Case(
        write="sendEmail", narrower={"allowedEmailOperations": []}, generations=1
    ),
    "recipient that an ancestor does not allow": Case(
        write="sendEmail", narrower=OTHERS, generations=1
    ),
    "subscription of a token without `subscriptionsEnabled`": Case(
        write="createChangeSubscription", settings={"subscriptionsEnabled": False}
    ),
    "subscription that an ancestor does not allow": Case(
        write="createChangeSubscription",
        settings=SUBSCRIBER,
        narrower={"subscriptionsEnabled": False},
        generations=1,
    ),
    "dry run of a subscription": Case(
        write="createChangeSubscription", settings=SUBSCRIBER, asked=DRY
    ),
    "subscription of a URL that cannot be called": Case(
        write="createChangeSubscription", settings=SUBSCRIBER, body={"url": "https://10.0.0.1/x"}
    ),
    "sixth subscription": Case(write="createChangeSubscription", settings=SUBSCRIBER),
    "new secret of an unknown subscription": Case(
        write="rotateChangeSubscription", settings=SUBSCRIBER, ids=NOT_THERE
    ),
    "end of an unknown subscription": Case(
        write="deleteChangeSubscription", settings=SUBSCRIBER, ids=NOT_THERE
    ),
}
# The rows that other tests below hold.
OTHER_ROWS = {
    "malformed `If-Effect`",
    "extension of another type",
    "`Idempotency-Key` with another digest",
    "call beyond the quota of an ancestor",
}


def rows():
    """Return the cells of each row of the table, by its first cell."""
    section = PAGE.read_text("utf-8").partition("## Refusals\n")[2].partition("\n## ")[0]
    lines = [line for line in section.splitlines() if line.startswith("| ")][1:]
    cells = [[cell.strip() for cell in line.strip("|").split(" | ")] for line in lines]
    return {first.strip(): rest for first, *rest in cells}


ROWS = rows()


def test_every_row_is_held_by_a_test():
    assert list(ROWS) == sorted(set(CASES) | OTHER_ROWS, key=list(ROWS).index)
    assert len(ROWS) == 51
    held_alike = {name: tuple(cells[3:]) for name, cells in ROWS.items() if name in CASES}
    assert set(held_alike.values()) == {("same", "same", "same", "as REST")}


@pytest.fixture(scope="module")
def whole(world_template, tmp_path_factory):
    folder = tmp_path_factory.mktemp("refused")
    with whole_world.opened(world_template, folder / "world") as whole:
        shared = twenty_writes.call(whole, "shareFile", {})  # the others cannot be changed
        whole.parameters["permissionId"] = shared.json()["permissionId"]
        yield whole


def caller_of(whole, case):
    """Make the calling token with its ancestors; return its header, and the ids from it upwards."""
    settings = {**whole_world.SETTINGS, **PARENT, **case.settings}
    text, ids = whole.runner.run(whole.world.token(settings)), []
    for generation in range(case.generations + 1):
        own = {"authorization": f"Bearer {text}"}
        ids.insert(0, whole.call("GET", "/api/access/token", headers=own)[0].json()["id"])
        if generation < case.generations:
            narrow = {} if generation == 2 else {"settings": PARENT}
            made = whole.call("POST", CHILDREN, headers=own, json={**NEW, **narrow})[0]
            text = made.json()["token"]
    if case.narrower is not None:
        changed = whole.call(
            "PATCH", f"/api/access-tokens/{ids[-1]}", json={"settings": case.narrower}
        )[0]
        assert changed.status_code == 200, changed.text
    return own, ids


def prepare(whole, row, ids, monkeypatch):
    """Bring about what the settings of the tokens do not."""
    oldest = f"/api/access-tokens/{ids[-1]}"
    if row == "101st living child":
        monkeypatch.setattr(store, "MAX_CHILDREN", 0)
    elif row == "sixth subscription":
        monkeypatch.setattr(subscriptions, "MAX_SUBSCRIPTIONS", 0)
    elif row == "child of a revoked token":
        assert whole.call("DELETE", oldest)[0].status_code == 204
    elif row == "child of an expired token":
        ended = {"expiresAt": "2020-01-01T00:00:00Z"}
        assert whole.call("PATCH", oldest, json=ended)[0].status_code == 200
    elif row == "child of a token with three ancestors":
        # An operator may set it, in vain.
        path = f"/api/access-tokens/{ids[0]}"
        assert whole.call("PATCH", path, json={"settings": PARENT})[0].status_code == 200


def request_of(whole, case):
    """Return method, URL, body and headers of the REST call, and the GraphQL request."""
    method, path, body = CALLS[case.write]
    url = whole.url(path, **case.ids)
    content = None if body is None else {**filled(whole, body), **case.body}
    headers = {"prefer": "dry-run"} if case.asked.get("dryRun") else {}
    if "ifEffect" in case.asked:
        headers["if-effect"] = case.asked["ifEffect"]
    document = document_of(whole, case.write, (method, path, content), case.ids)
    if "childId" in document["variables"]:
        document["variables"]["childId"] = int(document["variables"]["childId"])
    return method, url, content, headers, document


def save(whole, write, document):
    """Save *document* as a REST endpoint; return its method, the URL of the call, and its body."""
    arguments = dict(document["variables"])
    body = arguments.pop("input", None)
    path = f"/api/saved/{write}" + "".join(f"/{{{name}}}" for name in arguments)
    saved = {"document": document["query"], "method": "POST", "path": path}
    name = "".join(f"-{char.lower()}" if char.isupper() else char for char in write)
    answer = whole.call("PUT", f"/api/documents/{name}", json=saved)[0]
    assert answer.status_code == 200, answer.text
    values = {name: quote(str(value), safe="") for name, value in arguments.items()}
    return "POST", path.format(**values), body


def refusing_layer(explanation):
    return [step["layer"] for step in explanation["layers"] if step["outcome"] == "refused"]


def children(whole, own):
    listed = whole.call("GET", CHILDREN, headers=own)[0].json()
    return [child["id"] for child in listed.get("children", ())]


@pytest.mark.slow
@pytest.mark.parametrize("row", CASES)
def test_every_door_explain_and_the_log_name_the_refusal(whole, row, monkeypatch):
    case, (status, code, layer, *_) = CASES[row], ROWS[row]
    status, code, layer = int(status), code.strip("`"), layer.strip("`")
    own, ids = caller_of(whole, case)
    prepare(whole, row, ids, monkeypatch)
    method, url, content, headers, document = request_of(whole, case)
    saved_call = save(whole, case.write, document)
    known = children(whole, own)
    for wire in whole.world.sandbox.upstreams.values():
        wire.calls.clear()

    body = {} if content is None else {"json": content}
    rest = whole.call(method, url, headers={**own, **headers}, **body)[0]
    assert (rest.status_code, rest.json()["error"]) == (status, None if status == 401 else code)

    request = {**document, "extensions": case.asked}
    graph = whole.call("POST", "/graphql", headers=own, json=request)[0]
    (error,) = graph.json()["errors"]
    assert (error["extensions"]["httpStatus"], error["extensions"]["code"]) == (status, code)
    assert not any((graph.json().get("data") or {}).values())

    saved_method, saved_url, saved_body = saved_call
    body = {} if saved_body is None else {"json": saved_body}
    saved = whole.call(saved_method, saved_url, headers={**own, **headers}, **body)[0]
    assert (saved.status_code, saved.json()["error"]) == (status, rest.json()["error"])

    explain = f"/api/access-tokens/{ids[0]}/explain"
    question = {"method": method, "path": url, "body": content, **case.asked}
    by_rest = whole.call("POST", explain, json=question)[0].json()
    assert (by_rest["status"], by_rest["error"]) == (status, rest.json()["error"])
    question = {"method": saved_method, "path": saved_url, "body": saved_body, **case.asked}
    by_saved = whole.call("POST", explain, json=question)[0].json()
    assert (by_saved["status"], by_saved["error"]) == (status, rest.json()["error"])
    assert refusing_layer(by_saved) == [layer]
    question = {"document": document["query"], "variables": document["variables"], **case.asked}
    by_graph = whole.call("POST", explain, json=question)[0].json()
    assert by_graph["error"] == code
    assert by_rest["outcome"] == by_graph["outcome"] in {"refused", "failed"}
    assert refusing_layer(by_rest) == refusing_layer(by_graph) == [layer]
    if case.narrower is not None or status == 401:
        assert by_rest["refusedBy"] == by_graph["refusedBy"] == ids[-1]

    assert upstream_writes(whole) == []
    assert children(whole, own) == known
    if status != 401:  # an unknown caller has no row
        params = {"tokenId": ids[0], "operation": case.write}
        listed = whole.call("GET", "/api/decisions", params=params)[0].json()["decisions"]
        logged = {(each["door"], each["outcome"], each["layer"], each["code"]) for each in listed}
        outcome = "failed" if layer == "upstream" else "refused"
        assert logged == {(door, outcome, layer, code) for door in ("rest", "graphql")}


def code_of(response):
    content = response.json()
    if "errors" in content:
        extensions = content["errors"][0]["extensions"]
        return extensions["httpStatus"], extensions["code"]
    return response.status_code, content["error"]


def test_a_malformed_digest_and_extension(whole):
    own, (token_id, *_) = caller_of(whole, Case(write="sendEmail"))
    method, url, content, _, document = request_of(whole, Case(write="sendEmail"))
    malformed = {**own, "if-effect": "a b"}
    for wire in whole.world.sandbox.upstreams.values():
        wire.calls.clear()

    status, code = int(ROWS["malformed `If-Effect`"][0]), ROWS["malformed `If-Effect`"][1]
    rest = whole.call(method, url, headers=malformed, json=content)[0]
    graph = whole.call("POST", "/graphql", headers=malformed, json=document)[0]
    assert code_of(rest) == code_of(graph) == (status, code.strip("`"))
    explain = f"/api/access-tokens/{token_id}/explain"
    question = {"method": method, "path": url, "body": content, "ifEffect": "a b"}
    explanation = whole.call("POST", explain, json=question)[0].json()
    assert (explanation["status"], explanation["error"]) == (400, "INVALID_PARAMETER")
    assert refusing_layer(explanation) == ["input"]
    question = {"document": document["query"], "variables": document["variables"]}
    explanation = whole.call("POST", explain, json={**question, "ifEffect": "a b"})[0].json()
    assert explanation["error"] == "EFFECT_CHANGED"

    for extensions in ({"dryRun": "yes"}, {"ifEffect": 1}, []):
        request = {**document, "extensions": extensions}
        graph = whole.call("POST", "/graphql", headers=own, json=request)[0]
        assert code_of(graph) == (400, "VALIDATION_ERROR")
    refused = whole.call("POST", explain, json={**question, "dryRun": "yes"})[0]
    assert code_of(refused) == (400, "VALIDATION_ERROR")
    assert upstream_writes(whole) == []


def test_a_key_with_another_digest_is_used_already(whole):
    own, _ = caller_of(whole, Case(write="sendEmail"))
    method, url, content, _, document = request_of(whole, Case(write="sendEmail"))
    key = {**own, "idempotency-key": str(uuid.uuid4())}
    assert whole.call(method, url, headers=key, json=content)[0].status_code == 200
    for wire in whole.world.sandbox.upstreams.values():
        wire.calls.clear()

    expected = {**key, "if-effect": "x"}
    rest = whole.call(method, url, headers=expected, json=content)[0]
    graph = whole.call("POST", "/graphql", headers=expected, json=document)[0]
    assert code_of(rest) == code_of(graph) == (409, "IDEMPOTENCY_KEY_REUSED")
    assert upstream_writes(whole) == []


async def test_the_quota_of_an_ancestor_ends_the_calls_of_its_child(world):
    path = "/api/access/email/messages"
    status, code, layer, *_ = ROWS["call beyond the quota of an ancestor"]
    async with world.client(await world.token({**PARENT, "quota": {"perHour": 3}})) as parent:
        made = (await parent.post(CHILDREN, json=NEW)).json()
        parent_id = (await parent.get("/api/access/token")).json()["id"]
    async with world.client(made["token"]) as child:
        while (rest := await child.get(path)).status_code == 200:
            pass
        world.forget_calls()
        query = {"query": "{ emails { emails { id } } }"}
        graph = await child.post("/graphql", json=query)
    explain = f"/api/access-tokens/{made['id']}/explain"
    by_rest = (await world.admin.post(explain, json={"method": "GET", "path": path})).json()
    document = {"document": query["query"]}
    by_graph = (await world.admin.post(explain, json=document)).json()

    assert (rest.status_code, rest.json()["error"]) == (int(status), None)
    assert code_of(graph) == (int(status), code.strip("`"))
    assert by_rest["status"] == int(status)
    for explanation in (by_rest, by_graph):
        assert refusing_layer(explanation) == [layer.strip("`")]
        assert explanation["refusedBy"] == parent_id
    assert world.calls() == []
