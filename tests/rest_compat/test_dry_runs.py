"""Dry runs of all writes: by both APIs, without anything hidden, and under faults."""

import pytest
import twenty_writes
import whole_world
from run_sizes import TIMES
from twenty_writes import WRITES, call, document_of, filled, upstream_writes

from gateway.http.graphql_call import mutation_rows
from rest_compat.table import ENDPOINTS
from sandbox.faults import KINDS

UPSTREAMS = {"email": ("providerA", "providerB"), "tasks": ("tasks",), "collab": ("collab",)}
# The others spoil the answer of a call that was carried out, or lists of several pages.
FAULTS = sorted(KINDS - {"lostAnswer", "spoiltAnswer", "foreignNextLink", "repeatedNextLink"})
DRY = {"prefer": "dry-run"}
WITHOUT_DRY_RUN = {  # they write to no account
    *("createChildToken", "revokeChildToken", "createChangeSubscription"),
    *("rotateChangeSubscription", "deleteChangeSubscription"),
}


@pytest.fixture(scope="module")
def whole(world_template, tmp_path_factory):
    with whole_world.opened(world_template, tmp_path_factory.mktemp("dry") / "world") as whole:
        yield whole


def test_the_writes_are_all_writes_of_the_specification():
    own = {"uploadEmailAttachment", "deleteUploadedAttachment", *WITHOUT_DRY_RUN}
    assert set(mutation_rows(ENDPOINTS)) == set(WRITES) | own
    assert len(WRITES) == 24


@pytest.mark.parametrize("headers", [DRY, {"if-effect": "a"}])
def test_what_cannot_be_run_dry_is_refused(whole, headers):
    settings = {**whole_world.SETTINGS, "allowChildren": True}
    token = whole.runner.run(whole.world.token(settings))
    mine = {"authorization": f"Bearer {token}"}
    children = "/api/access/token/children"
    body = {"json": {"name": "child", "settings": {}}}
    made = whole.call("POST", children, headers=mine, **body)[0]
    assert made.status_code == 201, made.text
    listed = whole.call("GET", children, headers=mine)[0].json()

    refused = [
        whole.call("POST", children, headers={**mine, **headers}, **body)[0],
        whole.call("DELETE", f"{children}/{made.json()['id']}", headers={**mine, **headers})[0],
    ]
    query = f"mutation {{ revokeChildToken(childId: {made.json()['id']}) {{ __typename }} }}"
    graph = whole.call("POST", "/graphql", headers={**mine, **headers}, json={"query": query})[0]

    assert [(row.status_code, row.json()["error"]) for row in refused] == [
        (400, "INVALID_PARAMETER")
    ] * 2
    assert graph.json()["errors"][0]["extensions"]["code"] == "INVALID_PARAMETER", graph.text
    assert whole.call("GET", children, headers=mine)[0].json() == listed


def by_graphql(whole, name):
    """Run the document of a write's REST row as a dry run of `POST /graphql`."""
    request = {**document_of(whole, name), "extensions": {"dryRun": True}}
    return whole.call("POST", "/graphql", json=request)[0].json()


@pytest.mark.slow
@pytest.mark.parametrize("name", WRITES)
def test_both_apis_show_the_same_effect_and_write_nothing(whole, name):
    recover(whole)
    rest = call(whole, name, DRY)
    graph = by_graphql(whole, name)

    assert rest.status_code < 300, rest.text
    assert "errors" not in graph, graph
    answer = rest.json()
    assert graph["extensions"]["effect"] == answer["effect"]
    assert graph["extensions"]["dryRun"] is answer["dryRun"] is True
    assert upstream_writes(whole) == []
    params = {"operation": name, "limit": 2}
    listed = whole.call("GET", "/api/decisions", params=params)[0].json()["decisions"]
    logged = [(row["door"], row["dryRun"], row["outcome"], row["cost"]) for row in listed]
    outcome = "held" if name == "createDraft" else "allowed"
    assert sorted(logged) == [("graphql", True, outcome, 1), ("rest", True, outcome, 1)]


@pytest.mark.parametrize(
    "stated",
    ["dry-run=", 'dry-run=""', "dry-run=true", "handling=strict,\tdry-run", "Dry-Run\t; a=b"],
)
@pytest.mark.parametrize("api", ["rest", "graphql"])
def test_a_dry_run_that_is_asked_for_in_another_spelling_writes_nothing(whole, api, stated):
    recover(whole)
    if api == "rest":
        response = call(whole, "sendEmail", {"prefer": stated})
    else:
        body = document_of(whole, "sendEmail")
        response = whole.call("POST", "/graphql", headers={"prefer": stated}, json=body)[0]

    assert upstream_writes(whole) == []
    assert (response.json() | response.json().get("extensions", {}))["dryRun"] is True
    assert response.headers["preference-applied"].endswith("dry-run")


@pytest.mark.parametrize("provider", ["providerA", "providerB"])
def test_the_digest_of_a_hidden_label_does_not_tell_that_a_guess_is_right(whole, provider):
    """Adding a label that is there changes as little as removing one that is not."""
    recover(whole)
    masked = _with(whole, {"visibleEmailFields": ["subject"]})
    listed = whole.call("GET", f"{twenty_writes.EMAIL}/messages?limit=50")[0].json()["emails"]
    message = next(
        mail for mail in listed if mail["labels"] and mail["id"].partition(":")[0] == provider
    )
    changes = [
        {"addLabels": [message["labels"][0]]},
        {"addLabels": ["Surely absent"]},
        {"removeLabels": [message["labels"][0]]},
        {"removeLabels": ["Surely absent"]},
        {"removeLabels": ["Absent too"]},
    ]
    digests = []
    for change in changes:
        url = f"{twenty_writes.EMAIL}/messages/{message['id']}"
        response = whole.call("PATCH", url, headers={**DRY, **masked}, json=change)[0]
        digests.append(response.json()["effect"]["digest"])

    assert len(set(digests)) == len(changes)


