"""Mail as real senders write it: every value as the document that each case names asks for."""

import pytest
import pytest_asyncio
import real_cases
import world as worlds
from world import api_id

# Not read right yet.
OPEN = {"cs-meta", "cs-nosemi", "mm-named-only", "mm-html-footer", "mm-apple-split"}
OPEN |= {"mm-inline-pdf", "mm-calendar-alt", "mm-names", "mm-preview-inline", "mm-uu-file"}
CASES = {name: case for name, case in real_cases.cases("read").items() if name not in OPEN}
RECEIVED_MS = 1_790_000_000_000
session_loop = pytest.mark.asyncio(loop_scope="session")


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def readings(world_template, tmp_path_factory):
    """Each case as it is read by REST and by GraphQL."""
    folder = tmp_path_factory.mktemp("shared-real")
    async with worlds.opened(*world_template, folder, rate_limits="off") as world:
        ids = {}
        for name in CASES:
            stored = world.sandbox.state.mails.add(
                "provider-a", real_cases.raw(name), folder="inbox", received_ms=RECEIVED_MS
            )
            ids[name] = api_id("provider-a", stored.immutable_id)
        async with world.client(await world.token({})) as client:
            yield {name: await real_cases.play(client, email_id) for name, email_id in ids.items()}


@session_loop
@pytest.mark.parametrize("name", CASES)
async def test_it_is_read_as_it_was_meant(readings, name):
    case = CASES[name]
    if case.get("only") == "IMAP" and worlds.CODES["PROVIDER_A"] != "IMAP":
        pytest.skip("asked of IMAP alone")
    for email in readings[name]:
        assert real_cases.differences(case["want"], email) == {}, case["why"]
