"""The IMAP session against a real server: login, encryption, literals, failures."""

import asyncio

import pytest
from dovecot import dovecot_server
from imap_account import trust

from providers.failures import NeedsReauth, Throttled, TimedOut, Unreachable
from providers.imap.endpoints import Endpoint, Security
from providers.imap.pool import SessionPool
from providers.imap.session import Account, Disconnected, OpenFolder, Rejected, Session, astring

MAIL = b"Subject: Lease\r\nMessage-ID: <1@example.test>\r\n\r\nfirst line\r\n"


@pytest.mark.parametrize("tls", [True, False], ids=["TLS", "STARTTLS"])
async def test_a_session_is_logged_in(account, tls):
    session = await Session.connect(account(tls=tls))

    assert {"IMAP4REV1", "SORT", "UIDPLUS"} <= session.capabilities
    assert "STARTTLS" not in session.capabilities
    session.close()


async def test_a_wrong_password_needs_the_owner(account):
    with pytest.raises(NeedsReauth):
        await Session.connect(account(password="wrong"))


async def test_a_certificate_of_another_name_is_refused(dovecot):
    endpoint = Endpoint("127.0.0.1", dovecot.tls_port, Security.TLS)
    with pytest.raises(Unreachable):
        await Session.connect(Account(endpoint, "ada@example.test", "ada-secret"))


async def test_messages_come_back_as_they_were_stored(session):
    await session.command("APPEND", "Drafts", MAIL)
    await session.command("SELECT", "Drafts")
    rows = await session.fetch("1:*", "BODY.PEEK[] BODY.PEEK[HEADER.FIELDS (SUBJECT)] FLAGS")

    (row,) = rows.values()
    assert row["BODY[]"] == MAIL
    assert row["BODY[HEADER.FIELDS (SUBJECT)]"] == b"Subject: Lease\r\n\r\n"
    assert b"\\Seen" not in row["FLAGS"]


async def test_a_refused_command_says_its_code_and_the_session_goes_on(session):
    with pytest.raises(Rejected) as refused:
        await session.command("APPEND", astring("No such folder"), MAIL)
    assert (refused.value.code, refused.value.is_syntax) == ("TRYCREATE", False)

    with pytest.raises(Rejected) as refused:
        await session.command("NONSENSE")
    assert refused.value.is_syntax
    assert (await session.command("NOOP")).status.startswith(b"OK")


async def test_a_refused_literal_is_not_sent(session):
    session.capabilities = frozenset()  # a server without LITERAL+
    with pytest.raises(Rejected):
        await session.command("APPEND", astring("No such folder"), MAIL)
    assert (await session.command("NOOP")).status.startswith(b"OK")


async def test_a_cancelled_command_ends_the_session(session, dovecot):
    dovecot.freeze()
    try:
        task = asyncio.create_task(session.command("NOOP"))
        await asyncio.sleep(0.1)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
    finally:
        dovecot.thaw()
    with pytest.raises(Disconnected) as failure:
        await session.command("NOOP")
    assert failure.value.sent is False


async def test_a_frozen_server_is_a_timeout(session, dovecot):
    dovecot.freeze()
    try:
        with pytest.raises(TimedOut):
            await session.command("NOOP", seconds=0.2)
    finally:
        dovecot.thaw()


async def test_a_pool_lends_the_session_with_the_folder_open(account):
    pool = SessionPool()
    async with pool.session(account()) as first, pool.session(account()) as second:
        await first.command("SELECT", "Sent")
        first.selected = OpenFolder(b"Sent", is_writable=True, uid_validity=1)
    async with pool.session(account(), b"Sent") as third:
        assert third is first
    async with pool.session(account(), b"Trash") as fourth:
        assert fourth in (first, second)
    pool.close()


async def test_a_pool_opens_no_more_sessions_than_allowed(account):
    pool, running, most = SessionPool(max_sessions=2), 0, 0

    async def use():
        nonlocal running, most
        async with pool.session(account()) as session:
            running += 1
            most = max(most, running)
            await session.command("NOOP")
            running -= 1

    await asyncio.gather(*(use() for _ in range(10)))
    pool.close()

    assert most == 2


async def test_a_pool_replaces_the_sessions_of_a_killed_server(account, dovecot):
    pool = SessionPool()
    async with pool.session(account()) as session:
        await session.command("NOOP")
    dovecot.kill()
    dovecot.start()

    reply = await pool.read(account(), lambda session: session.command("NOOP"))
    pool.close()

    assert reply.status.startswith(b"OK")


async def test_a_changed_password_holds_at_the_next_use(account):
    pool = SessionPool()
    async with pool.session(account()):
        pass
    with pytest.raises(NeedsReauth):
        async with pool.session(account(password="old")):
            pass
    pool.close()


async def test_too_many_connections_are_a_throttle():
    with dovecot_server(max_connections=1) as server:
        account = Account(Endpoint.parse(server.url(), "imap"), "ada@example.test", "ada-secret")
        patch = trust(server)
        first = await Session.connect(account)
        with pytest.raises(Throttled):
            await Session.connect(account)
        patch.undo()
        first.close()
