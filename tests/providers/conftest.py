"""Makes the modules beside the tests importable, and opens mailboxes over the sandbox."""

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))  # for the modules beside the tests
pytest.register_assert_rewrite("mailworld", "port_contract", "collabworld")


@pytest.fixture(params=["PROVIDER_A", "PROVIDER_B"])
async def account(request):
    """An empty mailbox of each provider, with the connector under test open on it."""
    from mailworld import opened

    async with opened(request.param) as account:
        yield account


@pytest.fixture
async def account_a():
    from mailworld import opened

    async with opened("PROVIDER_A") as account:
        yield account


@pytest.fixture
async def account_b():
    from mailworld import opened

    async with opened("PROVIDER_B") as account:
        yield account


@pytest.fixture
async def tenant():
    """A small tenant of collaboration content; see `collabworld`."""
    from collabworld import opened

    async with opened() as tenant:
        yield tenant
