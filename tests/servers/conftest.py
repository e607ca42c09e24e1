"""A Dovecot for the tests of a module, and a mailbox on it that is connected to the gateway."""

import imap_account
import pytest
import pytest_asyncio
from dovecot import dovecot_server


@pytest.fixture(scope="module")
def dovecot():
    with dovecot_server() as server:
        yield server


@pytest.fixture(autouse=True)
def _trusted(dovecot):
    patch = imap_account.trust(dovecot)
    yield
    patch.undo()


@pytest_asyncio.fixture
async def mailbox(dovecot):
    """A mailbox that a test fills."""
    async with imap_account.opened(dovecot) as account:
        yield account


@pytest.fixture
def connect(world, dovecot):
    """Connect a mailbox of the server by the management API; return the answer."""

    async def connect(**changes):
        body = {
            "resourceId": 1,
            "operatorId": world.operator_id,
            "kind": "email",
            "provider": "IMAP",
            "accountEmail": "ada@example.test",
            "baseUrl": dovecot.url(),
            "credentials": {"username": "ada@example.test", "password": "ada-secret"},
        }
        return await world.admin.post("/api/connections", json={**body, **changes})

    return connect
