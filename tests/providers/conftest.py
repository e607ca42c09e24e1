"""Mailboxes and content over the sandbox upstreams."""

import pytest


@pytest.fixture(params=["PROVIDER_A", "PROVIDER_B", "PROVIDER_B shared"])
async def account(request):
    """An empty mailbox of each provider, with the connector under test open on it."""
    from mail_upstreams import opened

    provider, _, is_shared = request.param.partition(" ")
    rights = ("full-access", "send-as") if is_shared else None
    async with opened(provider, rights=rights) as account:
        yield account


@pytest.fixture
async def account_a():
    from mail_upstreams import opened

    async with opened("PROVIDER_A") as account:
        yield account


@pytest.fixture
async def account_b():
    from mail_upstreams import opened

    async with opened("PROVIDER_B") as account:
        yield account


@pytest.fixture
async def tenant():
    """A small tenant of collaboration content; see `collab_upstream`."""
    from collab_upstream import opened

    async with opened() as tenant:
        yield tenant
