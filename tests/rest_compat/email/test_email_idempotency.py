"""A write with an Idempotency-Key is carried out once, end to end, over REST and GraphQL."""

import asyncio
import json
from dataclasses import dataclass

import httpx
import pytest
from sqlalchemy import update
from world import api_id

from gateway.audit.log import DecisionLog
from gateway.errors import Overloaded
from gateway.store import timestamps
from gateway.store.database import StorageUnavailable
from gateway.store.idempotency import leases
from gateway.store.idempotency.leases import CONFIRMED_SECONDS, AttemptLeases
from gateway.store.idempotency.store import IdempotencyStore
from gateway.store.tables import IdempotencyRow
from providers.mail.merged_mailbox import MergedMailbox

MESSAGES = "/api/access/email/messages"
MESSAGE = {"to": [{"email": "bo@work.example"}], "subject": "Once", "body": "b"}
SEND = "mutation ($input: SendEmailInput!) { sendEmail(input: $input) { success emailId } }"
REPLY = """mutation ($id: String!, $input: ReplyEmailInput!) {
  replyToEmail(emailId: $id, input: $input) { success emailId }
}"""


@dataclass(frozen=True)
class CallResult:
    """A response; *status* and *code* are those of the call, in either API."""

    response: httpx.Response
    status: int
    code: str | None

    @property
    def content(self):
        return self.response.content

    @property
    def replayed(self):
        return self.response.headers.get("idempotent-replayed")


class Rest:
    async def send(self, client, body=MESSAGE, *, key="k-1"):
        return await self._post(client, f"{MESSAGES}/send", body, key)

    async def reply(self, client, message, *, key="k-1"):
        return await self._post(client, f"{MESSAGES}/{message}/reply", {"body": "b"}, key)

    async def _post(self, client, path, body, key):
        response = await client.post(path, json=body, headers=_keyed(key))
        answer = response.json()
        if "success" in answer:  # not in a refusal of the token
            assert answer["success"] is (response.status_code == 200)
            assert answer.get("error") == answer["errorCode"]
        return CallResult(response, response.status_code, answer.get("error"))


class GraphQL:
    async def send(self, client, body=MESSAGE, *, key="k-1"):
        return await self._post(client, SEND, {"input": body}, key)

    async def reply(self, client, message, *, key="k-1"):
        return await self._post(client, REPLY, {"id": message, "input": {"body": "b"}}, key)

    async def _post(self, client, query, variables, key):
        body = {"query": query, "variables": variables}
        response = await client.post("/graphql", json=body, headers=_keyed(key))
        answer = response.json()
        if "errors" not in answer:
            return CallResult(response, response.status_code, None)
        extensions = answer["errors"][0]["extensions"]
        assert response.status_code == (200 if "data" in answer else extensions["httpStatus"])
        return CallResult(response, extensions["httpStatus"], extensions["code"])


def _keyed(key):
    return {} if key is None else {"Idempotency-Key": key}


APIS = [pytest.param(Rest(), id="rest"), pytest.param(GraphQL(), id="graphql")]


@pytest.fixture(params=APIS)
def api(request):
    return request.param


async def test_a_retry_has_the_same_response_and_sends_nothing(client, world, api):
    first = await api.send(client)
    world.forget_calls()

    second = await api.send(client)

    assert (first.status, second.status) == (200, 200)
    assert second.content == first.content
    assert second.response.headers["content-type"] == first.response.headers["content-type"]
    assert (first.replayed, second.replayed) == (None, "true")
    assert second.response.headers["x-request-id"] != first.response.headers["x-request-id"]
    assert world.calls() == []
    assert len(world.sent("provider-a")) == 1


async def test_the_same_key_with_another_body_is_409(client, world, api):
    await api.send(client)
    world.forget_calls()

    second = await api.send(client, {**MESSAGE, "subject": "Twice"})

    assert (second.status, second.code) == (409, "IDEMPOTENCY_KEY_REUSED")
    assert second.response.status_code == 409
    assert world.calls() == []
    assert len(world.sent("provider-a")) == 1


