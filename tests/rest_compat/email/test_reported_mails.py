"""Further forms of odd mail, read by REST and by GraphQL: tests/helpers/reported_mails.py."""

import pytest
import pytest_asyncio
import real_cases
import world as worlds
from reported_mails import REPORTED
from world import api_id

# Gmail decodes the words of subjects itself, and what it makes of this charset is not documented.
BY_IMAP_ALONE = {"unknown-8bit"}
RECEIVED_MS = 1_790_000_000_000
session_loop = pytest.mark.asyncio(loop_scope="session")


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def readings(world_template, tmp_path_factory):
    """Each mail as it is read by REST and by GraphQL."""
    folder = tmp_path_factory.mktemp("shared-reported")
    async with worlds.opened(*world_template, folder, rate_limits="off") as world:
        played = {}
        async with world.client(await world.token({})) as client:
            for name, (raw, _) in REPORTED.items():
                stored = world.sandbox.state.mails.add(
                    "provider-a", raw, folder="inbox", received_ms=RECEIVED_MS
                )
                email_id = api_id("provider-a", stored.immutable_id)
                played[name] = await real_cases.play(client, email_id)
        yield played


@session_loop
@pytest.mark.parametrize("name", REPORTED)
async def test_it_is_read_as_it_was_meant(readings, name):
    if name in BY_IMAP_ALONE and worlds.CODES["PROVIDER_A"] != "IMAP":
        pytest.skip("asked of IMAP alone")
    for email in readings[name]:
        assert real_cases.differences(REPORTED[name][1], email) == {}
