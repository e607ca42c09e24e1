"""Waiting for changes of an inbox on a real Dovecot (RFC 2177)."""

import asyncio
import time

import changing_imap
import imap_account
import pytest
import pytest_asyncio
from dovecot import dovecot_server

from providers.connectors.imap.changes import waiting
from providers.failures import Inaccessible, ProviderFailure

pytestmark = pytest.mark.slow  # waits
LONG = 20.0  # seconds; no test waits so long


@pytest.fixture(scope="module")
def dovecot():
    with dovecot_server() as server:
        yield server


@pytest_asyncio.fixture
async def account(dovecot):
    async with imap_account.opened(dovecot) as account:
        yield account


async def begin(account, seconds=LONG):
    """Begin to wait once the connection is there; return the wait, which idles by then."""
    assert await account.port.changes.wait_for_change(0.1)  # what came before is not known
    wait = asyncio.create_task(account.port.changes.wait_for_change(seconds))
    await asyncio.sleep(0.2)
    assert not wait.done()
    return wait


async def flag(account):
    await account.session.command("SELECT INBOX")
    await account.session.command("UID STORE 1:* +FLAGS (\\Flagged)")


async def expunge(account):
    await account.session.command("SELECT INBOX")
    await account.session.command("UID STORE 1:* +FLAGS.SILENT (\\Deleted)")
    await account.session.command("EXPUNGE")


async def deliver(account):
    await account.add("New")


@pytest.mark.parametrize("change", [deliver, flag, expunge])
async def test_a_change_of_the_inbox_ends_the_wait(account, change):
    await account.add("Old")
    wait = await begin(account)
    await change(account)

    assert await asyncio.wait_for(wait, LONG)
    assert not await account.port.changes.wait_for_change(0.3)


async def test_a_quiet_inbox_and_another_folder_do_not_end_it(account):
    wait = await begin(account, seconds=0.6)
    await account.add("Filed", folder="sent")

    assert not await wait


async def test_a_change_between_two_waits_ends_the_second(account):
    wait = await begin(account, seconds=0.3)
    assert not await wait
    await account.add("New")

    assert await account.port.changes.wait_for_change(LONG)


async def test_idle_is_given_anew(account, dovecot, monkeypatch):
    monkeypatch.setattr(waiting, "RENEW_SECONDS", 0.2)
    dovecot.forget_sessions("ada")
    wait = await begin(account)
    await asyncio.sleep(0.5)
    await account.add("New")

    assert await wait
    commands = [line.split(b" ")[-1] for line in dovecot.commands("ada").splitlines()]
    assert commands[:2] == [b"NAMESPACE", b'"INBOX"']
    assert commands.count(b"IDLE") == commands.count(b"DONE") >= 3


async def test_a_server_that_goes_away_ends_the_wait(account, dovecot):
    wait = await begin(account)
    dovecot.kill()
    try:
        with pytest.raises(ProviderFailure):
            await asyncio.wait_for(wait, LONG)
    finally:
        dovecot.start()


async def test_without_idle_there_is_no_wait():
    async with changing_imap.opened() as (server, mailbox, _):
        with pytest.raises(Inaccessible):
            await mailbox.changes.wait_for_change(LONG)
        assert not [line for line in server.heard if line.startswith(("IDLE", "EXAMINE"))]


async def test_the_time_of_a_wait_is_no_time_of_the_server(dovecot, account):
    events = []

    def note(method, outcome, began):
        events.append((method, outcome, time.perf_counter() - began))

    noting = imap_account.Account(
        account.account.endpoint, account.account.username, account.account.password, note
    )
    session = await waiting.IdleSession.connect(noting)
    await session.command("EXAMINE INBOX")
    session.has_changed = False

    assert not await session.idle(0.4)
    session.close()
    await asyncio.sleep(0.01)  # the socket closes in the next rounds of the loop
    method, outcome, seconds = events[-1]
    assert (method, outcome) == ("IDLE", "200")
    assert seconds < 0.3
