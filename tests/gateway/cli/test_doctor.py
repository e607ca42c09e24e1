"""`doctor`: each check is ok, warn or fail, and says what to do; it changes nothing."""

import json
import socket
import stat

import pytest
from database_servers import redis_server
from held_rows import held_row
from sqlalchemy import delete, insert

from gateway.secrets.keyring import Keyring, column_context
from gateway.store import sqlite, timestamps
from gateway.store.further_tables import ApproverRow, PushRegistration, WebhookTarget
from gateway.store.tables import (
    AccessToken,
    ConnectionRow,
    LeaseRow,
    Operator,
    OperatorResource,
    Resource,
)

KEY = "k" * 20
NAMES = [
    "settings",
    "version",
    "variables",
    "essentials",
    "secrets",
    "data folder",
    "pages",
    "sqlite",
    "processes",
    "address",
    "oauth clients",
    "database",
    "redis",
    "schema",
    "clock",
    "serving",
    "credentials",
    "credentials' ends",
    "decision log",
    "connections",
    "tokens",
    "held writes",
    "webhooks",
    "notifications",
    "providers",
    "own servers",
]


@pytest.fixture
def checks(run):
    """Run it; return its exit code, and outcome, detail and remedy by name."""

    def checking(*words):
        result = run("doctor", "--json", *words)
        report = json.loads(result.stdout)
        assert report["ok"] is (result.exit_code == 0)
        return result.exit_code, {
            check["name"]: (check["outcome"], check["detail"], check["remedy"])
            for check in report["checks"]
        }

    return checking


def connection(number, *, status="active", key=KEY, base_url=None):
    return ConnectionRow(
        resource_id=1,
        operator_id="o",
        kind="email",
        provider="PROVIDER_A",
        account_email="o@example.org",
        granted_scopes=[],
        can_write=False,
        status=status,
        base_url=base_url,
        selected_site_ids=[],
        credentials=Keyring([key]).encrypt(
            b"{}", context=column_context("connections", number, "credentials")
        ),
        created_at=0,
        updated_at=0,
    )


@pytest.fixture
def people(rows):
    """The store with an operator and a resource."""
    rows.add(Operator(id="o", email="o@example.org", display_name="O", created_at=0))
    rows.add(Resource(name="r", created_at=0))
    rows.link(operator="o", resource=1)
    return rows


@pytest.mark.parametrize("kind", ["sqlite", pytest.param("postgresql", marks=pytest.mark.slow)])
def test_a_healthy_deployment_passes_every_check(deployed, checks, tmp_path):
    for file in tmp_path.glob("*.db"):
        file.chmod(0o600)
    code, outcomes = checks()

    assert (code, list(outcomes)) == (0, NAMES)
    assert {outcome for outcome, _, _ in outcomes.values()} == {"ok"}
    assert {remedy for _, _, remedy in outcomes.values()} == {None}


def test_doctor_creates_nothing(environment, checks, tmp_path):
    code, outcomes = checks()

    assert code == 0
    assert outcomes["database"][0] == "warn"
    assert outcomes["data folder"] == ("ok", f"{tmp_path} can be written", None)
    assert list(tmp_path.iterdir()) == []


def test_doctor_writes_one_line_per_check(environment, run):
    environment.delenv("AGW_ADMIN_TOKEN")
    shown = run("doctor")

    assert (shown.exit_code, shown.stderr) == (1, "1 of 13 checks failed.\n")
    lines = shown.stdout.splitlines()
    assert lines[1].startswith("ok    version      ")
    assert lines[3].startswith("warn  essentials   set: ")
    assert lines[4].strip().startswith("Set AGW_ADMIN_TOKEN.")
    assert [lines[0], lines[2], *lines[5:7]] == [
        "ok    settings     read",
        "ok    variables    each AGW_ variable is a setting",
        "fail  secrets      AGW_ADMIN_TOKEN is needed: a secret of at least 16 characters.",
        "                   `access-gateway secret new` makes one.",
    ]


