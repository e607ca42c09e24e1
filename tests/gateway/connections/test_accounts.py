"""A request reaches the surfaces it was charged for, and no other connection is opened."""

from types import SimpleNamespace

import pytest

from gateway.connections.accounts import Accounts
from providers.ports.connection import ConnectionInfo

KINDS = {"email": "PROVIDER_A", "calendar": "PROVIDER_A", "tasks": "BOARDS", "collab": "COLLAB"}


@pytest.fixture
def caller():
    return SimpleNamespace(
        excludes=lambda _: False,
        connections=[
            ConnectionInfo(
                id=number,
                resource_id=1,
                kind=kind,
                provider=provider,
                account_email="o@example.org",
                base_url="http://upstream.invalid",
            )
            for number, (kind, provider) in enumerate(KINDS.items(), 1)
        ],
    )


@pytest.fixture
def opened(monkeypatch):
    """The kinds of connections that were opened."""
    kinds = []
    monkeypatch.setattr(
        "providers.registry.PortRegistry.open",
        lambda _self, connection: kinds.append(connection.kind) or object(),
    )
    return kinds


@pytest.mark.parametrize("surface", [*KINDS, "graphql"])
def test_only_the_charged_connections_are_opened(caller, opened, surface):
    accounts = Accounts(None, None, None, {})
    accounts.ports_for(caller, {surface: 1})

    assert opened == [surface for _ in range(surface in KINDS)]
