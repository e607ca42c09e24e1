"""
Mail as real senders write it, behind the other mail provider: the sandbox reads it by own code.

`tests/real_cases/mail/cases.json` names the source of each case.
"""

import pytest
import pytest_asyncio
import real_cases
import world as worlds
from mail_siblings import SIBLINGS
from world import api_id

# Outlook turns calendar parts into meeting requests, which are no attachments.
NOT_BY_OUTLOOK = {"mm-calendar-alt", "calendar alone", "calendar of three alternatives"}
# Mails within mails are named by their subjects; a preview is that of all texts.
OWN_VALUES = {
    "mail within a mail": {"att": [["inner", "message/rfc822"]]},
    "no semicolon before the charset of a part": {"bodyPreview": "При x"},
}
CASES = {
    name: case["want"]
    for name, case in real_cases.cases("read").items()
    if case.get("only") != "IMAP" and name not in NOT_BY_OUTLOOK
} | {
    name: want | OWN_VALUES.get(name, {})
    for name, (_, want) in SIBLINGS.items()
    if name not in NOT_BY_OUTLOOK
}
RECEIVED_MS = 1_790_000_000_000
session_loop = pytest.mark.asyncio(loop_scope="session")


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def readings(world_template, tmp_path_factory):
    """Each case as it is read by REST and by GraphQL."""
    folder = tmp_path_factory.mktemp("shared-real-outlook")
    async with worlds.opened(*world_template, folder, rate_limits="off") as world:
        ids = {}
        for name in CASES:
            raw = SIBLINGS[name][0] if name in SIBLINGS else real_cases.raw(name)
            stored = world.sandbox.state.mails.add(
                "provider-b", raw, folder="inbox", received_ms=RECEIVED_MS
            )
            ids[name] = api_id("provider-b", stored.immutable_id)
        async with world.client(await world.token({})) as client:
            yield {name: await real_cases.play(client, ids[name]) for name in ids}


@session_loop
@pytest.mark.parametrize("name", CASES)
async def test_provider_b_reads_it_as_it_was_meant(readings, name):
    if worlds.CODES["PROVIDER_B"] == "IMAP":
        pytest.skip("asked of provider B alone")
    # Bodies are HTML here, whatever the sender wrote.
    want = {
        "body~" if key == "body" else key: value
        for key, value in CASES[name].items()
        if key != "bodyType"
    }
    for email in readings[name]:
        assert email["bodyType"] == "html"
        assert real_cases.differences(want, email) == {}
