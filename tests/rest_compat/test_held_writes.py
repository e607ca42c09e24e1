"""Tokens with `writes: approve`: a person releases each write (docs/spec/held-writes.md)."""

import asyncio
import re

import httpx
import pytest
import whole_world
from drafts import draft_id, leave
from sqlalchemy import update
from twenty_writes import WRITES, call, document_of, upstream_writes

from gateway.http.graphql_call import mutation_rows
from gateway.releases import Releases
from gateway.store.further_tables import HeldWriteRow
from rest_compat.table import ENDPOINTS
from sandbox.faults import Fault

APPROVE = {**whole_world.SETTINGS, "writes": "approve"}
WITHIN_THE_GATEWAY = {"uploadEmailAttachment", "deleteUploadedAttachment"}
CHILD_TOKENS = {"createChildToken", "revokeChildToken"}
SUBSCRIPTIONS = {
    *("createChangeSubscription", "rotateChangeSubscription", "deleteChangeSubscription")
}
CHANGED = "The effect of the call has changed since the dry run: repeat the dry run."


@pytest.fixture(scope="module")
def whole(world_template, tmp_path_factory):
    with whole_world.opened(world_template, tmp_path_factory.mktemp("held") / "world") as whole:
        whole.parameters["permissionId"] = call(whole, "shareFile", {}).json()["permissionId"]
        yield whole


@pytest.fixture(scope="module")
def spent_whole(world_template, tmp_path_factory):
    """A world of its own for the 24 writes, which leave little to write to."""
    with whole_world.opened(world_template, tmp_path_factory.mktemp("spent") / "world") as whole:
        whole.parameters["permissionId"] = call(whole, "shareFile", {}).json()["permissionId"]
        yield whole


@pytest.fixture(scope="module")
def headers(whole):
    return bearer(whole, APPROVE)


@pytest.fixture(autouse=True)
def _forget_calls(whole):
    forget_calls(whole)


def bearer(whole, settings):
    return {"authorization": f"Bearer {whole.runner.run(whole.world.token(settings))}"}


def forget_calls(whole):
    for wire in whole.world.sandbox.upstreams.values():
        wire.calls.clear()


def by_graphql(whole, name, headers):
    return whole.call("POST", "/graphql", headers=headers, json=document_of(whole, name))[0]


def state(whole, headers, write_id):
    return whole.call("GET", f"/api/access/writes/{write_id}", headers=headers)[0]


def own(whole, headers):
    return whole.call("GET", "/api/access/token", headers=headers)[0].json()


def decide(whole, write_id, verb="release", **content):
    return whole.call("POST", f"/api/held-writes/{write_id}/{verb}", **content)[0]


def release(whole, write_id):
    """Release a write, and let it run."""
    answer = decide(whole, write_id)
    run_due(whole)
    return answer


def run_due(whole):
    releases = whole.world.gateway.services.releases

    async def run():
        await releases.run_due()
        await releases.idle()

    whole.runner.run(run())


def store(whole, write_id, **values):
    changed = update(HeldWriteRow).where(HeldWriteRow.id == write_id)
    statement = changed.values(**values).returning(HeldWriteRow.id)
    whole.runner.run(whole.world.gateway.services.database.execute(statement))


def test_every_mutation_is_among_those_that_are_held():
    """A new write is held like all others, or says here why it is not."""
    within = {*WITHIN_THE_GATEWAY, *CHILD_TOKENS, *SUBSCRIPTIONS}
    assert set(mutation_rows(ENDPOINTS)) == {*WRITES, *within}


def hold_and_release(whole, headers, name):
    whole.parameters["draftId"] = draft_id("PROVIDER_A", leave(whole.world, "PROVIDER_A"))
    dry = call(whole, name, {**headers, "prefer": "dry-run"})
    assert dry.status_code < 300, dry.text
    forget_calls(whole)

    held = call(whole, name, headers)
    graph = by_graphql(whole, name, headers).json()

    body = held.json()
    assert (held.status_code, body["state"], body["operation"]) == (202, "held", name)
    assert body["effect"] == dry.json()["effect"]
    (error,) = graph["errors"]
    assert (error["extensions"]["code"], error["extensions"]["httpStatus"]) == ("WRITE_HELD", 202)
    assert error["extensions"]["held"]["state"] == "held"
    assert set((graph["data"] or {"": None}).values()) == {None}
    assert upstream_writes(whole) == []
    assert state(whole, headers, body["id"]).json() == body

    released = release(whole, body["id"])

    assert (released.status_code, released.json()["state"]) == (200, "releasing")
    done = state(whole, headers, body["id"]).json()
    row = mutation_rows(ENDPOINTS)[name]
    assert (done["state"], done["status"], done["reason"]) == ("done", row.status, None), done
    assert upstream_writes(whole)
    forget_calls(whole)
    run_due(whole)
    assert release(whole, body["id"]).status_code == 412
    assert upstream_writes(whole) == []