async def test_a_key_belongs_to_its_token(client, world, api):
    await api.send(client)
    async with world.client(await world.token({})) as other:
        assert (await api.send(other)).replayed is None

    assert len(world.sent("provider-a")) == 2


async def test_a_key_belongs_to_its_operation_and_resource(client, world, api):
    await api.send(client)

    assert (await api.reply(client, world.id("lease"))).replayed is None
    assert (await api.reply(client, world.id("lunch"))).replayed is None
    assert len(world.sent("provider-a")) == 3


async def test_simultaneous_calls_send_once(client, world, api):
    answers = await asyncio.gather(*(api.send(client) for _ in range(8)))

    assert {answer.status for answer in answers} <= {200, 409}
    assert len(world.sent("provider-a")) == 1
    in_progress = {answer.code for answer in answers if answer.status == 409}
    assert in_progress <= {"IDEMPOTENCY_IN_PROGRESS"}
    assert not any("retry-after" in answer.response.headers for answer in answers)


async def test_an_attempt_that_was_taken_over_sends_nothing(client, world, api, monkeypatch):
    """The process stood still for longer than its lease, and another one has the key now."""
    monkeypatch.setattr(leases, "CONFIRMED_SECONDS", 0.0)  # confirm by the database
    begin = IdempotencyStore.begin

    async def begin_and_lose(store, intent):
        attempt = await begin(store, intent)
        async with store._database.writing() as session:
            await session.exec(update(IdempotencyRow).values(attempt=attempt.number + 1))
        return attempt

    monkeypatch.setattr(IdempotencyStore, "begin", begin_and_lose)
    refused = await api.send(client)

    assert (refused.status, refused.code) == (409, "IDEMPOTENCY_IN_PROGRESS")
    assert [call for call in world.calls() if call["method"] != "GET"] == []
    assert world.sent("provider-a") == []


async def test_an_attempt_that_stood_still_while_its_lease_was_renewed_sends(
    client, world, api, monkeypatch
):
    """It still holds the key; a refusal would be the answer under the key for ever."""
    begin, renew, uptime = IdempotencyStore.begin, AttemptLeases._renew, timestamps.uptime
    stood_still = 0.0

    async def begin_late(store, intent):
        attempt = await begin(store, intent)
        store._leases._running = dict.fromkeys(store._leases._running, 0.0)
        return attempt

    async def renew_slowly(held, holders):
        nonlocal stood_still
        renewed = await renew(held, holders)
        stood_still = stood_still or CONFIRMED_SECONDS + 1
        return renewed

    monkeypatch.setattr(timestamps, "uptime", lambda: uptime() + stood_still)
    monkeypatch.setattr(IdempotencyStore, "begin", begin_late)
    monkeypatch.setattr(AttemptLeases, "_renew", renew_slowly)
    sent = await api.send(client)

    assert sent.status == 200
    assert stood_still
    assert len(world.sent("provider-a")) == 1


@pytest.mark.parametrize(
    ("body", "status"),
    [({"to": []}, 400), ({**MESSAGE, "connectionId": 99}, 404)],
    ids=["a bad body", "a foreign connection"],
)
async def test_an_error_is_replayed_too(client, api, body, status):
    first = await api.send(client, body)
    second = await api.send(client, body)

    assert first.status == second.status == status
    assert second.content == first.content
    assert (first.replayed, second.replayed) == (None, "true")
    assert second.response.status_code == first.response.status_code


async def test_a_404_is_replayed_too(client, api):
    first = await api.reply(client, api_id("provider-a", "absent"))
    second = await api.reply(client, api_id("provider-a", "absent"))

    assert first.status == second.status == 404
    assert second.content == first.content
    assert second.replayed == "true"


