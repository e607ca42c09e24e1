"""Connectors are imported for the connections that there are, and no others."""

import subprocess
import sys

import pytest

from gateway.connections import rows as connection_rows
from gateway.connections.accounts import Accounts
from gateway.store.database import StorageUnavailable
from providers import registry
from providers.catalogue import tables as catalogue
from providers.catalogue.descriptors import resolve


@pytest.fixture
def loaded(monkeypatch):
    """The kinds and providers whose connectors were asked for."""
    connectors = []
    monkeypatch.setattr(registry, "load", lambda *connector: connectors.append(connector))
    return connectors


def test_the_references_of_each_descriptor_lead_to_code():
    """A descriptor names code by texts, which neither the linter nor the type checker reads."""
    references = [
        reference
        for connector in catalogue.CONNECTORS.values()
        for part in (*connector.services, connector.http)
        if part is not None
        for name in ("port", "checks", "addresses", "account", "classify")
        if (reference := getattr(part, name, ""))
    ]

    assert all(resolve(reference) for reference in references)
    assert len(references) == 29


async def test_a_start_imports_the_connectors_of_the_stored_connections(
    database, connected, loaded
):
    await connected(provider="PROVIDER_B")
    async with Accounts(None, None, database, {}).running():
        assert loaded == [("email", "PROVIDER_B")]


async def test_a_start_goes_on_when_the_database_does_not_answer(database, loaded, monkeypatch):
    async def fail(_database):
        raise StorageUnavailable

    monkeypatch.setattr(connection_rows, "kinds_and_providers", fail)
    async with Accounts(None, None, database, {}).running():
        assert loaded == []


@pytest.mark.slow  # a process that imports the server
def test_a_worker_without_connections_has_no_connector():
    script = (
        "import sys, gateway.server\n"
        "from providers import registry\n"
        "from providers.catalogue import tables as catalogue\n"
        "names = [service.port.split(':')[0] for service in catalogue.SERVICES.values()]\n"
        "before = [name for name in names if name in sys.modules]\n"
        "registry.load('email', 'IMAP')\n"
        "registry.load('email', 'ABSENT')\n"
        "print(before, [name for name in names if name in sys.modules])\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )

    assert done.stdout == "[] ['providers.connectors.imap.mailbox']\n"
