"""The sandbox's subscriptions of Microsoft Graph are as strict as the service's."""

from datetime import UTC, datetime, timedelta

import httpx
import pytest

from sandbox.app import create

URL = "https://gateway.example/notifications/1"


class Client:
    """A client whose notification URL answers as a test says."""

    def __init__(self):
        self.sandbox = create(None, public_base="http://sandbox.test")
        self.sandbox.state.outbound.send = self.send
        self.answer, self.urls = lambda token: (200, "text/plain; charset=utf-8", token), []

    async def send(self, url, _kind, _body, _seconds):
        self.urls.append(url)
        return self.answer(httpx.URL(url).params["validationToken"].encode())

    async def call(self, method, path="", body=None, scope="Mail.Read", account="me@b.example"):
        token = self.sandbox.state.tokens.issue("providerB", account, [scope])
        transport = httpx.ASGITransport(self.sandbox)
        async with httpx.AsyncClient(transport=transport, base_url="http://sandbox.test") as client:
            return await client.request(
                method,
                f"/provider-b/v1.0/subscriptions{path}",
                json=body,
                headers={"authorization": f"Bearer {token}"},
            )


@pytest.fixture
def graph():
    client = Client()
    yield client
    for task in client.sandbox.state.outbound.tasks.values():
        task.cancel()


def wanted(minutes=4_000, **changed):
    ends = datetime.now(UTC) + timedelta(minutes=minutes)
    return {
        "changeType": "created,updated,deleted",
        "notificationUrl": URL,
        "lifecycleNotificationUrl": URL,
        "resource": "me/messages",
        "clientState": "x" * 128,
        "expirationDateTime": ends.isoformat(),
        **changed,
    }


@pytest.mark.parametrize(
    ("body", "status"),
    [
        (wanted(10_000), 201),
        (wanted(11_000), 400),
        (wanted(-1), 400),
        (wanted(clientState="x" * 129), 400),
        (wanted(notificationUrl="http://gateway.example/"), 400),
        (wanted(changeType="changed"), 400),
        (wanted(expirationDateTime="soon"), 400),
        (wanted(resource="users/other@b.example/messages"), 403),
        (wanted(unknown=1), 400),
        ({}, 400),
    ],
)
async def test_what_can_be_subscribed_to(graph, body, status):
    answer = await graph.call("POST", body=body)
    assert answer.status_code == status, answer.text
    assert len(graph.urls) == (2 if status == 201 else 0)


@pytest.mark.parametrize(
    "answer",
    [
        lambda token: (202, "text/plain", token),
        lambda token: (200, "text/html", token),
        lambda token: (200, "text/plain", b" " + token),
    ],
)
async def test_an_address_that_does_not_answer_right_is_refused(graph, answer):
    graph.answer = answer
    refused = await graph.call("POST", body=wanted())
    assert (refused.status_code, refused.json()["error"]["code"]) == (400, "ValidationError")


async def test_a_subscription_is_that_of_its_account(graph):
    assert (await graph.call("POST", body=wanted(), scope="Calendars.Read")).status_code == 403
    made = (await graph.call("POST", body=wanted())).json()
    path, later = f"/{made['id']}", {"expirationDateTime": wanted(10_000)["expirationDateTime"]}
    other = await graph.call("PATCH", path, later, account="other@b.example")
    assert other.status_code == 404
    renewed = await graph.call("PATCH", path, later)
    assert renewed.json()["expirationDateTime"] == later["expirationDateTime"]
    assert (await graph.call("PATCH", path, {"clientState": "y"})).status_code == 400
    assert len((await graph.call("GET")).json()["value"]) == 1
    assert (await graph.call("DELETE", path)).status_code == 204
    assert (await graph.call("DELETE", path)).status_code == 404
