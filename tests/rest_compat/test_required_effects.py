"""Tokens with `writes: effect`: nothing is written that was not shown (docs/spec/dry-run.md)."""

import random

import pytest
import whole_world
from drafts import draft_id, leave
from twenty_writes import WRITES, call, document_of, filled, upstream_writes

from gateway.http.graphql_call import mutation_rows
from rest_compat.table import ENDPOINTS

EFFECT = {**whole_world.SETTINGS, "writes": "effect"}
DRY = {"prefer": "dry-run"}
# Parameter of a path -> another id that names something that is there.
OTHER_IDS = {
    "draftId": lambda whole: draft_id("PROVIDER_B", leave(whole.world, "PROVIDER_B")),
    "emailId": lambda whole: whole.world.id("budget"),
    "fileId": lambda whole: whole.parameters["folderId"],
    "boardId": lambda whole: whole.tasks["garden"],
    "itemId": lambda whole: whole.tasks["hinge"],
}


@pytest.fixture(scope="module")
def whole(world_template, tmp_path_factory):
    with whole_world.opened(world_template, tmp_path_factory.mktemp("shown") / "world") as whole:
        whole.parameters["permissionId"] = call(whole, "shareFile", {}).json()["permissionId"]
        yield whole


@pytest.fixture(scope="module")
def headers(whole):
    return {"authorization": f"Bearer {whole.runner.run(whole.world.token(EFFECT))}"}


def forget_calls(whole):
    for wire in whole.world.sandbox.upstreams.values():
        wire.calls.clear()


def by_graphql(whole, name, headers, **extensions):
    request = {**document_of(whole, name), "extensions": extensions}
    return whole.call("POST", "/graphql", headers=headers, json=request)[0].json()


def test_under_a_key_nothing_of_a_428_is_kept(whole, headers):
    keyed = {**headers, "idempotency-key": "shown-first"}
    forget_calls(whole)
    first, second = (call(whole, "sendEmail", keyed) for _ in range(2))
    assert (first.status_code, second.status_code) == (428, 428)
    assert "idempotent-replayed" not in second.headers
    assert upstream_writes(whole) == []
    keyed["if-effect"] = first.json()["effect"]["digest"]

    sent, again = (call(whole, "sendEmail", keyed) for _ in range(2))

    assert sent.status_code == again.status_code == 200
    assert again.headers["idempotent-replayed"] == "true"
    assert again.json() == sent.json()


def test_a_refusal_goes_before_the_effect(whole):
    settings = {**EFFECT, "recipientRules": {"allow": ["@elsewhere.example"], "block": []}}
    own = {"authorization": f"Bearer {whole.runner.run(whole.world.token(settings))}"}
    forget_calls(whole)

    refused = call(whole, "sendEmail", own)

    assert (refused.status_code, refused.json()["error"]) == (403, "RECIPIENT_NOT_ALLOWED")
    assert "effect" not in refused.json()
    assert upstream_writes(whole) == []


def test_an_effect_hides_what_a_mask_hides(whole):
    settings = {**EFFECT, "visibleEmailFields": ["subject"], "maskMode": "basic"}
    own = {"authorization": f"Bearer {whole.runner.run(whole.world.token(settings))}"}

    effect = call(whole, "replyToEmail", own).json()["effect"]

    assert set(effect["recipients"]) == {"hidden"}


def test_child_tokens_are_made_at_once_and_inherit_the_setting(whole, headers):
    path = "/api/access/token/children"
    made = whole.call("POST", path, headers=headers, json={"name": "child"})[0]
    assert made.status_code == 201, made.text
    assert made.json()["settings"]["writes"] == "effect"
    body = {"name": "wider", "settings": {"writes": "direct"}}
    wider = whole.call("POST", path, headers=headers, json=body)[0]
    assert (wider.status_code, wider.json()["error"]) == (403, "ACCESS_DENIED")
    assert [detail["field"] for detail in wider.json()["details"]] == ["settings.writes"]
    own = {"authorization": f"Bearer {made.json()['token']}"}
    assert call(whole, "sendEmail", own).status_code == 428
    revoked = whole.call("DELETE", f"{path}/{made.json()['id']}", headers=headers)[0]
    assert revoked.status_code == 204


def test_explain_names_the_setting(whole):
    text = whole.runner.run(whole.world.token(EFFECT))
    own = {"authorization": f"Bearer {text}"}
    token_id = whole.call("GET", "/api/access/token", headers=own)[0].json()["id"]
    method, path, body = WRITES["sendEmail"]
    question = {"method": method, "path": path, "body": body}

    answer = whole.call("POST", f"/api/access-tokens/{token_id}/explain", json=question)[0].json()

    assert (answer["outcome"], answer["error"]) == ("refused", "EFFECT_REQUIRED")
    assert answer["change"]["settings"] == {"writes": "direct"}


def leaves(value, path=()):
    """Yield the path of each text, number and boolean of *value*."""
    if isinstance(value, dict | list):
        pairs = value.items() if isinstance(value, dict) else enumerate(value)
        for key, member in pairs:
            yield from leaves(member, (*path, key))
    else:
        yield path


