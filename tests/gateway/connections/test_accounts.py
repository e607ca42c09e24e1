"""A request reaches the surfaces it was charged for, and no other connection is opened."""

import gc
import weakref
from types import SimpleNamespace

import pytest

from gateway.connections.accounts import Accounts
from providers.ports.connection import ConnectionInfo

KINDS = {"email": "PROVIDER_A", "calendar": "PROVIDER_A", "tasks": "BOARDS", "collab": "CONTENT"}


@pytest.fixture
def caller():
    return SimpleNamespace(
        bound={},
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
        "gateway.connections.accounts._Ports.open",
        lambda _self, connection: kinds.append(connection.kind) or object(),
    )
    return kinds


@pytest.mark.parametrize("surface", [*KINDS, "graphql"])
def test_only_the_charged_connections_are_opened(caller, opened, surface):
    accounts = Accounts(None, None, None, {})
    accounts.ports_for(caller, {surface: 1})

    assert opened == [surface for _ in range(surface in KINDS)]


def test_a_callers_mailbox_is_merged_once_until_a_connection_changes(caller, opened):
    accounts = Accounts(None, None, None, {})
    first = accounts.mailbox_for(caller)
    assert accounts.mailbox_for(caller) is first
    accounts._kinds = {}
    accounts._origins = accounts._repository = SimpleNamespace(forget=lambda _: None)

    accounts.forget(1)

    assert accounts.mailbox_for(caller) is not first
    assert opened == ["email", "email"]


@pytest.mark.slow
def test_a_caller_that_is_not_used_any_more_is_not_kept():
    """There is another one after each commit, with all that was derived from it."""

    class Caller(SimpleNamespace):
        """A namespace to which there are weak references."""

    accounts, caller = Accounts(None, None, None, {}), Caller(bound={}, connections=())
    accounts.mailbox_for(caller)
    kept = weakref.ref(caller)

    del caller
    gc.collect()

    assert kept() is None
