"""New held writes are told to URLs, with ids alone (docs/spec/held-writes.md#notices)."""

import orjson
import pytest

from gateway.webhooks.sender import WebhookSender

SEND = "/api/access/email/messages/send"
MESSAGE = {"to": [{"email": "bo@work.example"}], "subject": "quartz", "body": "falcon"}
NOTICES = "/api/held-write-notices"
OTHER = {"email": "other@example.org", "displayName": "Other"}


@pytest.fixture
def told(monkeypatch):
    """The calls that are made: URL and body; nothing leaves the process."""
    calls = []

    async def call(_, delivery):
        calls.append((delivery.target.url, orjson.loads(delivery.body)))

    monkeypatch.setattr(WebhookSender, "_call", call)
    return calls


async def test_a_held_write_is_told_with_ids_alone(world, told):
    admin, sender = world.admin, world.gateway.services.webhooks
    everyone = (await admin.post(NOTICES, json={"url": "https://all.example/"})).json()
    async with world.client(await world.token({"writes": "approve"})) as asking:
        own = (await asking.get("/api/access/token")).json()
        held = (await asking.post(SEND, json=MESSAGE)).json()
        refused = await asking.post(SEND, json={"to": []})
    other = (await admin.post("/api/operators", json=OTHER)).json()["id"]
    await admin.post(NOTICES, json={"url": "https://other.example/", "operatorId": other})
    listed = (await admin.get("/api/held-writes")).json()["writes"]
    await sender.run_due()
    await sender.idle()

    assert refused.status_code == 400
    (write,) = listed
    body = {"id": held["id"], "tokenId": own["id"], "operatorId": write["operatorId"]}
    assert told == [
        (
            "https://all.example/",
            {"type": "write.held", "timestamp": held["createdAt"], "data": body},
        )
    ]
    assert everyone["secret"].startswith("whsec_")


async def test_a_notice_of_an_operator_hears_of_its_writes_alone_and_goes_with_it(world, told):
    admin, sender = world.admin, world.gateway.services.webhooks
    other = (await admin.post("/api/operators", json=OTHER)).json()["id"]
    new = {"url": "https://other.example/", "operatorId": other}
    assert (await admin.post(NOTICES, json=new)).status_code == 201
    async with world.client(await world.token({"writes": "approve"})) as asking:
        await asking.post(SEND, json=MESSAGE)
    await sender.run_due()
    await sender.idle()
    assert told == []
    assert (await admin.delete(f"/api/operators/{other}")).status_code == 204

    assert (await admin.get(NOTICES)).json() == {"notices": []}


@pytest.mark.parametrize(
    "new",
    [
        {},
        {"url": "http://hooks.example/"},
        {"url": "https://192.168.0.1/"},
        {"url": "https://localhost/"},
        {"url": "https://hooks.example/", "operatorId": "unknown"},
    ],
)
async def test_a_notice_that_cannot_be_told_is_refused(world, new):
    assert (await world.admin.post(NOTICES, json=new)).status_code == 400
    assert (await world.admin.get(NOTICES)).json() == {"notices": []}


async def test_access_tokens_and_approvers_set_no_notices(world):
    credential = (await world.admin.post("/api/approvers", json={"name": "Bo"})).json()[
        "credential"
    ]
    for text in (credential, await world.token({})):
        async with world.client(text) as client:
            for method, path in (("GET", NOTICES), ("DELETE", f"{NOTICES}/x")):
                assert (await client.request(method, path)).status_code in (401, 403)


async def test_at_most_20_notices(world):
    new = {"url": "https://hooks.example/"}
    statuses = [(await world.admin.post(NOTICES, json=new)).status_code for _ in range(21)]

    assert statuses == [201] * 20 + [400]
    assert (await world.admin.delete(f"{NOTICES}/unknown")).status_code == 404