@pytest.mark.parametrize(
    "fault",
    [
        pytest.param({"kind": "429", "retryAfter": 0}, id="throttled"),
        pytest.param({"kind": "503", "retryAfter": 0}, id="unavailable for now"),
        pytest.param({"kind": "400"}, id="rejected"),
    ],
)
async def test_a_provider_refusal_is_retried(client, world, api, fault):
    await world.fail("provider-a", count=1, method="POST", **fault)
    first = await api.send(client)
    second = first
    for _ in range(20):
        second = await api.send(client)
        if second.status != 429:
            break
        await asyncio.sleep(0.1)

    assert first.status in {429, 502}
    assert (second.status, second.replayed) == (200, None)
    assert len(world.sent("provider-a")) == 1


@pytest.mark.slow
async def test_a_definite_upstream_failure_is_not_an_unknown_outcome(client, world, api):
    await world.fail("provider-a", kind="500", method="POST")
    first = await api.send(client)
    await world.admin.delete("/sandbox/faults/provider-a")
    second = await api.send(client)

    assert (first.status, first.code) == (502, "PROVIDER_ERROR")
    assert (second.status, second.replayed) == (200, None)
    assert len(world.sent("provider-a")) == 1


async def test_a_lost_response_is_looked_up_and_then_replayed(client, world, api):
    await world.fail("provider-a", kind="lostAnswer", count=1, match="drafts/send")
    first = await api.send(client)
    second = await api.send(client)

    assert (first.status, second.status) == (200, 200)
    assert second.content == first.content
    assert len(world.sent("provider-a")) == 1


@pytest.mark.slow
async def test_an_unknown_outcome_is_stored_and_never_sent_again(client, world, api):
    await world.fail("provider-a", kind="reset", match="drafts/")  # also of every look-up
    first = await api.send(client)
    await world.admin.delete("/sandbox/faults/provider-a")
    second = await api.send(client)

    assert (first.status, first.code) == (504, "OUTCOME_UNKNOWN")
    assert second.content == first.content
    assert second.replayed == "true"
    assert world.sent("provider-a") == []


async def test_a_replay_passes_authentication_and_gates_again(client, world, api):
    await api.send(client)
    own = (await client.get("/api/access/token")).json()["id"]
    change = {"settings": {"allowedEmailOperations": ["read_only"]}}
    await world.admin.patch(f"/api/access-tokens/{own}", json=change)
    narrowed = await api.send(client)
    await world.admin.delete(f"/api/access-tokens/{own}")
    revoked = await api.send(client)

    assert (narrowed.status, narrowed.code) == (403, "OPERATION_NOT_ALLOWED")
    assert revoked.status == 401
    assert (narrowed.replayed, revoked.replayed) == (None, None)


async def test_without_a_key_every_call_sends(client, world, api):
    for _ in range(2):
        assert (await api.send(client, key=None)).status == 200

    assert len(world.sent("provider-a")) == 2


@pytest.mark.parametrize(
    "headers",
    [[("Idempotency-Key", "")], [("Idempotency-Key", "a"), ("Idempotency-Key", "a")]],
    ids=["empty", "twice"],
)
async def test_a_mutation_under_a_malformed_key_is_400(client, world, headers):
    body = json.dumps({"query": SEND, "variables": {"input": MESSAGE}})

    kind = ("Content-Type", "application/json")
    response = await client.post("/graphql", content=body, headers=[kind, *headers])

    assert response.status_code == 400
    why = "must be one value of 1 to 255 visible ASCII characters"
    assert response.json() == {
        "errors": [
            {
                "message": f"Idempotency-Key {why}.",
                "extensions": {
                    "code": "INVALID_PARAMETER",
                    "httpStatus": 400,
                    "requestId": response.headers["x-request-id"],
                    "details": [{"field": "Idempotency-Key", "message": f"It {why}."}],
                },
            }
        ]
    }
    assert world.calls() == []


