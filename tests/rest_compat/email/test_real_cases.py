"""Mail as real senders write it: every value as the document that each case names asks for."""

import pytest
import pytest_asyncio
import real_cases
import world as worlds
from mail_siblings import SIBLINGS
from world import api_id

CASES = real_cases.cases("read")
RECEIVED_MS = 1_790_000_000_000
session_loop = pytest.mark.asyncio(loop_scope="session")


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def readings(world_template, tmp_path_factory):
    """Each case as it is read by REST and by GraphQL."""
    folder = tmp_path_factory.mktemp("shared-real")
    async with worlds.opened(*world_template, folder, rate_limits="off") as world:
        raws = {name: real_cases.raw(name) for name in CASES}
        raws |= {name: raw for name, (raw, _) in SIBLINGS.items()}
        ids = {}
        for name, raw in raws.items():
            stored = world.sandbox.state.mails.add(
                "provider-a", raw, folder="inbox", received_ms=RECEIVED_MS
            )
            ids[name] = api_id("provider-a", stored.immutable_id)
        async with world.client(await world.token({})) as client:
            played = {name: await real_cases.play(client, ids[name]) for name in ids}
            if worlds.CODES["PROVIDER_A"] == "IMAP":  # the quota of Gmail is spent by then
                listed = await real_cases.listing(client)
                for name, (by_rest, by_graphql) in played.items():
                    # A listing has no bodies, and the same in all else.
                    played[name] = [by_rest, by_graphql, {**by_rest, **listed[ids[name]]}]
        yield played


@session_loop
@pytest.mark.parametrize("name", CASES)
async def test_it_is_read_as_it_was_meant(readings, name):
    case = CASES[name]
    if case.get("only") == "IMAP" and worlds.CODES["PROVIDER_A"] != "IMAP":
        pytest.skip("asked of IMAP alone")
    for email in readings[name]:
        assert real_cases.differences(case["want"], email) == {}, case["why"]


@session_loop
@pytest.mark.parametrize("name", SIBLINGS)
async def test_its_relatives_are_read_as_they_were_meant(readings, name):
    for email in readings[name]:
        assert real_cases.differences(SIBLINGS[name][1], email) == {}