@pytest.mark.parametrize(
    ("settings", "name", "outcome", "message"),
    [
        pytest.param({"PORT": "many"}, "settings", "fail", "AGW_PORT", id="an unreadable setting"),
        pytest.param(
            {"WORKRES": "2"}, "variables", "warn", "AGW_WORKERS", id="an unknown variable"
        ),
        pytest.param({"RATE_LIMITS": "off"}, "settings", "warn", "no rate limits", id="no limits"),
        pytest.param({"SECRET_KEYS": "weak"}, "secrets", "fail", "at least 16", id="a weak key"),
        pytest.param({"SECRET_KEYS": f"{KEY},{KEY}"}, "secrets", "warn", "twice", id="one twice"),
        pytest.param(
            {"SECRET_KEYS": "a" * 20}, "secrets", "warn", "also a secret key", id="one for both"
        ),
        pytest.param({"DATA_DIR": "/dev/null"}, "data folder", "fail", "not a folder", id="a file"),
        pytest.param({"WORKERS": "2"}, "processes", "warn", "without Redis", id="no Redis"),
        pytest.param({"PROCESSES": "2"}, "processes", "fail", "a file", id="a file for machines"),
        pytest.param({"HOST": "0.0.0.0"}, "address", "warn", "links", id="everywhere"),
        pytest.param({"PORT": "0"}, "address", "warn", "every start", id="any port"),
        pytest.param(
            {"DATABASE_URL": "what?"}, "database", "fail", "not a valid database URL", id="no URL"
        ),
        pytest.param({"REDIS_URL": "redis://127.0.0.1:1/0"}, "redis", "fail", "", id="silence"),
        pytest.param(
            {"REDIS_URL": "what?"}, "redis", "fail", "not a valid address", id="no address"
        ),
    ],
)
def test_each_problem_is_found_and_has_a_remedy(  # noqa: PLR0917
    environment, checks, settings, name, outcome, message
):
    for setting, value in settings.items():
        environment.setenv(f"AGW_{setting}", value)
    code, outcomes = checks("--offline")

    assert (outcomes[name][0], code) == (outcome, int(outcome == "fail"))
    assert message in outcomes[name][1]
    assert outcomes[name][2]


PROCESSES = ("alpha:7", "beta:9")
SEVERAL = "2 processes serve one database "


@pytest.fixture
def leases(people):
    """Store leases of processes that serve the database, for the next minute."""

    def serve(*names):
        until = timestamps.now_ms() + 60_000
        stored = [{"name": f"serving:{name}", "holder": name, "until": until} for name in names]
        people.change(insert(LeaseRow).values(stored))

    return serve


@pytest.mark.parametrize("kind", ["sqlite", pytest.param("postgresql", marks=pytest.mark.slow)])
def test_serving_processes_that_share_too_little_are_found(kind, leases, checks):
    assert checks("--offline")[1]["serving"] == ("ok", "no process serves this database now", None)
    leases(PROCESSES[0])
    assert checks("--offline")[1]["serving"] == ("ok", "alpha (process 7)", None)
    leases(PROCESSES[1])
    needed = "AGW_DATABASE_URL (PostgreSQL) and " if kind == "sqlite" else ""
    assert checks("--offline")[1]["serving"] == (
        "warn",
        f"{SEVERAL}without Redis: each counts every rate limit for itself: "
        "alpha (process 7), beta (process 9)",
        f"Set {needed}AGW_REDIS_URL, or serve with one process.",
    )


