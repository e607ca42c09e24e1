"""Settings of single calendar accounts by REST, and what explain says of them."""

import calendar_world
import pytest
import pytest_asyncio
from calendar_world import UPSTREAMS, at, meeting

pytestmark = pytest.mark.asyncio(loop_scope="module")


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def standing(world_template, tmp_path_factory):
    async with calendar_world.open_shared(
        world_template, tmp_path_factory.mktemp("rights")
    ) as agendas:
        agendas.plant("work", "walk", meeting(at(0, "15:00"), at(0, "16:00"), "Walk"))
        agendas.plant("office", "talk", meeting(at(0, "14:00"), at(0, "15:00"), "Talk"))
        yield agendas


@pytest.fixture
def agendas(standing):
    standing.world.forget_calls()
    return standing


async def narrowed(agendas, **settings):
    """Return a token whose account of provider A has *settings*, and the id of the account."""
    connection = agendas.connections["PROVIDER_A"]
    return await agendas.token(accounts={str(connection): settings}), connection


async def test_events_of_one_account_are_masked_and_those_of_the_other_are_not(agendas):
    token, _ = await narrowed(agendas, visibleCalendarFields=["times"])

    page = (await agendas.get("/events", token)).json()
    searched = (await agendas.get("/events", token, q="talk")).json()

    titles = [each["title"] for each in page["events"]]
    assert "Talk" in titles
    assert None in titles
    assert "Walk" not in titles
    assert [each["title"] for each in searched["events"]] == ["Talk"]


async def test_a_field_that_one_account_hides_is_not_requested_of_it(agendas):
    token, _ = await narrowed(agendas, visibleCalendarFields=["times"])

    await agendas.get("/events", token)
    await agendas.get("/events", token, q="talk")

    calls = agendas.world.sandbox.upstreams[UPSTREAMS["PROVIDER_A"]].calls
    listings = [text for text in map(str, calls) if "/events" in text]
    assert listings
    assert not any("summary" in text for text in listings)


async def test_explain_names_the_setting_of_the_account(agendas):
    """Refusal by all accounts; the change that it names lets the call pass."""
    world = agendas.world
    both = {str(each): {"calendarAccessLevel": "free_busy_only"} for each in world_ids(agendas)}
    body = {
        "name": "t",
        "operatorId": world.operator_id,
        "resourceIds": [1],
        "settings": {"calendarAccessEnabled": True, "accounts": both},
    }
    made = (await world.admin.post("/api/access-tokens", json=body)).json()
    url = f"/api/access-tokens/{made['id']}"
    call = {"method": "GET", "path": "/api/access/calendar/events"}

    answer = (await world.admin.post(f"{url}/explain", json=call)).json()

    first = world_ids(agendas)[0]
    assert answer["error"] == "ACCESS_DENIED"
    assert f"accounts.{first}.calendarAccessLevel" in answer["change"]["text"]
    changed = await world.admin.patch(url, json={"settings": answer["change"]["settings"]})
    assert changed.status_code == 200, changed.text
    assert (await agendas.get("/events", made["token"])).status_code == 200


def world_ids(agendas):
    return sorted(agendas.connections.values())
