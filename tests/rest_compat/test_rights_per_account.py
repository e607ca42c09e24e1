"""Settings per account, by what callers see and by what reaches the providers."""

import pytest
from world import ME_B

MESSAGES = "/api/access/email/messages"
SEND = f"{MESSAGES}/send"
NEW = {"to": [{"email": "new@work.example"}], "subject": "Keys", "body": "Here."}


def accounts(world, **settings):
    """Return `accounts` with settings by provider: ``PROVIDER_A={…}``."""
    return {
        "accounts": {str(world.connections[provider]): own for provider, own in settings.items()}
    }


def token_body(world, settings):
    return {
        "name": "t",
        "operatorId": world.operator_id,
        "resourceIds": [1],
        "settings": {"emailAccessEnabled": True, **settings},
    }


async def test_an_account_with_more_than_the_token_is_refused(world):
    wider = accounts(world, PROVIDER_A={"visibleEmailFields": ["all"]})
    body = token_body(world, {"visibleEmailFields": ["subject"], **wider})

    refused = await world.admin.post("/api/access-tokens", json=body)

    path = f"settings.accounts.{world.connections['PROVIDER_A']}.visibleEmailFields"
    assert refused.status_code == 400
    assert refused.json()["error"] == "VALIDATION_ERROR"
    assert refused.json()["details"] == [
        {"field": path, "message": "It allows more than the token."}
    ]


async def test_a_token_that_is_narrowed_later_narrows_its_accounts(world):
    own = accounts(world, PROVIDER_A={"visibleEmailFields": ["subject", "body"]})
    made = (await world.admin.post("/api/access-tokens", json=token_body(world, own))).json()
    url = f"/api/access-tokens/{made['id']}"

    kept = await world.admin.patch(url, json={"settings": {"visibleEmailFields": ["body"]}})
    wider = await world.admin.patch(url, json={"settings": own})

    assert kept.status_code == 200, kept.text
    assert kept.json()["settings"]["accounts"] == own["accounts"]
    assert wider.status_code == 400
    async with world.client(made["token"]) as client:
        only = (await client.get(MESSAGES)).json()["emails"][0]
        assert only["subject"] is None


async def test_own_settings_show_accounts(world):
    own = accounts(world, PROVIDER_A={"sendMode": "draft"})
    async with world.client(await world.token(own)) as client:
        shown = (await client.get("/api/access/token")).json()

    assert shown["settings"]["accounts"] == own["accounts"]


async def test_the_only_account_of_a_token_narrows_it(world):
    only = {"allowedConnectionIds": [world.connections["PROVIDER_A"]]}
    own = accounts(
        world, PROVIDER_A={"allowedEmailOperations": ["read_only"], "visibleEmailFields": ["body"]}
    )
    world.forget_calls()
    async with world.client(await world.token({**only, **own})) as client:
        refused = await client.post(SEND, json=NEW)
        sought = await client.get(MESSAGES, params={"from": ME_B})
        assert world.calls() == []
        listed = (await client.get(MESSAGES, params={"includeBody": True})).json()

    assert (refused.status_code, refused.json()["error"]) == (403, "OPERATION_NOT_ALLOWED")
    assert (sought.status_code, sought.json()["error"]) == (403, "FIELD_NOT_VISIBLE")
    assert {(each["subject"], each["from"]) for each in listed["emails"]} == {(None, None)}
    assert all(each["body"] for each in listed["emails"])


async def test_settings_of_another_account_have_no_effect(world):
    only = {"allowedConnectionIds": [world.connections["PROVIDER_A"]]}
    own = accounts(world, PROVIDER_B={"allowedEmailOperations": []})
    async with world.client(await world.token({**only, **own})) as client:
        sent = await client.post(SEND, json=NEW)

    assert sent.status_code == 200, sent.text
    assert len(world.sent("provider-a")) == 1


@pytest.mark.parametrize("wide", [None, {}])
async def test_a_child_contains_the_accounts_of_its_parent(world, wide):
    own = accounts(world, PROVIDER_A={"visibleEmailFields": ["subject"]})
    async with world.client(await world.token({**own, "allowChildren": True})) as client:
        wider = await client.post(
            "/api/access/token/children", json={"name": "c", "settings": {"accounts": wide}}
        )
        child = (await client.post("/api/access/token/children", json={"name": "c"})).json()

    assert (wider.status_code, wider.json()["error"]) == (403, "ACCESS_DENIED")
    assert [detail["field"] for detail in wider.json()["details"]] == ["settings.accounts"]
    assert child["settings"]["accounts"] == own["accounts"]