@pytest.mark.parametrize("kind", ["sqlite", pytest.param("postgresql", marks=pytest.mark.slow)])
def test_serving_processes_with_redis(kind, leases, checks, environment):
    environment.setenv("AGW_REDIS_URL", "redis://127.0.0.1:1/0")  # it need not answer for this
    leases(*PROCESSES)
    outcome, detail, remedy = checks("--offline")[1]["serving"]
    assert (outcome, remedy) == (
        "warn",
        "Set AGW_DATABASE_URL (PostgreSQL), or serve with one process."
        if kind == "sqlite"
        else "Set AGW_PROCESSES=2: while Redis is lost, each allows its part of a limit.",
    )
    assert detail.endswith(": alpha (process 7), beta (process 9)")

    if kind == "postgresql":
        environment.setenv("AGW_PROCESSES", "2")
        outcomes = checks("--offline")[1]
        assert outcomes["serving"] == ("ok", "alpha (process 7), beta (process 9)", None)
        assert outcomes["processes"][0] == "ok"


def test_an_old_sqlite_is_a_warning(environment, checks, monkeypatch):
    environment.setenv("AGW_WORKERS", "2")
    monkeypatch.setattr(sqlite, "version", lambda: (3, 40, 1))
    code, outcomes = checks()

    assert (code, outcomes["sqlite"][0], outcomes["processes"][0]) == (1, "warn", "fail")


def test_files_readable_by_others_are_reported(deployed, checks, tmp_path):
    (tmp_path / "gateway.db").chmod(0o644)
    _, outcomes = checks()

    assert outcomes["data folder"] == ("warn", "others may read gateway.db", "chmod 600 gateway.db")
    assert stat.S_IMODE((tmp_path / "gateway.db").stat().st_mode) == 0o644


def test_a_database_that_does_not_answer(environment, checks):
    environment.setenv("AGW_DATABASE_URL", "postgresql+asyncpg://u:a-password@127.0.0.1:1/x")
    code, outcomes = checks()

    assert (code, outcomes["database"][0]) == (1, "fail")
    assert [outcomes[name][:2] for name in ("schema", "credentials", "connections")] == [
        ("warn", "not checked")
    ] * 3
    assert "a-password" not in str(outcomes)


def test_an_old_schema_warns_and_a_newer_schema_fails(deployed, checks, run, tmp_path):
    run("db", "downgrade", "0019", "--yes")
    code, outcomes = checks()
    assert (code, outcomes["schema"][0]) == (0, "warn")
    assert "db upgrade" in outcomes["schema"][2]

    for number, remedy in (("9999", "or a newer one"), ("0008", "with access-gateway 0.2 first")):
        opened = sqlite.connect(tmp_path / "gateway.db")
        opened.execute(f"UPDATE alembic_version SET version_num = '{number}'")
        opened.commit()
        opened.close()
        code, outcomes = checks()
        assert (code, outcomes["schema"][0]) == (1, "fail")
        assert remedy in outcomes["schema"][2]


def test_connections_are_counted_by_status(people, checks):
    people.add(connection(1), connection(2, status="error"))
    assert checks("--offline")[1]["connections"][:2] == ("warn", "1 active, 1 error: 2 fail")

    people.add(connection(3, status="needs_reauth"))
    code, outcomes = checks("--offline")
    assert code == 0
    assert outcomes["connections"] == (
        "warn",
        "1 active, 1 error, 1 needs_reauth: 3 need a person",
        "`access-gateway connection reconnect ID`, or their owners' reconnect links.",
    )
    assert "providers" not in outcomes


def test_tokens_that_reveal_hidden_content_or_can_do_nothing_are_named(people, checks):
    for digest, settings in enumerate(
        ({}, {"collabAccessEnabled": True}, {"emailAccessEnabled": True})
    ):
        token = {"name": "t", "key_id": "k", "operator_id": "o", "created_at": 0}
        people.add(AccessToken(**token, digest=bytes([digest]), settings=settings))
    assert checks("--offline")[1]["tokens"] == (
        "warn",
        "1, 2 reveal what they hide, or can do nothing",
        "`access-gateway token show ID` shows why, and the setting that changes it.",
    )


