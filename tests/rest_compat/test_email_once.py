"""A POST under an Idempotency-Key is carried out once, end to end."""

import asyncio

import pytest

MESSAGES = "/api/access/email/messages"
MESSAGE = {"to": [{"email": "bo@work.example"}], "subject": "Once", "body": "b"}


async def send(client, *, key="k-1", body=MESSAGE, path=f"{MESSAGES}/send", **more):
    return await client.post(path, json=body, headers={"idempotency-key": key}, **more)


async def test_a_retry_is_answered_the_same_and_sends_nothing(client, world):
    first = await send(client)
    world.forget_calls()

    second = await send(client)

    assert (first.status_code, second.status_code) == (200, 200)
    assert second.content == first.content
    assert "idempotent-replayed" not in first.headers
    assert second.headers["idempotent-replayed"] == "true"
    assert second.headers["x-request-id"] != first.headers["x-request-id"]
    assert world.calls() == []
    assert len(world.sent("provider-a")) == 1


async def test_the_same_key_with_another_body_is_409(client, world):
    await send(client)

    response = await send(client, body={**MESSAGE, "subject": "Twice"})

    assert response.status_code == 409
    assert response.json()["error"] == response.json()["errorCode"] == "IDEMPOTENCY_KEY_REUSED"
    assert len(world.sent("provider-a")) == 1


async def test_a_key_belongs_to_its_token_and_path(client, world):
    await send(client)
    async with world.client(await world.token({})) as other:
        assert (await send(other)).status_code == 200
    reply = await send(client, path=f"{MESSAGES}/{world.id('lease')}/reply", body={"body": "b"})

    assert reply.status_code == 200
    assert len(world.sent("provider-a")) == 3


async def test_simultaneous_calls_send_once(client, world):
    answers = await asyncio.gather(*(send(client) for _ in range(8)))

    codes = sorted(answer.status_code for answer in answers)
    assert set(codes) <= {200, 409}
    assert len(world.sent("provider-a")) == 1
    in_progress = [one.json()["error"] for one in answers if one.status_code == 409]
    assert set(in_progress) <= {"IDEMPOTENCY_IN_PROGRESS"}
    assert not any("retry-after" in answer.headers for answer in answers)


@pytest.mark.parametrize(
    ("body", "path", "status"),
    [
        ({"to": []}, f"{MESSAGES}/send", 400),
        ({"body": "b"}, f"{MESSAGES}/providerA:absent/reply", 404),
        ({**MESSAGE, "connectionId": 99}, f"{MESSAGES}/send", 404),
    ],
    ids=["a bad body", "a missing message", "a foreign connection"],
)
async def test_an_error_is_replayed_too(client, body, path, status):
    first = await send(client, body=body, path=path)
    second = await send(client, body=body, path=path)

    assert first.status_code == second.status_code == status
    assert second.content == first.content
    assert second.headers["idempotent-replayed"] == "true"


@pytest.mark.parametrize(
    "fault",
    [{"kind": "429", "retryAfter": 0}, {"kind": "503", "retryAfter": 0}, {"kind": "400"}],
    ids=["throttled", "unavailable for now", "rejected"],
)
async def test_a_refusal_of_the_provider_is_tried_again(client, world, fault):
    await world.fail("provider-a", count=1, method="POST", **fault)
    first = await send(client)
    second = first
    for _ in range(20):
        second = await send(client)
        if second.status_code != 429:
            break
        await asyncio.sleep(0.1)

    assert first.status_code in {429, 502}
    assert second.status_code == 200
    assert "idempotent-replayed" not in second.headers
    assert len(world.sent("provider-a")) == 1


@pytest.mark.slow
async def test_what_upstream_says_has_failed_is_no_mystery(client, world):
    await world.fail("provider-a", kind="500", method="POST")
    first = await send(client)
    await world.admin.delete("/sandbox/faults/provider-a")
    second = await send(client)

    assert (first.status_code, first.json()["error"]) == (502, "PROVIDER_ERROR")
    assert first.json()["success"] is False
    assert (second.status_code, second.headers.get("idempotent-replayed")) == (200, None)
    assert len(world.sent("provider-a")) == 1


async def test_a_lost_answer_is_found_and_then_replayed(client, world):
    await world.fail("provider-a", kind="lostAnswer", count=1, method="POST")
    first = await send(client)
    second = await send(client)

    assert (first.status_code, second.status_code) == (200, 200)
    assert second.content == first.content
    assert len(world.sent("provider-a")) == 1


@pytest.mark.slow
async def test_an_unknown_outcome_is_kept_and_never_sent_again(client, world):
    await world.fail("provider-a", kind="reset")  # also of every look-up
    first = await send(client)
    await world.admin.delete("/sandbox/faults/provider-a")
    second = await send(client)

    assert first.status_code == 504
    assert first.json()["error"] == "OUTCOME_UNKNOWN"
    assert second.content == first.content
    assert second.headers["idempotent-replayed"] == "true"
    assert world.sent("provider-a") == []


async def test_a_replay_passes_authentication_and_gates_again(client, world):
    await send(client)
    own = (await client.get("/api/access/token")).json()["id"]
    change = {"settings": {"allowedEmailOperations": ["read_only"]}}
    await world.admin.patch(f"/api/access-tokens/{own}", json=change)
    narrowed = await send(client)
    await world.admin.delete(f"/api/access-tokens/{own}")
    revoked = await send(client)

    assert narrowed.status_code == 403
    assert revoked.status_code == 401
    assert "idempotent-replayed" not in narrowed.headers


async def test_without_a_key_every_call_sends(client, world):
    for _ in range(2):
        assert (await client.post(f"{MESSAGES}/send", json=MESSAGE)).status_code == 200

    assert len(world.sent("provider-a")) == 2
