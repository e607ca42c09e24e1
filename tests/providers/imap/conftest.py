"""A Dovecot for the tests of a module, and sessions with it."""

import asyncio

import pytest
import pytest_asyncio
from dovecot import dovecot_server
from imap_account import trust

from providers.imap.endpoints import Endpoint
from providers.imap.session import Account, Session


@pytest.fixture(scope="module")
def dovecot():
    with dovecot_server() as server:
        yield server


@pytest.fixture(autouse=True)
def _trusted(dovecot):
    patch = trust(dovecot)
    yield
    patch.undo()


@pytest.fixture
def account(dovecot):
    """Return the account of a user, over TLS from the first byte unless told otherwise."""

    def make(user="ada", password=None, *, tls=True):
        endpoint = Endpoint.parse(dovecot.url(tls=tls), "imap")
        return Account(endpoint, f"{user}@example.test", password or f"{user}-secret")

    return make


@pytest_asyncio.fixture
async def session(account):
    opened = await Session.connect(account())
    yield opened
    opened.close()
    await asyncio.sleep(0.01)  # the socket closes in the next rounds of the loop