def test_held_writes_without_an_approver_are_named(people, checks):
    token = {"name": "t", "key_id": "k", "operator_id": "o", "created_at": 0}
    people.add(AccessToken(**token, digest=b"d", settings={"writes": "approve"}))
    assert checks("--offline")[1]["held writes"] == ("ok", "none wait", None)
    keyring = Keyring([KEY])
    people.add(*(held_row(keyring, f"w{n}", created_at=n) for n in range(6)))
    people.add(held_row(keyring, "late", expires_at=1), held_row(keyring, "done", state="done"))
    assert checks("--offline")[1]["held writes"] == (
        "warn",
        "6 wait for a person, and no approver is there: w5, w4, w3, w2, w1, …",
        "`access-gateway write show ID` and `access-gateway write release ID`, or the console; "
        "`access-gateway approver add NAME` lets another person do it.",
    )
    approver = {"name": "Ada", "digest": b"a", "operator_ids": [], "resource_ids": []}
    people.add(ApproverRow(**approver, created_at=0))
    assert checks("--offline")[1]["held writes"] == ("ok", "6 wait; approvers: 1", None)


def test_webhook_targets_that_cannot_be_called_are_named(people, checks):
    target = {"owner_kind": "test", "owner_id": "1", "url": "https://hooks.example/"}
    target |= {"secrets": b"", "created_at": 0}
    assert checks("--offline")[1]["webhooks"] == ("ok", "none", None)
    people.add(WebhookTarget(id="t1", state="active", failures=0, **target))
    assert checks("--offline")[1]["webhooks"] == ("ok", "1 targets", None)
    people.add(
        WebhookTarget(id="t2", state="active", failures=2, last_error="timed_out", **target),
        WebhookTarget(id="t3", state="dead", failures=1, last_error="410", **target),
    )

    assert checks("--offline")[1]["webhooks"] == (
        "warn",
        "1 dead, 1 failing: t3 (test: 410), t2 (test: timed_out)",
        "Mend its receiver; a new secret for a dead target has it called again.",
    )


def test_what_notifications_lack_is_named(people, checks):
    row = {"target": "", "mark": "", "ends_at": 0, "renew_at": 0}
    detail = "none: neither AGW_PROVIDER_A_PUSH_TOPIC nor AGW_PROVIDER_B_PUSH is set"
    unset = ("ok", detail, None)
    assert checks("--offline")[1]["notifications"] == unset
    people.add(connection(1), connection(2), connection(3))
    people.add(
        PushRegistration(connection_id=1, name="topic", failure="", **row),
        PushRegistration(connection_id=2, name="", failure="topic_right", **row),
        PushRegistration(connection_id=3, name="", failure="other", **row),
    )

    assert checks("--offline")[1]["notifications"] == (
        "warn",
        "1 accounts are registered, 2 fail: polls go on",
        "gmail-api-push@system.gserviceaccount.com may not publish to the topic of "
        "AGW_PROVIDER_A_PUSH_TOPIC: grant it the role Pub/Sub Publisher there. "
        "`connection check` tells what the provider answers.",
    )


@pytest.mark.parametrize("name", ["TOPIC", "SUBSCRIPTION", "KEY"])
def test_one_setting_of_notifications_names_the_others(environment, checks, name):
    values = {
        "TOPIC": "projects/home/topics/mail",
        "SUBSCRIPTION": "projects/home/subscriptions/gateway",
        "KEY": "{}",
    }
    environment.setenv(f"AGW_PROVIDER_A_PUSH_{name}", values.pop(name))
    code, findings = checks("--offline")
    assert (code, findings["settings"][0]) == (1, "fail")
    assert all(f"AGW_PROVIDER_A_PUSH_{other}" in findings["settings"][1] for other in values)


