"""A mailbox on a Dovecot that a test fills, and the connector open on it."""

import asyncio
import secrets
import ssl
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import timedelta

import pytest
from mail_upstreams import NOON, SearchedMailbox, raw

from providers.connectors.imap.account_memory import AccountMemory
from providers.connectors.imap.mailbox import ImapMailbox
from providers.connectors.imap.message_ids import KEY_BYTES, MessageIds
from providers.connectors.imap.sign_in import SignIn
from providers.imap import session as imap_session
from providers.imap import submission
from providers.imap.endpoints import Endpoint
from providers.imap.session import Account, Session, astring
from providers.ports.connection import ConnectionInfo

FOLDERS = {"inbox": "INBOX", "sent": "Sent", "drafts": "Drafts", "trash": "Trash", "spam": "Junk"}


@dataclass
class ImapAccount(SearchedMailbox):
    """
    One mailbox.

    Attributes:
        port: The connector under test.
        session: A session of the test's own.
    """

    port: ImapMailbox
    session: Session
    ids: MessageIds
    memory: AccountMemory
    account: Account

    async def add(self, subject, *, at=0, folder="inbox", labels=(), read=False, **made):
        """Add a message received *at* seconds after noon."""
        return await self.add_raw(
            raw(subject, **made), at=at, folder=folder, labels=labels, read=read
        )

    async def add_raw(self, content, *, at=0, folder="inbox", labels=(), read=False):
        from providers.connectors.imap.modified_utf7 import encode_keyword

        flags = " ".join([*map(encode_keyword, labels), *(["\\Seen"] if read else [])])
        received = NOON + timedelta(seconds=at)
        await self.session.command(
            "APPEND",
            astring(FOLDERS.get(folder, folder)),
            f"({flags})",
            received.strftime('"%d-%b-%Y %H:%M:%S +0000"'),
            content.replace(b"\r\n", b"\n").replace(b"\n", b"\r\n"),
        )

    async def empty(self):
        """Delete every message and every folder of the owner's own."""
        from providers.connectors.imap.folders import read_folders

        for folder in await read_folders(self.session):
            if folder.messages:
                await self.session.command("SELECT", astring(folder.name))
                await self.session.command("STORE 1:* +FLAGS.SILENT (\\Deleted)")
                await self.session.command("CLOSE")
            if folder.name.decode() not in FOLDERS.values():
                await self.session.command("DELETE", astring(folder.name))


def trust(dovecot):
    """Return a patch by which sessions trust the certificate of a server."""
    context = ssl.create_default_context(cafile=str(dovecot.certificate))
    patch = pytest.MonkeyPatch()
    for client in (imap_session, submission):
        patch.setattr(client, "tls_context", lambda: context)
    return patch


@asynccontextmanager
async def opened(dovecot, user="ada", *, postfix=None, keep=False):
    """
    Open the mailbox of a user, emptied unless *keep*.

    *postfix* takes its outgoing mail.
    """
    patch = trust(dovecot)
    account = Account(
        Endpoint.parse(dovecot.url(), "imap"), f"{user}@example.test", f"{user}-secret"
    )
    submission_account = None
    if postfix is not None:
        server = Endpoint.parse(postfix.url(), "smtp")
        submission_account = Account(server, account.username, account.password)
    ids, memory = MessageIds(secrets.token_bytes(KEY_BYTES)), AccountMemory()
    port = mailbox_port(account, ids, memory, submission_account)
    session = await Session.connect(account)
    mailbox = ImapAccount(port, session, ids, memory, account)
    try:
        if not keep:
            await mailbox.empty()
        yield mailbox
    finally:
        session.close()
        memory.close()
        patch.undo()
        await asyncio.sleep(0.01)  # the sockets close in the next rounds of the loop


def mailbox_port(account, ids, memory, submission_account=None):
    """Return the connector open on an account."""

    async def current():
        return SignIn(account, ids, no_op, submission_account)

    async def no_op():
        pass

    info = ConnectionInfo(
        id=1,
        resource_id=1,
        kind="email",
        provider="IMAP",
        account_email=account.username,
        can_write=True,
        base_url="",
    )
    return ImapMailbox(info, current, memory)


@asynccontextmanager
async def mailbox_at(url):
    """Open the connector on a server without TLS that takes any login; yield its ids too."""
    account = Account(Endpoint.parse(url, "imap"), "ada@example.test", "secret")
    ids, memory = MessageIds(secrets.token_bytes(KEY_BYTES)), AccountMemory()
    try:
        yield mailbox_port(account, ids, memory), ids
    finally:
        memory.close()
        await asyncio.sleep(0.01)  # the sockets close in the next rounds of the loop
