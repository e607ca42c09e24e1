"""The sandbox's Pub/Sub and watches are as strict as Google's."""

import base64
import json

import httpx
import pytest

from sandbox.app import create
from sandbox.provider_a import pubsub
from sandbox.provider_a.topics import PROJECT, PUBLISHER, Topics

ROBOT = "robot@sandbox-project.iam.gserviceaccount.com"
TOPIC = f"projects/{PROJECT}/topics/mail"
SUBSCRIPTION = f"/provider-a/v1/projects/{PROJECT}/subscriptions/gateway"
READONLY = "https://www.googleapis.com/auth/gmail.readonly"


@pytest.fixture
def sandbox(monkeypatch):
    monkeypatch.setattr(pubsub, "WAIT_SECONDS", 0.1)
    return create(None, public_base="http://sandbox.test")


@pytest.fixture
def topics(sandbox):
    made = Topics(sandbox.state.database)
    made.create("mail", "gateway", consumer=ROBOT)
    return made


@pytest.fixture
def call(sandbox):
    """Call as somebody; return status and body."""

    async def called(path, body, scope="https://www.googleapis.com/auth/pubsub", account=ROBOT):
        token = sandbox.state.tokens.issue("providerA", account, [scope])
        transport = httpx.ASGITransport(sandbox)
        async with httpx.AsyncClient(transport=transport, base_url="http://sandbox.test") as client:
            response = await client.post(
                path, json=body, headers={"authorization": f"Bearer {token}"}
            )
        return response.status_code, response.json() if response.content else None

    return called


@pytest.fixture
def watch(call):
    async def watched(topic=TOPIC, path="watch", scope=READONLY):
        body = {"topicName": topic} if path == "watch" else None
        return await call(f"/provider-a/gmail/v1/users/me/{path}", body, scope, "me@a.example")

    return watched


def sentence(answer):
    return answer[0], answer[1]["error"]["message"]


async def test_a_watch_is_told_at_once_and_again_until_it_is_acknowledged(topics, watch, call):
    status, body = await watch()
    assert (status, set(body)) == (200, {"historyId", "expiration"})
    status, body = await call(f"{SUBSCRIPTION}:pull", {"maxMessages": 5})
    (received,) = body["receivedMessages"]
    content = json.loads(base64.b64decode(received["message"]["data"]))
    assert set(content) == {"emailAddress", "historyId"}
    assert await call(f"{SUBSCRIPTION}:pull", {"maxMessages": 5}) == (200, {})
    assert await call(f"{SUBSCRIPTION}:acknowledge", {"ackIds": [received["ackId"]]}) == (200, {})
    assert topics.waiting() == 0
    assert (await watch(path="stop"))[0] == 204


async def test_topics_that_a_watch_refuses(topics, watch):
    error = f"Error sending test message to Cloud PubSub {TOPIC} :"
    assert sentence(await watch("projects/other/topics/mail")) == (
        400,
        f"Invalid topicName does not match projects/{PROJECT}/topics/*",
    )
    topics.create("mail", "gateway", publisher="", consumer=ROBOT)
    assert sentence(await watch()) == (403, f"{error} User not authorized to perform this action.")
    other = TOPIC.replace("mail", "other")
    assert (await watch(other))[0] == 404
    assert (await watch(scope="https://www.googleapis.com/auth/calendar"))[0] == 403
    topics.create("mail", "gateway", publisher=PUBLISHER, consumer=ROBOT)
    topics.create("other", "others", consumer=ROBOT)
    assert (await watch())[0] == 200
    status, message = sentence(await watch(other))
    assert (status, message[:33]) == (400, "Only one user push notification c")


async def test_subscriptions_that_cannot_be_pulled_from(topics, call):
    pull = {"maxMessages": 1}
    assert (await call(f"{SUBSCRIPTION}s:pull", pull))[0] == 404
    assert (await call(f"{SUBSCRIPTION}:pull", pull, account="other@a.example"))[0] == 403
    assert (await call(f"{SUBSCRIPTION}:pull", pull, READONLY))[0] == 403
    bad = ({}, {"maxMessages": 0}, {"maxMessages": "1"}, {"maxMessages": 1, "limit": 1})
    for body in bad:
        assert (await call(f"{SUBSCRIPTION}:pull", body))[0] == 400
    rights = {"permissions": ["pubsub.subscriptions.consume"]}
    assert await call(f"{SUBSCRIPTION}:testIamPermissions", rights) == (200, rights)
    assert await call(f"{SUBSCRIPTION}s:testIamPermissions", rights) == (200, {})
    topics.create("mail", "gateway", consumer=ROBOT, kind="push")
    assert (await call(f"{SUBSCRIPTION}:pull", pull))[0] == 400