@pytest.mark.parametrize("name", ["sendEmail", "updateTaskItem"])
def test_a_write_is_held_and_released_once(whole, headers, name):
    hold_and_release(whole, headers, name)


@pytest.mark.slow
@pytest.mark.parametrize("name", WRITES)
def test_every_write_is_held_and_released_once(spent_whole, name):
    hold_and_release(spent_whole, bearer(spent_whole, APPROVE), name)


def test_a_mutation_is_released_with_its_own_answer(whole, headers):
    error = by_graphql(whole, "createTaskItem", headers).json()["errors"][0]
    held = error["extensions"]["held"]

    release(whole, held["id"])

    done = state(whole, headers, held["id"]).json()
    assert (done["state"], done["status"]) == ("done", 200)
    assert done["result"]["data"]["result"]["itemId"]
    query = {
        "query": "query Read($id: String!) { pendingWrite(id: $id) { state operation } }",
        "variables": {"id": held["id"]},
    }
    shown = whole.call("POST", "/graphql", headers=headers, json=query)[0].json()
    assert shown["data"]["pendingWrite"] == {"state": "done", "operation": "createTaskItem"}


def test_a_rejected_write_is_not_done(whole, headers):
    held = call(whole, "sendEmail", headers).json()

    answer = decide(whole, held["id"], "reject", json={"reason": "Not today."})
    run_due(whole)

    assert (answer.status_code, answer.json()["decidedBy"]) == (200, "admin")
    shown = state(whole, headers, held["id"]).json()
    assert (shown["state"], shown["reason"]) == ("rejected", "Not today.")
    assert release(whole, held["id"]).status_code == 412
    assert upstream_writes(whole) == []


def test_a_person_sees_what_would_happen(whole, headers):
    held = call(whole, "sendEmail", headers).json()

    shown = whole.call("GET", f"/api/held-writes/{held['id']}")[0].json()
    listed = whole.call("GET", "/api/held-writes?state=held&limit=1")[0].json()

    assert shown["sentences"][0] == "Send a message."
    assert "To bo@work.example." in shown["sentences"]
    assert "Subject: s" in shown["sentences"]
    assert shown["arguments"]["written"]["body"] == "b"
    assert [each["id"] for each in listed["writes"]] == [held["id"]]
    assert "sentences" not in listed["writes"][0]


def test_what_the_console_releases_is_what_it_showed(whole, headers):
    held = call(whole, "sendEmail", headers).json()

    async def release_there():
        transport = httpx.ASGITransport(whole.world.gateway)
        async with httpx.AsyncClient(transport=transport, base_url=whole.admin.base_url) as browser:
            token = whole.admin.headers["authorization"].removeprefix("Bearer ")
            await browser.post("/console/sign-in", data={"token": token})
            page = (await browser.get(f"/console/writes/{held['id']}")).text
            form_token = re.search('name="form_token" value="([^"]*)"', page)[1]
            form = {"form_token": form_token, "id": held["id"], "decision": "release"}
            return page, await browser.post("/console/writes", data=form)

    page, released = whole.runner.run(release_there())
    run_due(whole)

    assert "<bdi>To bo@work.example.</bdi>" in page
    assert released.headers["location"] == f"/console/writes/{held['id']}"
    assert state(whole, headers, held["id"]).json()["state"] == "done"
    assert len([each for each in upstream_writes(whole) if each["path"].endswith("/send")]) == 1


def test_a_refusal_goes_before_the_hold(whole):
    settings = {**APPROVE, "recipientRules": {"allow": ["@elsewhere.example"], "block": []}}
    refused = call(whole, "sendEmail", bearer(whole, settings))

    assert (refused.status_code, refused.json()["error"]) == (403, "RECIPIENT_NOT_ALLOWED")


def test_a_key_finds_the_same_hold(whole, headers):
    keyed = {**headers, "idempotency-key": "one-hold"}
    first, second = (call(whole, "sendEmail", keyed) for _ in range(2))

    assert second.json() == first.json()
    assert second.headers["idempotent-replayed"] == "true"
    assert "idempotent-replayed" not in first.headers
    other = call(whole, "createDraft", keyed)
    assert other.json()["id"] != first.json()["id"]
    release(whole, first.json()["id"])
    third = call(whole, "sendEmail", keyed)
    assert (third.status_code, third.json()["state"]) == (202, "done")
    waited = call(whole, "sendEmail", {**keyed, "prefer": "wait=1"})
    assert (waited.status_code, waited.json()["success"]) == (200, True)
    assert len([each for each in upstream_writes(whole) if each["path"].endswith("/send")]) == 1