def test_credentials_under_an_old_key_and_under_none(environment, people, checks):
    people.add(connection(1), connection(2, key="the old key of the tests"))
    environment.setenv("AGW_SECRET_KEYS", f"{KEY},the old key of the tests")
    assert checks("--offline")[1]["credentials"][:2] == (
        "warn",
        "1 of 2 are encrypted with an older key",
    )

    environment.setenv("AGW_SECRET_KEYS", KEY)
    code, outcomes = checks("--offline")
    assert (code, outcomes["credentials"][1]) == (1, "no key opens those of connections 2")


def test_upstreams_of_connections_are_reached_or_named(people, checks):
    with socket.create_server(("127.0.0.1", 0)) as upstream:
        there = f"http://127.0.0.1:{upstream.getsockname()[1]}"
        people.add(connection(1, base_url=there), connection(2, base_url=f"{there}/x"))
        assert checks()[1]["providers"] == ("ok", "1 reached", None)
    code, outcomes = checks()

    assert (code, outcomes["providers"][0]) == (1, "fail")
    assert outcomes["providers"][1].startswith("127.0.0.1: ")


def test_oauth_clients_are_ready_or_name_what_is_missing(environment, checks):
    assert checks("--offline")[1]["oauth clients"] == (
        "ok",
        "not set up: Google (AGW_PROVIDER_A_CLIENT_ID), Microsoft (AGW_PROVIDER_B_CLIENT_ID), "
        "monday.com (AGW_TASKS_CLIENT_ID), Asana (AGW_PROJECTS_CLIENT_ID)",
        None,
    )
    environment.setenv("AGW_PROVIDER_A_CLIENT_ID", "id")
    environment.setenv("AGW_PROVIDER_A_CLIENT_SECRET", "secret")
    environment.setenv("AGW_PROVIDER_B_CLIENT_ID", "id")
    environment.setenv("AGW_TASKS_CLIENT_SECRET", "secret")
    outcome, detail, remedy = checks("--offline")[1]["oauth clients"]

    assert (outcome, remedy is None) == ("warn", False)
    assert detail == (
        "ready: Google; without a secret: Microsoft (AGW_PROVIDER_B_CLIENT_SECRET); "
        "a secret without an id: monday.com (AGW_TASKS_CLIENT_ID); "
        "not set up: Asana (AGW_PROJECTS_CLIENT_ID)"
    )


def test_connections_of_unlinked_operators_are_a_warning(people, checks):
    people.add(connection(1), connection(2))
    assert checks("--offline")[1]["connections"] == ("ok", "2 active", None)
    people.change(delete(OperatorResource))

    code, outcomes = checks("--offline")
    assert (code, outcomes["connections"]) == (
        0,
        (
            "warn",
            "2 active: no token reaches 1, 2, whose operators are not linked",
            "Link their operators to the resources again, or remove the connections.",
        ),
    )


def test_a_clock_behind_the_store_is_a_warning(people, checks):
    ahead = timestamps.now_ms() + 20_000
    people.add(
        AccessToken(
            name="t", key_id="k", digest=b"d" * 32, operator_id="o", settings={}, created_at=ahead
        )
    )
    code, outcomes = checks("--offline")

    assert (code, outcomes["clock"][0]) == (0, "warn")
    assert "behind the stores" in outcomes["clock"][1]


@pytest.mark.slow
def test_a_redis_that_evicts_keys_or_is_down_is_found(deployed, environment, checks, tmp_path):
    with redis_server(tmp_path) as server:
        environment.setenv("AGW_REDIS_URL", server.url)
        assert checks("--offline")[1]["redis"] == ("ok", "answers", None)
        with socket.create_connection(("127.0.0.1", server.port)) as raw:
            raw.sendall(b"CONFIG SET maxmemory-policy allkeys-lru\r\n")
            raw.recv(100)
        code, outcomes = checks("--offline")
        assert (code, outcomes["redis"][0]) == (0, "warn")
        assert "noeviction" in outcomes["redis"][2]
    code, outcomes = checks("--offline")

    assert (code, outcomes["redis"][0], outcomes["clock"][0]) == (1, "fail", "ok")