def _with(whole, settings):
    settings = {**whole_world.SETTINGS, **settings}
    return {"authorization": f"Bearer {whole.runner.run(whole.world.token(settings))}"}


def test_the_log_marks_dry_runs_that_a_gate_refuses(whole):
    settings = {**whole_world.SETTINGS, "allowedEmailOperations": []}
    own = {"authorization": f"Bearer {whole.runner.run(whole.world.token(settings))}"}
    token_id = whole.call("GET", "/api/access/token", headers=own)[0].json()["id"]
    assert call(whole, "sendEmail", {**DRY, **own}).status_code == 403
    request = {**document_of(whole, "sendEmail"), "extensions": {"dryRun": True}}
    assert whole.call("POST", "/graphql", headers=own, json=request)[0].status_code == 200

    params = {"tokenId": token_id, "operation": "sendEmail"}
    listed = whole.call("GET", "/api/decisions", params=params)[0].json()["decisions"]
    logged = sorted((row["door"], row["dryRun"], row["outcome"]) for row in listed)
    assert logged == [("graphql", True, "refused"), ("rest", True, "refused")]


def texts(value):
    """Return every text in a body."""
    if isinstance(value, dict):
        return set().union(*map(texts, value.values()), set())
    if isinstance(value, list):
        return set().union(*map(texts, value), set())
    return {value} if isinstance(value, str) else set()


READS = {
    "email": [twenty_writes.MESSAGE],
    "tasks": [twenty_writes.ITEM],
    "collab": [
        twenty_writes.FILE,
        f"{twenty_writes.FILE}/permissions",
        f"{twenty_writes.ROWS}/{{itemId}}",
    ],
}


HIDDEN = {"visibleEmailFields": [], "visibleTaskFields": [], "visibleCollabFields": []}


@pytest.mark.slow
@pytest.mark.parametrize(("mode", "successes"), [("strict", 20), ("basic", 24)])
def test_no_dry_run_shows_what_is_masked(whole, mode, successes):
    """Strict tokens may neither reply to all, forward, nor change or send a draft."""
    recover(whole)
    settings = {**whole_world.SETTINGS, **HIDDEN, "maskMode": mode}
    masked = {"authorization": f"Bearer {whole.runner.run(whole.world.token(settings))}"}
    shown = 0
    for name, (_, path, body) in WRITES.items():
        reads = [whole.url(read) for read in READS[path.split("/")[3]]]
        full = [whole.call("GET", url)[0].json() for url in reads]
        visible = [whole.call("GET", url, headers=masked)[0].json() for url in reads]
        secrets = texts(full) - texts(visible) - texts(filled(whole, body))
        secrets = {text for text in secrets if len(text) > 4}
        assert len(secrets) >= 3, name
        for wire in whole.world.sandbox.upstreams.values():
            wire.calls.clear()

        response = call(whole, name, {**DRY, **masked})

        assert upstream_writes(whole) == [], name
        shown += response.status_code < 300
        answer = response.json()
        answer.get("effect", {}).pop("account", None)  # `accessToken` shows it to every token
        assert {secret for secret in secrets for text in texts(answer) if secret in text} == set()
    assert shown == successes


def recover(whole):
    """Forget faults, failures, throttles and lost connections."""
    for name in ("providerA", "providerB", "tasks", "collab"):
        whole.runner.run(whole.admin.delete(f"/sandbox/faults/{name}"))
        whole.world.sandbox.upstreams[name].calls.clear()
    listed = whole.runner.run(whole.admin.get("/api/connections")).json()["connections"]
    for connection in listed:
        if connection["status"] == "needs_reauth":
            path = f"/api/connections/{connection['id']}"
            whole.runner.run(whole.admin.patch(path, json={"status": "active"}))


@pytest.mark.slow
@pytest.mark.parametrize("kind", FAULTS)
def test_a_dry_run_under_a_fault_writes_nothing_and_has_the_real_status(
    world_template, tmp_path, kind
):
    with whole_world.opened(world_template, tmp_path / "world") as whole:
        shared = call(whole, "shareFile", {})  # the others are inherited and cannot be changed
        whole.parameters["permissionId"] = shared.json()["permissionId"]
        different = {}
        # Every kind with every other write, and every write with every other kind.
        names = list(WRITES) if TIMES > 1 else list(WRITES)[FAULTS.index(kind) % 2 :: 2]
        for name in names:
            path, statuses = WRITES[name][1], []
            for headers in (DRY, {}):
                recover(whole)
                for upstream in UPSTREAMS[path.split("/")[3]]:
                    fault = {"kind": kind, "delay": 0.002 if kind == "drip" else 0.2}  # of a chunk
                    whole.runner.run(whole.world.fail(upstream, **fault))
                statuses.append(call(whole, name, headers).status_code)
                assert not (headers and upstream_writes(whole)), name
            if name == "createDraft" and statuses == [502, 504]:
                continue  # the draft may have been made: only the real call can learn that
            if statuses[0] != (200 if statuses[1] == 204 else statuses[1]):
                different[name] = tuple(statuses)
        assert different == {}