def with_changed_leaf(value, path, rng):
    """Return a copy of *value* with one octet, number or boolean changed at *path*."""
    if path:
        copy = value.copy()
        copy[path[0]] = with_changed_leaf(value[path[0]], path[1:], rng)
        return copy
    if isinstance(value, bool):
        return not value
    if isinstance(value, int):
        return value + rng.randrange(1, 1000)
    octets = bytearray(value if isinstance(value, bytes) else value.encode())
    octets[rng.randrange(len(octets))] ^= 1 << rng.randrange(7)
    return bytes(octets) if isinstance(value, bytes) else octets.decode()


def changed(whole, name, rng):
    """Return method, URL and content of the write *name* with one thing changed."""
    method, path, body = WRITES[name]
    content, ids = filled(whole, body), {}
    named = [key for key in OTHER_IDS if f"{{{key}}}" in path]
    ways = ["target"] * bool(named) + ["leaf"] * 2 * (content is not None)
    ways += ["more"] * 2 * (name in {"sendEmail", "replyToEmail", "forwardEmail"})
    way = rng.choice(ways)
    if way == "target":
        other = OTHER_IDS[named[0]](whole)
        ids = {named[0]: f"{whole.parameters['listId']}:item:2" if "/lists/" in path else other}
    elif way == "leaf":
        content = with_changed_leaf(content, rng.choice(list(leaves(content))), rng)
    elif name == "replyToEmail" or rng.random() < 0.5:
        octet = rng.choice("abcdefghijklmnopqrstuvwxyz")
        file = {"name": f"{octet}.txt", "contentType": "text/plain", "contentBase64": "YQ=="}
        content["attachments"] = [file]
    else:
        person = {"email": f"x{rng.randrange(10**6)}@work.example"}
        header = rng.choice(["to", "cc", "bcc"])
        content[header] = [*content.get(header, []), person]
    if content is not None and "params" not in content:
        content = {"json": content}
    return method, whole.url(path, **ids), content or {}


@pytest.mark.tries(40, 500)
def test_no_write_runs_that_differs_from_the_one_that_was_shown(whole, headers, tries):
    digests = {name: call(whole, name, headers).json()["effect"]["digest"] for name in WRITES}
    rng, refused = random.Random(tries), 0
    forget_calls(whole)

    for number in range(tries):
        name = rng.choice(list(WRITES))
        method, url, content = changed(whole, name, rng)
        own = {**headers, "if-effect": digests[name]}
        response = whole.call(method, url, headers=own, **content)[0]
        assert response.status_code in {400, 403, 404, 409, 428}, (number, name, response.text)
        if response.status_code == 428:
            assert response.json()["effect"]["digest"] != digests[name]
            refused += 1
        assert upstream_writes(whole) == [], (number, name)
        forget_calls(whole)

    assert refused > tries / 2  # the others are malformed, or name what is not there


@pytest.mark.parametrize("name", ["modifyEmail", "renameFile", "updateTaskItem"])
def test_no_write_runs_whose_target_changed_since_it_was_shown(whole, headers, name):
    digest = call(whole, name, headers).json()["effect"]["digest"]
    first = call(whole, name, {})  # of another token, between preview and run
    assert first.status_code == 200, first.text
    forget_calls(whole)

    late = call(whole, name, {**headers, "if-effect": digest})

    assert (late.status_code, late.json()["error"]) == (428, "EFFECT_REQUIRED")
    assert late.json()["effect"]["digest"] != digest
    assert upstream_writes(whole) == []


@pytest.mark.slow
@pytest.mark.parametrize("name", WRITES)
def test_a_write_runs_only_with_the_effect_that_its_refusal_shows(whole, headers, name):
    whole.parameters["draftId"] = draft_id("PROVIDER_A", leave(whole.world, "PROVIDER_A"))
    dry = call(whole, name, {**headers, **DRY})
    status = mutation_rows(ENDPOINTS)[name].status
    assert dry.status_code == (200 if status == 204 else status), dry.text
    effect = dry.json()["effect"]
    forget_calls(whole)

    refused = call(whole, name, headers)
    graph = by_graphql(whole, name, headers)

    body = refused.json()
    assert (refused.status_code, body["error"], body["effect"]) == (428, "EFFECT_REQUIRED", effect)
    assert "dryRun" not in body
    (error,) = graph["errors"]
    extensions = error["extensions"]
    assert (extensions["code"], extensions["httpStatus"]) == ("EFFECT_REQUIRED", 428)
    assert extensions["effect"] == effect
    assert "dryRun" not in graph["extensions"]
    assert set(graph["data"].values()) == {None}
    stale = call(whole, name, {**headers, "if-effect": "x"})
    assert (stale.status_code, stale.json()["effect"]) == (428, effect)
    stale = by_graphql(whole, name, headers, ifEffect="x")
    assert stale["errors"][0]["extensions"]["effect"] == effect
    assert upstream_writes(whole) == []
    params = {"operation": name, "code": "EFFECT_REQUIRED"}
    rows = whole.call("GET", "/api/decisions", params=params)[0].json()["decisions"]
    assert {(row["outcome"], row["layer"], row["dryRun"]) for row in rows} == {
        ("refused", "scope", False)
    }

    done = call(whole, name, {**headers, "if-effect": effect["digest"]})
    assert done.status_code == status, done.text
    assert upstream_writes(whole)