def test_a_caller_waits_for_the_person(whole, headers):
    async def both():
        client = whole.client
        path, body = WRITES["createTaskItem"][1:]
        sent = asyncio.create_task(
            client.post(whole.url(path), headers={**headers, "prefer": "wait=20"}, json=body)
        )
        writes: list = []
        while not writes:
            await asyncio.sleep(0.02)
            listed = await whole.admin.get("/api/held-writes?state=held&limit=1")
            writes = [
                each for each in listed.json()["writes"] if each["operation"] == "createTaskItem"
            ]
        await whole.admin.post(f"/api/held-writes/{writes[0]['id']}/release")
        return await sent

    response = whole.runner.run(both())

    assert response.status_code == 201, response.text
    assert response.json()["itemId"]
    assert response.headers["preference-applied"] == "wait=20"


def test_only_the_token_that_asked_learns_of_it(whole, headers):
    held = call(whole, "sendEmail", headers).json()

    for other in (bearer(whole, APPROVE), bearer(whole, whole_world.SETTINGS)):
        assert state(whole, other, held["id"]).status_code == 404
    assert state(whole, headers, "of-no-held-write").status_code == 404


def test_no_access_token_releases_anything(whole, headers):
    """Neither the token that asked nor its child, its parent, or any other."""
    parent = bearer(whole, whole_world.SETTINGS)
    body = {"name": "asks", "settings": {"writes": "approve"}}
    made = whole.call("POST", "/api/access/token/children", headers=parent, json=body)[0].json()
    child = {"authorization": f"Bearer {made['token']}"}
    held = call(whole, "sendEmail", child).json()

    for kin in (child, parent, headers):
        for verb in ("release", "reject"):
            answer = decide(whole, held["id"], verb, headers=kin)
            assert (answer.status_code, answer.json()["error"]) == (403, "ADMIN_REQUIRED")
    run_due(whole)
    assert state(whole, child, held["id"]).json()["state"] == "held"
    assert upstream_writes(whole) == []


def test_not_even_an_access_token_that_is_also_an_admin_token_releases(whole, headers, monkeypatch):
    import hashlib

    text = headers["authorization"].removeprefix("Bearer ")
    services = whole.world.gateway.services
    both = {**services.admins, hashlib.sha256(text.encode()).digest(): "careless"}
    monkeypatch.setitem(services.__dict__, "admins", both)
    held = call(whole, "sendEmail", headers).json()

    assert whole.call("GET", "/api/operators", headers=headers)[0].status_code == 200
    answer = decide(whole, held["id"], headers=headers)

    assert (answer.status_code, answer.json()["error"]) == (403, "ADMIN_REQUIRED")


def test_an_approver_decides_and_does_nothing_else(whole, headers):
    owner = whole.call("GET", f"/api/access-tokens/{own(whole, headers)['id']}")[0].json()
    others = {"name": "of others", "operatorIds": [owner["operatorId"]], "resourceIds": [10**9]}
    unknown = whole.call("POST", "/api/approvers", json=others)[0]
    assert unknown.status_code == 400
    assert whole.call("POST", "/api/approvers", json={"name": "a" * 91})[0].status_code == 400
    body = {"name": "Ada", "operatorIds": [owner["operatorId"]]}
    made = whole.call("POST", "/api/approvers", json=body)[0]
    assert made.status_code == 201, made.text
    approver = {"authorization": f"Bearer {made.json()['credential']}"}
    held = call(whole, "sendEmail", headers).json()

    assert whole.call("GET", "/api/access-tokens", headers=approver)[0].status_code == 401
    listed = whole.call("GET", "/api/held-writes", headers=approver)[0]
    released = decide(whole, held["id"], headers=approver)
    run_due(whole)

    assert held["id"] in [each["id"] for each in listed.json()["writes"]]
    assert (released.status_code, released.json()["decidedBy"]) == (200, "approver Ada")
    assert state(whole, headers, held["id"]).json()["state"] == "done"
    rows = whole.call("GET", "/api/decisions?operation=releaseWrite&limit=1")[0].json()["decisions"]
    assert (rows[0]["actor"], rows[0]["resourceId"]) == ("approver Ada", held["id"])
    assert whole.call("DELETE", f"/api/approvers/{made.json()['id']}")[0].status_code == 204
    assert whole.call("GET", "/api/held-writes", headers=approver)[0].status_code == 401


