"""Commands that remove people and resources revoke the consents of the removed connections."""

import json

import pytest
from sqlmodel import select

from gateway import infrastructure
from gateway.connections import rows as connection_rows
from gateway.demo.world import register_client
from gateway.http.sandbox_mount import in_process
from gateway.secrets.keyring import Keyring
from gateway.store.tables import ConnectionRow, Operator, Resource
from sandbox.app import create
from sandbox.faults import Fault

BASE = "http://gateway.test"
KEY = "k" * 20
REVOKED = "Its consent is revoked at the provider."
UNSUPPORTED = (
    "The provider has no revocation: the account's owner can remove the application in the "
    "account's settings."
)


@pytest.fixture
def sandbox(deployed, environment, monkeypatch):
    """Sandbox upstreams inside this process, which its commands call."""
    environment.setenv("AGW_SANDBOX", "true")
    environment.setenv("AGW_PUBLIC_URL", BASE)
    made = create(None, public_base=f"{BASE}/sandbox")
    register_client(made, BASE)
    open_origins = infrastructure.open_origins
    monkeypatch.setattr(
        "gateway.infrastructure.open_origins",
        lambda settings, **_: open_origins(settings, apps=in_process(settings.origin, made)),
    )
    return made


@pytest.fixture
def consents(rows, sandbox):
    """Connections 1 to 3 of operator "o" and resource 1, and 4 of others; their refresh tokens."""
    for name in ("o", "x"):
        rows.add(Operator(id=name, email=f"{name}@a.example", display_name=name, created_at=0))
        rows.add(Resource(name=name, created_at=0))
    rows.link(operator="o", resource=1)
    accounts = [
        ("email", "PROVIDER_A", "ada@example.org", "o"),
        ("calendar", "PROVIDER_A", "ada@example.org", "o"),
        ("collab", "COLLAB", "ada@example.org", "o"),
        ("email", "PROVIDER_A", "kim@example.org", "x"),
    ]
    upstreams = {"PROVIDER_A": "providerA", "COLLAB": "collab"}
    issued = {}
    for number, (kind, provider, account, owner) in enumerate(accounts, 1):
        refresh = sandbox.state.tokens.issue_refresh(upstreams[provider], account, ("openid",))
        row = ConnectionRow(
            id=number,
            resource_id=1 if owner == "o" else 2,
            operator_id=owner,
            kind=kind,
            provider=provider,
            account_email=account,
            granted_scopes=[],
            status="active",
            selected_site_ids=[],
            can_write=False,
            created_at=0,
            updated_at=0,
        )
        credentials = {"accessToken": "x", "refreshToken": refresh}
        connection_rows.replace(row, credentials, Keyring.read(KEY))
        rows.add(row)
        issued[number] = (upstreams[provider], refresh)
    return issued


def revocations(sandbox):
    calls = sandbox.upstreams["oauth"].calls
    return [call["path"] for call in calls if call["path"].endswith("revoke")]


@pytest.mark.parametrize("words", [("operator", "remove", "o"), ("resource", "remove", 1)])
def test_the_consents_of_removed_connections_are_revoked(run, rows, sandbox, consents, words):
    done = run(*words, "--yes")

    assert done.exit_code == 0, done.stderr
    assert done.stderr.splitlines() == [
        f"{words[0].capitalize()} {words[2]} is removed.",
        f"Connection 1 is removed. {REVOKED}",
        f"Connection 2 is removed. {REVOKED}",
        f"Connection 3 is removed. {UNSUPPORTED}",
    ]
    assert revocations(sandbox) == ["/provider-a/revoke"] * 2
    live = [n for n, issued in consents.items() if sandbox.state.tokens.read_refresh(*issued)]
    assert live == [3, 4]
    assert rows.all(select(ConnectionRow.id)) == [4]


def test_the_results_are_part_of_the_json(run, sandbox, consents):
    done = run("operator", "remove", "o", "--yes", "--json")

    assert json.loads(done.stdout)["consentRevocations"] == [
        {"connectionId": 1, "result": "revoked"},
        {"connectionId": 2, "result": "revoked"},
        {"connectionId": 3, "result": "unsupported"},
    ]


def test_a_revocation_that_fails_removes_the_rows_all_the_same(run, rows, sandbox, consents):
    sandbox.upstreams["oauth"].faults.append(Fault(kind="500", match="revoke"))
    done = run("resource", "remove", 1, "--yes", "--json")

    results = [row["result"] for row in json.loads(done.stdout)["consentRevocations"]]
    assert results == ["failed", "failed", "unsupported"]
    assert rows.all(select(ConnectionRow.id)) == [4]


@pytest.mark.parametrize("words", [("operator", "remove", "nobody"), ("resource", "remove", 9)])
def test_a_removal_of_nothing_revokes_nothing(run, rows, sandbox, consents, words):
    refused = run(*words, "--yes")

    assert (refused.exit_code, revocations(sandbox)) == (1, [])
    assert rows.all(select(ConnectionRow.id)) == [1, 2, 3, 4]
