"""The sandbox's subscriptions of Microsoft Graph are as strict as the service's."""

import asyncio
import json
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import httpx
import pytest
from push_world import until

from sandbox.app import create
from sandbox.calendar.records import EventContent, NewEvent, Recurrence, from_instant
from sandbox.mail.ids import PROVIDER_B, SHARED_B

URL = "https://gateway.example/notifications/1"


class Client:
    """A client whose notification URL answers as a test says."""

    def __init__(self):
        self.sandbox = create(None, public_base="http://sandbox.test")
        self.sandbox.state.outbound.send = self.send
        self.answer, self.urls = lambda token: (200, "text/plain; charset=utf-8", token), []
        self.told, self.status = [], 202

    async def send(self, url, _kind, body, _seconds):
        if body:
            self.told.append(json.loads(body)["value"])
            return self.status, "", b""
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
        (wanted(resource="me/events"), 403),
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


SCOPES = ["Calendars.Read", "Calendars.ReadWrite", "Calendars.Read.Shared", "Mail.Read"]


@pytest.mark.parametrize("scope", SCOPES)
async def test_events_need_a_scope_for_own_calendars(graph, scope):
    status = 201 if scope in SCOPES[:2] else 403
    answer = await graph.call("POST", body=wanted(resource="/me/events"), scope=scope)
    assert answer.status_code == status
    if status == 201:
        path, later = (
            f"/{answer.json()['id']}",
            {"expirationDateTime": wanted()["expirationDateTime"]},
        )
        assert (await graph.call("PATCH", path, later)).status_code == 404
        assert (await graph.call("GET")).json() == {"value": []}
        assert (await graph.call("PATCH", path, later, scope=scope)).status_code == 200


@pytest.mark.parametrize(
    "resource", ["me/calendars/1/events", "me/calendar/events", "me/calendars"]
)
async def test_single_calendars_are_refused(graph, resource):
    answer = await graph.call("POST", body=wanted(resource=resource), scope="Calendars.Read")
    assert (answer.status_code, graph.urls) == (403, [])


async def test_events_of_all_own_calendars_are_told(graph):
    store = graph.sandbox.state.calendars
    default = store.add_calendar(PROVIDER_B, "Calendar", zone="UTC", is_primary=True)
    other = store.add_calendar(PROVIDER_B, "Club", zone="UTC")
    foreign = store.add_calendar(PROVIDER_B, "Bo", zone="UTC", can_edit=False)
    shared = store.add_calendar(SHARED_B, "Calendar", zone="UTC", is_primary=True)
    start, end = (from_instant(datetime(2027, 1, 1, hour, tzinfo=UTC)) for hour in (9, 10))
    new = NewEvent(content=EventContent(start=start, end=end, title="Talk"))
    weekly = replace(new, recurrence=Recurrence(rules=("FREQ=WEEKLY",)))
    (before,) = store.add_events(default, [new])
    made = await graph.call("POST", body=wanted(resource="me/events"), scope="Calendars.Read")

    async def told(count):
        """Return what is told of each event, after *count* notifications in all."""
        await until(lambda: len(graph.told) >= count)
        await asyncio.sleep(0.2)
        assert len(graph.told) == count
        return {item["resourceData"]["id"]: item["changeType"] for item in graph.told[-1]}

    for calendar in (foreign, shared):
        store.add_events(calendar, [new])
    await asyncio.sleep(0.2)
    assert graph.told == []
    changed = store.put(replace(before, content=replace(before.content, title="Speech")))
    (talk,), (series,) = store.add_events(default, [new]), store.add_events(other, [weekly])
    assert await told(1) == {before.id: "updated", talk.id: "created", series.id: "created"}
    (item,) = (each for each in graph.told[0] if each["resourceData"]["id"] == series.id)
    assert item == {
        "subscriptionId": made.json()["id"],
        "subscriptionExpirationDateTime": made.json()["expirationDateTime"],
        "clientState": "x" * 128,
        "tenantId": item["tenantId"],
        "changeType": "created",
        "resource": f"Users/me@b.example/Events/{series.id}",
        "resourceData": {
            "@odata.type": "#Microsoft.Graph.Event",
            "@odata.id": f"Users/me@b.example/Events/{series.id}",
            "id": series.id,
        },
    }
    series = store.set_override(series, start, None, cancelled=True)
    assert await told(2) == {series.id: "updated"}

    graph.status = 503
    store.delete(changed)
    await until(lambda: len(graph.told) >= 4)
    graph.status = 202
    await asyncio.sleep(0.3)
    assert await told(len(graph.told)) == {changed.id: "deleted"}