@pytest.mark.parametrize("name", ["modifyEmail", "renameFile"])
def test_a_target_that_changed_is_not_written(whole, headers, name):
    held = call(whole, name, headers).json()
    assert call(whole, name, {}).status_code == 200  # by another token
    forget_calls(whole)

    release(whole, held["id"])

    shown = state(whole, headers, held["id"]).json()
    assert (shown["state"], shown["status"], shown["reason"]) == ("failed", 412, CHANGED)
    assert upstream_writes(whole) == []


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"settings": {"allowedEmailOperations": ["read_only"]}}, "does not allow reply_to_email"),
        ({"settings": {"visibleEmailFields": ["subject"], "maskMode": "basic"}}, CHANGED),
        ({"settings": {"recipientRules": {"allow": ["*"]}}}, CHANGED),
        ({"settings": {"recipientRules": {"allow": ["x@y.example"]}}}, "recipients"),
        (None, "This access token has been revoked."),
    ],
)
def test_a_token_that_was_narrowed_writes_nothing(whole, change, reason):
    headers = bearer(whole, APPROVE)
    token = f"/api/access-tokens/{own(whole, headers)['id']}"
    held = call(whole, "replyToEmail", headers).json()
    changed = whole.call("PATCH", token, json=change) if change else whole.call("DELETE", token)
    assert changed[0].status_code < 300, changed[0].text
    forget_calls(whole)

    release(whole, held["id"])

    row = whole.call("GET", f"/api/held-writes/{held['id']}")[0].json()
    assert row["state"] == "failed"
    assert reason in row["reason"]
    assert upstream_writes(whole) == []


@pytest.fixture
def _without_background(whole, monkeypatch):
    """The world's own process runs no released write."""

    async def run_nothing():
        return

    monkeypatch.setattr(whole.world.gateway.services.releases, "run_due", run_nothing)


@pytest.mark.usefixtures("_without_background")
def test_a_refusal_elsewhere_ends_nothing_that_runs(whole):
    """Two processes look for released writes: one runs it when the other one would refuse it."""
    headers = bearer(whole, APPROVE)
    token = f"/api/access-tokens/{own(whole, headers)['id']}"
    write_id = call(whole, "createTaskItem", headers).json()["id"]
    services = whole.world.gateway.services
    first, second = Releases(services), Releases(services)
    assert decide(whole, write_id).status_code == 200

    async def both():
        (row,) = [row for row in await services.held_writes.due(9) if row.id == write_id]
        admitted, goes_on = asyncio.Event(), asyncio.Event()
        answer = first._answer

        async def late_answer(call, context):
            admitted.set()
            await goes_on.wait()
            return await answer(call, context)

        first._answer = late_answer
        running = asyncio.create_task(first.release(row))
        await asyncio.wait_for(admitted.wait(), 30)
        assert (await whole.admin.delete(token)).status_code < 300
        await second.release(row)
        meanwhile = (await whole.admin.get(f"/api/held-writes/{write_id}")).json()
        goes_on.set()
        await running
        return meanwhile, (await whole.admin.get(f"/api/held-writes/{write_id}")).json()

    meanwhile, ended = whole.runner.run(both())

    assert (meanwhile["state"], meanwhile["reason"]) == ("releasing", None)
    assert (ended["state"], ended["reason"]) == ("done", None)
    assert len(upstream_writes(whole)) == 1


@pytest.mark.usefixtures("_without_background")
def test_a_run_is_not_cut_off_when_the_process_stops(whole, headers):
    write_id = call(whole, "createTaskItem", headers).json()["id"]
    decide(whole, write_id)
    releases = Releases(whole.world.gateway.services)
    answer, admitted = releases._answer, asyncio.Event()

    async def slow_answer(call, context):
        admitted.set()
        await asyncio.sleep(0.1)
        return await answer(call, context)

    async def serve():
        releases._answer = slow_answer
        async with releases.running():
            releases.wake()
            await asyncio.wait_for(admitted.wait(), 30)

    whole.runner.run(serve())

    assert state(whole, headers, write_id).json()["state"] == "done"
    assert len(upstream_writes(whole)) == 1


