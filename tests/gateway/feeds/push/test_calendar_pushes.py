"""Mail and calendars of one Microsoft account are registered each, for those who follow them."""

import asyncio

import pytest
from calendar_world import at, meeting
from change_stream import CHANGES, pull, reading
from push_world import rows, until, woken
from sqlalchemy import update
from sqlmodel import select

from gateway.store.further_tables import FeedSubscription
from sandbox.faults import Fault


async def registered(called, *connections):
    """Wait until *connections* are registered, and woken for it."""

    async def are_there():
        known, moments = await rows(called), await woken(called)
        return all(known.get(each) and known[each].name and moments[each] for each in connections)

    await until(are_there)


async def begun(called, holder, surfaces):
    async with called.client(holder) as client:
        answer = await client.get(CHANGES, params={"surfaces": surfaces})
    assert answer.status_code == 200, answer.text
    return answer.json()["cursor"]


async def test_two_connections_of_an_account_are_registered_and_woken_each(
    called, accounts, caller, happen
):
    mail, calendar = accounts["email"], accounts["calendar"]
    holder = await caller(mail, calendar)
    cursor = (await pull(called, holder))["cursor"]
    async with reading(called, holder, since=cursor):
        await registered(called, mail, calendar)
        resources = [each.content["resource"] for each in called.graph.subscriptions.all()]
        assert sorted(resources) == ["me/events", "me/messages"]
        for of, other in (("calendar", "email"), ("email", "calendar")):
            await asyncio.sleep(0.5)
            before = await woken(called)
            happen(of)

            async def is_woken(of=of, before=before):
                return (await woken(called))[accounts[of]] > before[accounts[of]]

            await until(is_woken)
            assert (await woken(called))[accounts[other]] == before[accounts[other]]


async def test_a_stream_registers_what_it_follows(called, accounts, caller, kind):
    holder = await caller(*accounts.values())
    async with reading(called, holder, since=await begun(called, holder, kind)):
        await registered(called, accounts[kind])
        await asyncio.sleep(0.3)
        assert (await rows(called)).keys() == {accounts[kind]}


async def test_a_subscription_registers_and_is_due_for_what_it_follows(called, accounts, kind):
    services = called.services
    settings = {
        "calendarAccessEnabled": True,
        "subscriptionsEnabled": True,
        "allowedConnectionIds": [*accounts.values()],
    }
    async with called.client(await called.world.token(settings)) as client:

        async def subscribe(**surfaces):
            body = {"url": "https://hooks.example/", **surfaces}
            made = await client.post("/api/access/subscriptions", json=body)
            assert made.status_code == 201, made.text
            return await services.wakes.followed()

        assert await subscribe(surfaces=[kind]) == {accounts[kind]}
        assert await subscribe() == set(accounts.values())

    await services.database.execute(update(FeedSubscription).values(due_at=2**43))
    (other,) = (each for of, each in accounts.items() if of != kind)
    await services.wakes.note(other)
    async with services.database.reading() as session:
        due = (await session.exec(select(FeedSubscription.surfaces, FeedSubscription.due_at))).all()
    assert {surfaces for surfaces, at_ms in due if at_ms < 2**43} == {"email,calendar"}


async def test_a_hidden_event_gives_no_row_and_no_event_of_a_stream(called, accounts, caller):
    """The world in which it changes and the one in which nothing does look the same."""
    agendas, calendar = called.agendas, accounts["calendar"]
    shown = (await agendas.ids())["Calendar"]
    holder = await called.world.token(
        {
            "calendarAccessEnabled": True,
            "allowedConnectionIds": [calendar],
            "allowedCalendarIds": [shown],
        }
    )
    cursor = (await pull(called, holder))["cursor"]
    async with reading(called, holder, since=cursor) as reader:
        await registered(called, calendar)
        await asyncio.sleep(0.5)
        silent, (before, answers) = reader.sent, (await woken(called), len(called.graph.answers))
        agendas.plant("club", "secret", meeting(at(1, "09:00"), at(1, "10:00"), "Secret"))

        async def is_woken():
            return (await woken(called))[calendar] > before[calendar]

        await until(is_woken)
        await asyncio.sleep(1)
        assert (reader.sent, called.graph.answers[answers:]) == (silent, [(202, None)])
        assert (await pull(called, holder, cursor))["changes"] == []

        agendas.plant("office", "open", meeting(at(2, "09:00"), at(2, "10:00"), "Open"))
        await reader.until(lambda it: it.events)


@pytest.mark.parametrize("method", ["POST", "PATCH"])
async def test_without_the_permission_polls_go_on(
    called, caller, outlook, happen, monkeypatch, *, method
):
    """Before the first registration, and when one is to be renewed."""
    monkeypatch.setattr(called.services.streams, "poll_seconds", 0.1)
    denied = Fault(kind="403", match="/subscriptions", method=method)
    called.sandbox.upstreams["providerB"].faults.append(denied)
    holder = await caller()
    cursor = (await pull(called, holder))["cursor"]
    async with reading(called, holder, since=cursor) as reader:
        if method == "PATCH":
            await registered(called, outlook)
            await called.graph.subscriptions.tell_of_life("reauthorizationRequired")

        async def failure():
            row = (await rows(called)).get(outlook)
            return row and row.failure and row

        row = await until(failure)
        assert (row.failure, bool(row.name)) == ("other", method == "PATCH")
        happen()
        await reader.until(lambda it: it.events)


def test_what_can_be_waited_for(called):
    waitable = {("email", "IMAP"), ("email", "PROVIDER_B"), ("calendar", "PROVIDER_B")}
    assert called.services.waitable == waitable