async def test_a_query_ignores_the_key(client, world):
    body = {"query": "{ emails(limit: 1) { totalCount } }"}
    first = await client.post("/graphql", json=body, headers=_keyed("k-1"))
    world.forget_calls()

    second = await client.post("/graphql", json=body, headers=_keyed("k-1"))

    assert first.json() == second.json()
    assert "idempotent-replayed" not in second.headers
    assert world.calls() != []


async def test_a_replay_has_the_accepted_content_type(client):
    await GraphQL().send(client)
    body = {"query": SEND, "variables": {"input": MESSAGE}}
    kind = "application/graphql-response+json"

    second = await client.post(
        "/graphql", json=body, headers={"Idempotency-Key": "k-1", "Accept": kind}
    )

    assert second.headers["content-type"] == kind
    assert second.headers["idempotent-replayed"] == "true"


async def test_a_crash_after_the_send_does_not_send_twice(client, world, api, monkeypatch):
    send = MergedMailbox.send

    async def failing(*arguments):
        await send(*arguments)
        raise RuntimeError

    monkeypatch.setattr(MergedMailbox, "send", failing)
    first = await api.send(client)
    monkeypatch.undo()
    second = await api.send(client)
    third = await api.send(client)

    assert (first.status, first.code) == (500, "INTERNAL_ERROR")
    assert (second.status, second.replayed) == (200, None)
    assert (third.content, third.replayed) == (second.content, "true")
    assert len(world.sent("provider-a")) == 1


async def test_a_client_disconnect_does_not_send_twice(client, world, api, monkeypatch):
    send, sent = MergedMailbox.send, asyncio.Event()

    async def hanging(*arguments):
        await send(*arguments)
        sent.set()
        await asyncio.Event().wait()

    monkeypatch.setattr(MergedMailbox, "send", hanging)
    left = asyncio.create_task(api.send(client))
    await sent.wait()
    left.cancel()
    await asyncio.wait([left])
    monkeypatch.undo()
    early = await api.send(client)
    await end_leases(world)
    late = await api.send(client)

    assert (early.status, early.code) == (409, "IDEMPOTENCY_IN_PROGRESS")
    assert (late.status, late.replayed) == (200, None)
    assert len(world.sent("provider-a")) == 1


async def unavailable(*_):
    raise StorageUnavailable


async def overloaded(*_):
    raise Overloaded


@pytest.mark.parametrize(
    "unwritten",
    [(IdempotencyStore, "_insert", unavailable), (DecisionLog, "wait_for_capacity", overloaded)],
    ids=["that it begins", "that it ran"],
)
async def test_a_message_is_not_sent_when_its_intent_cannot_be_stored(
    client, world, api, monkeypatch, unwritten
):
    monkeypatch.setattr(*unwritten)
    first = await api.send(client)
    calls = world.calls()
    monkeypatch.undo()
    second = await api.send(client)

    assert (first.status, first.code) == (503, "OVERLOADED")
    assert first.response.status_code == 503
    assert calls == []
    assert (second.status, second.replayed) == (200, None)
    assert len(world.sent("provider-a")) == 1


async def test_a_result_that_could_not_be_stored_is_not_sent_twice(client, world, api, monkeypatch):
    write = IdempotencyStore._update

    async def not_the_end(store, attempt, values):
        return await (unavailable() if "state" in values else write(store, attempt, values))

    monkeypatch.setattr(IdempotencyStore, "_update", not_the_end)
    first = await api.send(client)
    monkeypatch.undo()
    early = await api.send(client)
    await end_leases(world)
    late = await api.send(client)

    assert (first.status, first.replayed) == (200, None)
    assert (early.status, early.code) == (409, "IDEMPOTENCY_IN_PROGRESS")
    assert (late.status, late.replayed) == (200, None)
    assert len(world.sent("provider-a")) == 1