@pytest.mark.usefixtures("_without_background")
@pytest.mark.parametrize("fault", [("429", 1), ("503", None), ("503", 1)])
def test_a_provider_that_fails_for_the_moment_is_called_again(whole, headers, fault):
    kind, retry_after = fault
    releases = Releases(whole.world.gateway.services)
    upstream, mailbox = whole.world.sandbox.upstreams["providerA"], "provider-a"
    held = call(whole, "sendEmail", headers).json()
    decide(whole, held["id"])
    upstream.faults.append(Fault(kind=kind, method="POST", retry_after=retry_after))
    forget_calls(whole)

    async def run():
        await releases.run_due()
        await releases.idle()

    sent = len(whole.world.sent(mailbox))
    whole.runner.run(run())
    assert state(whole, headers, held["id"]).json()["state"] == "releasing"
    assert 0 < releases._postponed[held["id"]] - whole.runner.get_loop().time() <= 2
    calls = len(upstream.calls)
    whole.runner.run(run())  # it waits
    assert len(upstream.calls) == calls
    upstream.faults.clear()
    whole.runner.run(asyncio.sleep(2.1))
    whole.runner.run(run())

    assert state(whole, headers, held["id"]).json()["state"] == "done"
    assert len(whole.world.sent(mailbox)) == sent + 1


@pytest.mark.usefixtures("_without_background")
def test_a_released_write_that_could_not_be_done_in_time_expires(whole, headers):
    releases = Releases(whole.world.gateway.services)
    faults = whole.world.sandbox.upstreams["providerA"].faults
    held = call(whole, "sendEmail", headers).json()
    decide(whole, held["id"])
    faults.append(Fault(kind="503", method="POST"))
    forget_calls(whole)

    async def run():
        await releases.run_due()
        await releases.idle()

    whole.runner.run(run())
    store(whole, held["id"], expires_at=1)
    faults.clear()
    releases._postponed.clear()
    whole.runner.run(run())

    ended = state(whole, headers, held["id"]).json()
    assert ended["state"] == "expired"
    assert ended["reason"] == "It was released, and could not be done in time."


@pytest.mark.parametrize("is_released", [False, True])
def test_a_hold_ends_by_itself(whole, headers, is_released):
    held = call(whole, "sendEmail", headers).json()
    store(whole, held["id"], expires_at=1, **({"state": "releasing"} if is_released else {}))

    run_due(whole)

    assert state(whole, headers, held["id"]).json()["state"] == "expired"
    assert decide(whole, held["id"]).status_code == 412
    assert upstream_writes(whole) == []


def test_a_token_has_at_most_100_that_wait(whole):
    headers = bearer(whole, APPROVE)
    states = [call(whole, "createTaskItem", headers).status_code for _ in range(101)]

    assert states == [202] * 100 + [422]
    assert upstream_writes(whole) == []


def test_a_child_of_it_is_at_least_as_narrow(whole, headers):
    path = "/api/access/token/children"
    made = whole.call("POST", path, headers=headers, json={"name": "child"})[0]
    assert (made.status_code, made.json()["settings"]["writes"]) == (201, "approve")
    for wider in ("direct", "effect"):
        body = {"name": "wider", "settings": {"writes": wider}}
        refused = whole.call("POST", path, headers=headers, json=body)[0]
        assert [each["field"] for each in refused.json()["details"]] == ["settings.writes"]


def test_explain_and_the_log_say_held(whole, headers):
    method, path, body = WRITES["sendEmail"]
    question = {"method": method, "path": path, "body": body}
    token_id = own(whole, headers)["id"]

    answer = whole.call("POST", f"/api/access-tokens/{token_id}/explain", json=question)[0].json()
    document = {"document": document_of(whole, "sendEmail")["query"], "variables": {"input": body}}
    graph = whole.call("POST", f"/api/access-tokens/{token_id}/explain", json=document)[0].json()
    call(whole, "sendEmail", headers)
    by_graphql(whole, "sendEmail", headers)

    assert (answer["outcome"], answer["status"], answer["error"]) == ("held", 202, None)
    assert (graph["outcome"], graph["fields"][0]["outcome"]) == ("held", "held")
    params = {"operation": "sendEmail", "tokenId": token_id, "limit": 2}
    rows = whole.call("GET", "/api/decisions", params=params)[0].json()["decisions"]
    assert [(row["outcome"], row["code"], row["door"]) for row in rows] == [
        ("held", None, "graphql"),
        ("held", None, "rest"),
    ]


def test_hidden_words_stay_hidden(whole):
    """What waits shows its token no more than a dry run does, also after its mask changed."""
    headers = bearer(whole, APPROVE)
    held = call(whole, "replyToEmail", headers).json()
    assert held["effect"]["recipients"]["to"]
    change = {"settings": {"visibleEmailFields": ["subject"], "maskMode": "basic"}}
    whole.call("PATCH", f"/api/access-tokens/{own(whole, headers)['id']}", json=change)

    assert state(whole, headers, held["id"]).json()["effect"] is None
    later = call(whole, "replyToEmail", headers).json()
    assert set(later["effect"]["recipients"]) == {"hidden"}
