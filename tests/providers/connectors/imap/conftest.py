"""A Dovecot and a Postfix for the tests of a module, and a mailbox on them."""

import imap_account
import pytest
import pytest_asyncio
from dovecot import dovecot_server
from postfix import postfix_server


@pytest.fixture(scope="module")
def mail_servers():
    with dovecot_server() as dovecot, postfix_server(dovecot, size_limit=300_000) as postfix:
        yield dovecot, postfix


@pytest_asyncio.fixture
async def writer(mail_servers):
    """The emptied mailbox of ada, whose mail the Postfix takes."""
    dovecot, postfix = mail_servers
    async with imap_account.opened(dovecot, postfix=postfix) as account:
        yield account


@pytest_asyncio.fixture
async def receiver(mail_servers):
    """The emptied mailbox of ben."""
    async with imap_account.opened(mail_servers[0], user="ben") as account:
        yield account