@pytest.fixture(params=["PROVIDER_A", "PROVIDER_B"])
def sender(request, world):
    """Return a mailbox, and a message to send from it."""
    connection = world.connections[request.param]
    return request.param.lower().replace("_", "-"), {**MESSAGE, "connectionId": connection}


def folders(world, mailbox):
    """Return the folders of the copies of the message in its sender's mailbox."""
    mails = world.sandbox.state.mails.all(mailbox)
    return [mail.folder for mail in mails if b"Subject: Once" in mail.raw]


async def test_the_draft_of_a_crashed_attempt_is_sent(client, world, api, monkeypatch, sender):
    mailbox, message = sender
    store = IdempotencyStore.store_draft

    async def store_and_crash(*arguments):
        await store(*arguments)
        raise RuntimeError

    monkeypatch.setattr(IdempotencyStore, "store_draft", store_and_crash)
    first = await api.send(client, message)
    monkeypatch.undo()
    assert folders(world, mailbox) == ["drafts"]
    second = await api.send(client, message)
    third = await api.send(client, message)

    assert (first.status, first.code) == (500, "INTERNAL_ERROR")
    assert (second.status, third.replayed) == (200, "true")
    assert folders(world, mailbox) == ["sent"]


async def test_an_attempt_that_stood_still_before_its_commit_deletes_its_draft(
    client, world, api, monkeypatch, sender
):
    mailbox, message = sender
    store = IdempotencyStore.store_draft

    async def lose_and_store(self, attempt, draft):
        await end_leases(world)
        monkeypatch.undo()
        assert (await api.send(client, message)).status == 200
        return await store(self, attempt, draft)

    monkeypatch.setattr(IdempotencyStore, "store_draft", lose_and_store)
    slow = await api.send(client, message)

    assert (slow.status, slow.code) == (409, "IDEMPOTENCY_IN_PROGRESS")
    assert folders(world, mailbox) == ["sent"]


async def test_an_attempt_that_stood_still_after_its_commit_sends_nothing(
    client, world, api, monkeypatch, sender
):
    mailbox, message = sender
    store = IdempotencyStore.store_draft

    async def store_and_lose(self, attempt, draft):
        assert await store(self, attempt, draft)
        monkeypatch.undo()
        await end_leases(world)
        self._leases._running[int(attempt.entry_id), attempt.number] = 0.0
        assert (await api.send(client, message)).status == 200
        return True

    monkeypatch.setattr(IdempotencyStore, "store_draft", store_and_lose)
    slow = await api.send(client, message)

    assert (slow.status, slow.code) == (409, "IDEMPOTENCY_IN_PROGRESS")
    assert folders(world, mailbox) == ["sent"]


async def test_nothing_is_sent_when_the_draft_cannot_be_stored(
    client, world, api, monkeypatch, sender
):
    mailbox, message = sender
    monkeypatch.setattr(IdempotencyStore, "store_draft", overloaded)
    first = await api.send(client, message)
    monkeypatch.undo()
    assert folders(world, mailbox) == ["drafts"]
    second = await api.send(client, message)

    assert (first.status, first.code) == (503, "OVERLOADED")
    assert second.status == 200
    assert folders(world, mailbox) == ["sent"]


async def test_a_draft_in_another_connection_is_of_unknown_outcome(
    client, world, api, monkeypatch, sender
):
    mailbox, message = sender

    async def crash(store, attempt, draft):
        async with store._database.writing() as session:
            await session.exec(update(IdempotencyRow).values(draft="999:r1"))
        raise RuntimeError

    monkeypatch.setattr(IdempotencyStore, "store_draft", crash)
    await api.send(client, message)
    monkeypatch.undo()
    world.forget_calls()
    second = await api.send(client, message)

    assert (second.status, second.code) == (504, "OUTCOME_UNKNOWN")
    assert world.calls() == []
    assert folders(world, mailbox) == ["drafts"]


async def end_leases(world):
    async with world.gateway.services.database.writing() as session:
        await session.exec(update(IdempotencyRow).values(lease_until=0))
