"""`db`: the schema's version, and whole copies, made while others write."""

import asyncio
import json
import os
import socket
import stat
import subprocess
import sys
import threading
from contextlib import closing

import pytest
from sqlalchemy import delete, insert, update
from sqlalchemy.engine import make_url
from sqlmodel import select

from gateway.secrets.keyring import Keyring, column_context
from gateway.store import backups, schema_version
from gateway.store import sqlite as sqlite3
from gateway.store.database import Database
from gateway.store.serving import TERM_SECONDS, ServingLease, serving_processes
from gateway.store.tables import (
    AccessToken,
    CollabRule,
    ConnectionRow,
    Operator,
    OperatorResource,
    Resource,
    TokenResource,
)

NEWEST = schema_version.known()[0]
on_both = pytest.mark.parametrize(
    "kind", ["sqlite", pytest.param("postgresql", marks=pytest.mark.slow)]
)


def read_json(result, code=0):
    assert result.exit_code == code, result.stderr
    return json.loads(result.stdout)


def a_token(number, settings=None):
    return AccessToken(
        name=f"t{number}",
        key_id="k",
        digest=bytes([number]) * 32,
        operator_id="o",
        settings=settings or {},
        created_at=0,
    )


def a_rule(token, action, pattern):
    return CollabRule(
        token_id=token,
        rule_type="name_pattern",
        pattern=pattern,
        action=action,
        source="manual",
        created_at=0,
        updated_at=0,
    )


def a_connection(resource, **members):
    usual = {
        "operator_id": "o",
        "kind": "mail",
        "provider": "PROVIDER_A",
        "account_email": "o@example.org",
        "granted_scopes": [],
        "selected_site_ids": [],
        "can_write": False,
        "status": "active",
        "created_at": 0,
        "updated_at": 0,
    }
    return ConnectionRow(resource_id=resource, **{**usual, **members})


@pytest.fixture
def file(tmp_path):
    """The path of a backup."""
    return tmp_path / "copy"


# -- versions --------------------------------------------------------------------------------------


@pytest.mark.parametrize("where", ["sqlite", pytest.param("postgresql", marks=pytest.mark.slow)])
def test_an_empty_store_is_brought_to_the_newest_version(run, environment, request, where):
    if where == "postgresql":
        environment.setenv("AGW_DATABASE_URL", request.getfixturevalue("postgres"))
    before = read_json(run("db", "current", "--json"), code=1)
    assert (before["version"], before["newest"]) == (None, NEWEST)
    assert before["missing"] == sorted(schema_version.known())

    made = read_json(run("db", "upgrade", "--json"))
    assert (made["before"], made["version"], made["missing"]) == (None, NEWEST, [])
    assert read_json(run("db", "upgrade", "--json"))["before"] == NEWEST
    assert read_json(run("db", "current", "--json"))["version"] == NEWEST


def test_db_current_creates_no_file(run, environment, tmp_path):
    assert run("db", "current").exit_code == 1
    assert run("db", "backup", "copy").exit_code == 1
    assert list(tmp_path.iterdir()) == []


@on_both
def test_a_downgrade_and_an_upgrade(run, deployed, rows):
    rows.add(Resource(name="kept", created_at=7))
    result = run("db", "downgrade", "0019")
    assert (result.exit_code, result.stdout) == (2, "")
    assert read_json(run("db", "current", "--json"))["version"] == NEWEST

    back = read_json(run("db", "downgrade", "0019", "--yes", "--json"))
    assert (back["before"], back["version"]) == (NEWEST, "0019")
    assert "0020" in back["missing"]
    assert run("db", "upgrade").exit_code == 0
    assert rows.all(select(Resource.name)) == ["kept"]


@pytest.mark.parametrize("version", ["9999", "nonsense"])
def test_an_unknown_version_is_refused(run, deployed, version):
    refused = run("db", "downgrade", version, "--yes")

    assert (refused.exit_code, refused.stdout) == (1, "")
    assert f"There is no version {version}" in refused.stderr


def test_a_store_of_a_newer_gateway_is_left_alone(run, deployed, tmp_path):
    with sqlite3.connect(tmp_path / "gateway.db") as opened:
        opened.execute("UPDATE alembic_version SET version_num = '9999'")
    opened.close()

    refused = run("db", "upgrade")
    assert (refused.exit_code, refused.stdout) == (1, "")
    assert "version 9999, which this program does not know" in refused.stderr
    assert read_json(run("db", "current", "--json"), code=1)["missing"] == []


# -- while gateways serve --------------------------------------------------------------------------


async def _renew_lease(url, *, later_ms=0):
    database = Database.open(url)
    clock = database.clock.now
    await ServingLease(database, clock=lambda: clock() + later_ms).renew()
    await database.close()


@on_both
@pytest.mark.parametrize(
    "words",
    [
        pytest.param(("restore", "copy"), id="restore"),
        pytest.param(("downgrade", "0019"), id="downgrade"),
    ],
)
def test_what_replaces_data_is_refused_while_gateways_serve(run, deployed, rows, file, words):
    read_json(run("db", "backup", file, "--json"))
    rows.add(Resource(name="later", created_at=0))
    asyncio.run(_renew_lease(deployed))
    before = read_json(run("db", "current", "--json"))
    refused = run("db", *words, "--yes")

    assert (refused.exit_code, refused.stdout) == (1, "")
    process = f"{socket.gethostname()} (process {os.getpid()})"
    assert refused.stderr.startswith(f"Gateways serve this database: {process}. Stop them first;")
    assert rows.all(select(Resource.name)) == ["later"]
    assert read_json(run("db", "current", "--json")) == before
    assert run("db", *words, "--yes", "--force").exit_code == 0


@on_both
def test_a_process_that_was_killed_counts_until_its_lease_ends(run, deployed, rows, file):
    read_json(run("db", "backup", file, "--json"))
    asyncio.run(_renew_lease(deployed, later_ms=-round(TERM_SECONDS * 1000)))

    assert read_json(run("db", "restore", file, "--yes", "--json"))["serving"] == []


@pytest.mark.parametrize("ends", [True, False])
async def test_a_process_counts_from_its_start_to_its_stop(database, ends):
    lease = ServingLease(database)
    async with lease.running():
        for _ in range(500):
            if await serving_processes(database):
                break
            await asyncio.sleep(0.01)
        assert len(await serving_processes(database)) == 1
        if not ends:
            lease._holder = "another"  # a later process of this name took the lease over

    assert len(await serving_processes(database)) == (0 if ends else 1)


# -- copies ----------------------------------------------------------------------------------------


@on_both
def test_a_restore_recovers_the_backup(run, deployed, rows, file):
    rows.add(Operator(id="o", email="o@example.org", display_name="O", created_at=0))
    rows.add(Resource(name="first", created_at=0), a_token(1), a_token(2))
    made = read_json(run("db", "backup", file, "--json"))
    assert made == {"file": str(file), "version": NEWEST, "bytes": file.stat().st_size}
    assert stat.S_IMODE(file.stat().st_mode) == 0o600

    rows.add(Resource(name="second", created_at=0), a_token(3))
    rows.change(update(AccessToken).values(revoked_at=5, policy_rev=9))
    done = run("db", "restore", file, "--yes", "--json")

    status = read_json(done)
    assert (status["file"], status["tokens"], status["connections"]) == (str(file), 2, 0)
    assert status["revived"] == [1, 2]
    assert status["wider"] == [
        {"kind": "token", "id": number, "name": name, "reasons": ["it is revoked now"]}
        for number, name in ((1, a_token(1).name), (2, a_token(2).name))
    ]
    assert f"token 1 ({a_token(1).name}): it is revoked now" in done.stderr
    assert rows.all(select(Resource.name)) == ["first"]
    # Above every revision that was seen: no process may go on with a policy of before.
    assert rows.all(select(AccessToken.policy_rev)) == [11, 11]


@pytest.mark.slow
@on_both
def test_a_restore_lists_first_what_it_would_widen(run, deployed, rows, file):
    wide = {"emailAccessEnabled": True, "allowedEmailOperations": ["read_only", "send_email"]}
    rows.add(Operator(id="o", email="o@example.org", display_name="O\twith a tab", created_at=0))
    rows.add(Resource(name="first", created_at=0), Resource(name="second", created_at=0))
    rows.add(a_token(1, settings=wide), a_token(2), a_token(3), a_token(4))
    rows.change(insert(OperatorResource).values(operator_id="o", resource_id=1))
    rows.change(insert(TokenResource).values(token_id=2, resource_id=1))
    rows.add(a_rule(3, "block", "secret\\\\x"), a_rule(3, "allow", "a\tb"), a_rule(4, "allow", "*"))
    rows.add(a_connection(1, can_write=True))
    read_json(run("db", "backup", file, "--json"))

    rows.change(update(AccessToken).where(AccessToken.id == 1).values(settings={}))
    rows.change(delete(OperatorResource))
    rows.change(delete(CollabRule).where(CollabRule.token_id == 3))
    rows.change(update(AccessToken).where(AccessToken.id == 4).values(digest=b"d" * 32))
    rows.change(update(ConnectionRow).values(can_write=False))
    refused = run("db", "restore", file)

    assert refused.exit_code == 2  # it asks, and there is no terminal
    assert refused.stderr.splitlines()[:6] == [
        "These allow more after the restore than now:",
        "  token 1 (t1): settings allow more: emailAccessEnabled, allowedEmailOperations",
        "  token 2 (t2): it reaches more resources: 1",
        "  token 3 (t3): collab rules allow more: 1",
        "  token 4 (t4): a token text that is replaced now is valid again",
        "  connection 1 (o@example.org): it may write",
    ]
    assert rows.all(select(ConnectionRow.can_write)) == [False]
    assert read_json(run("db", "restore", file, "--yes", "--json"))["wider"][0]["id"] == 1
    again = run("db", "restore", file, "--yes", "--json")
    assert (read_json(again)["wider"], "allow more" in again.stderr) == ([], False)


@pytest.mark.slow
@on_both
def test_a_restore_lists_connections_that_reach_more(run, deployed, rows, file):
    rows.add(Operator(id="o", email="o@example.org", display_name="O", created_at=0))
    rows.add(Resource(name="first", created_at=0))
    for member in (
        *({"account_email": "ada@example.org"}, {"account_email": "team@example.org"}),
        *({"shared_on": 1}, {}, {"selected_site_ids": ["s1", "s2"]}, {"shared_on": 1}),
    ):
        rows.add(a_connection(1, **member))
    read_json(run("db", "backup", file, "--json"))

    for number, present in (
        *((3, {"shared_on": 2}), (4, {"shared_on": 2, "status": "disabled"})),
        (5, {"selected_site_ids": ["s1"], "status": "needs_reauth"}),
        (6, {"can_write": True, "selected_site_ids": ["s3"]}),  # less in the copy
    ):
        rows.change(update(ConnectionRow).where(ConnectionRow.id == number).values(**present))
    refused = run("db", "restore", file)

    assert refused.exit_code == 2
    assert refused.stderr.splitlines()[:4] == [
        "These allow more after the restore than now:",
        "  connection 3 (o@example.org): it uses other credentials",
        "  connection 4 (o@example.org): it uses other credentials; it is disabled now",
        "  connection 5 (o@example.org): it reaches more sites: 1",
    ]
    assert "connection 6" not in refused.stderr
    assert read_json(run("db", "restore", file, "--yes", "--json"))["wider"][0]["id"] == 3


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["postgresql"])
def test_an_older_copy_is_brought_to_the_newest_version(run, deployed, rows, file):
    rows.add(Resource(name="old", created_at=0))
    read_json(run("db", "downgrade", "0019", "--yes", "--json"))
    assert read_json(run("db", "backup", file, "--json"))["version"] == "0019"
    read_json(run("db", "upgrade", "--json"))

    assert read_json(run("db", "restore", file, "--yes", "--json"))["version"] == NEWEST
    assert rows.all(select(Resource.name)) == ["old"]


def test_a_copy_that_is_too_old_is_refused(run, deployed, rows, file):
    rows.add(Resource(name="kept", created_at=0))
    read_json(run("db", "backup", file, "--json"))
    with closing(sqlite3.connect(file)) as database, database:
        database.execute("UPDATE alembic_version SET version_num = '0008'")

    refused = run("db", "restore", file, "--yes")
    assert (refused.exit_code, refused.stdout) == (1, "")
    assert refused.stderr == (
        f"{file} is of version 0008, which is older than that of access-gateway 0.2 (0019): "
        "upgrade it with access-gateway 0.2 first.\n"
    )
    assert rows.all(select(Resource.name)) == ["kept"]


def test_a_lost_file_is_made_from_its_copy(run, deployed, rows, file, tmp_path):
    rows.add(Resource(name="kept", created_at=0))
    read_json(run("db", "backup", file, "--json"))
    for lost in tmp_path.glob("gateway.db*"):
        lost.unlink()

    assert read_json(run("db", "restore", file, "--yes", "--json"))["revived"] == []
    assert rows.all(select(Resource.name)) == ["kept"]
    assert stat.S_IMODE((tmp_path / "gateway.db").stat().st_mode) == 0o600


def test_an_interrupted_restore_changes_nothing(run, deployed, rows, file):
    rows.add(Resource(name="x" * 3_000_000, created_at=0))
    read_json(run("db", "backup", file, "--json"))
    rows.add(Resource(name="later", created_at=0))
    heard = []

    def cut_off(done, total):
        heard.append((done, total))
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        backups.restore(deployed, file, cut_off)
    assert heard[0][0] == backups.PAGES_PER_STEP < heard[0][1]
    assert rows.all(select(Resource.id)) == [1, 2]


def test_a_damaged_store_is_replaced_or_must_be_moved_away(run, deployed, rows, file, tmp_path):
    rows.add(Resource(name="kept", created_at=0))
    read_json(run("db", "backup", file, "--json"))
    live = tmp_path / "gateway.db"
    with live.open("r+b") as damaged:
        damaged.seek(4096)
        damaged.write(b"\xff" * (live.stat().st_size - 4096))
    read_json(run("db", "restore", file, "--yes", "--json"))
    assert rows.all(select(Resource.name)) == ["kept"]

    live.write_bytes(b"no database at all" * 500)
    refused = run("db", "restore", file, "--yes")
    assert (refused.exit_code, refused.stdout) == (1, "")
    assert f"If {live} is damaged, move it" in refused.stderr


def test_a_backup_replaces_a_file_only_with_force(run, deployed, file):
    file.write_text("precious")
    refused = run("db", "backup", file)
    assert (refused.exit_code, file.read_text()) == (1, "precious")

    assert run("db", "backup", file, "--force").exit_code == 0
    assert [path.name for path in file.parent.glob("*copy*")] == ["copy"]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        pytest.param(None, "There is no file", id="nothing"),
        pytest.param(b"hello", "is not a copy of a store", id="something else"),
        pytest.param(b"", "is not a copy of a store", id="an empty file"),
    ],
)
def test_a_file_that_is_not_a_backup_is_not_restored(run, rows, file, content, message):
    rows.add(Resource(name="kept", created_at=0))
    if content is not None:
        file.write_bytes(content)
    refused = run("db", "restore", file, "--yes")

    assert (refused.exit_code, refused.stdout) == (1, "")
    assert message in refused.stderr
    assert rows.all(select(Resource.name)) == ["kept"]


def test_a_damaged_copy_is_not_restored(run, deployed, rows, file):
    rows.add(*(Resource(name=f"{n}" * 200, created_at=0) for n in range(10)))
    read_json(run("db", "backup", file, "--json"))
    with sqlite3.connect(file) as opened:
        [page] = opened.execute("SELECT rootpage FROM sqlite_master WHERE name = 'resources'")
        [size] = opened.execute("PRAGMA page_size").fetchone()
    opened.close()
    with file.open("r+b") as damaged:
        damaged.seek((page[0] - 1) * size)
        damaged.write(b"\xff" * 100)

    refused = run("db", "restore", file, "--yes")
    assert (refused.exit_code, "is damaged" in refused.stderr) == (1, True)
    assert len(rows.all(select(Resource.id))) == 10


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["postgresql"])
def test_a_truncated_copy_is_not_restored(run, deployed, rows, file):
    rows.add(*(Resource(name=f"{n}" * 200, created_at=0) for n in range(10)))
    read_json(run("db", "backup", file, "--json"))
    whole = file.read_bytes()
    for length in (len(whole) // 2, len(whole) - 200):
        file.write_bytes(whole[:length])
        refused = run("db", "restore", file, "--yes")
        assert (refused.exit_code, refused.stdout) == (1, "")
        assert refused.stderr.count("\n") == 1, refused.stderr
    assert len(rows.all(select(Resource.id))) == 10


def test_a_restore_reports_what_it_did(run, deployed, rows, file):
    rows.add(Operator(id="o", email="o@example.org", display_name="O", created_at=0))
    rows.add(Resource(name="first", created_at=0), a_token(1), a_token(2))
    rows.add(a_connection(1, can_write=True))
    read_json(run("db", "backup", file, "--json"))
    rows.change(update(AccessToken).where(AccessToken.id == 2).values(revoked_at=5))
    done = run("db", "restore", file, "--yes")

    assert done.stderr.splitlines()[2:] == [
        f"Restored {file}: every row of {deployed} is now that of the copy.",
        "Tokens that are not revoked: 2; connections: 1.",
        "Tokens that were revoked and are valid again: 2.",
    ]


@pytest.mark.slow
def test_a_restore_names_the_connections_whose_key_is_gone(run, deployed, rows, file, environment):
    rows.add(Operator(id="o", email="o@example.org", display_name="O", created_at=0))
    (resource,) = rows.add(Resource(name="first", created_at=0))
    older, newer = Keyring(["k" * 32]), Keyring(["n" * 32])
    for connection_id, keyring in ((1, older), (2, newer), (3, older)):
        sealed = keyring.encrypt(
            b"{}", context=column_context("connections", connection_id, "credentials")
        )
        rows.add(a_connection(resource, can_write=True, credentials=sealed))
    read_json(run("db", "backup", file, "--json"))

    environment.setenv("AGW_SECRET_KEYS", "n" * 32)
    done = run("db", "restore", file, "--yes")

    assert done.exit_code == 0
    assert done.stderr.splitlines()[-1] == (
        "No key of AGW_SECRET_KEYS opens the credentials of connections 1, 3. Put the key of the "
        "copy's time back behind the first one, or reconnect these accounts."
    )
    environment.setenv("AGW_SECRET_KEYS", f"{'n' * 32},{'k' * 32}")
    assert read_json(run("db", "restore", file, "--yes", "--json"))["unreadable"] == []


def test_restore_without_a_terminal_needs_yes(run, deployed, file):
    read_json(run("db", "backup", file, "--json"))

    assert run("db", "restore", file).exit_code == 2


def test_missing_postgresql_programs_are_reported(run, environment, file, monkeypatch):
    monkeypatch.setattr("gateway.store.backups.shutil.which", lambda _: None)
    monkeypatch.setattr("gateway.store.schema_version.current", answering("0019"))
    environment.setenv("AGW_DATABASE_URL", "postgresql+asyncpg://u:secret@127.0.0.1:1/x")
    refused = run("db", "backup", file)

    assert (refused.exit_code, refused.stdout) == (1, "")
    assert "pg_dump is not on the path" in refused.stderr
    assert "secret" not in refused.stderr


def answering(value):
    async def answer(*_):
        return value

    return answer


@pytest.mark.slow
def test_a_backup_during_writes_is_a_consistent_snapshot(deployed, run, rows, file, tmp_path):
    """Each writer's transaction adds a pair; a copy never has one without the other."""
    rows.add(*(Resource(name="x" * 200, created_at=0) for _ in range(300)))
    stop, written = threading.Event(), threading.Event()

    def write():
        with sqlite3.connect(tmp_path / "gateway.db", timeout=30) as opened:
            while not stop.is_set():
                opened.execute("INSERT INTO resources (name, created_at) VALUES ('left', 0)")
                opened.execute("INSERT INTO resources (name, created_at) VALUES ('right', 0)")
                opened.commit()
                written.set()
        opened.close()

    writer = threading.Thread(target=write)
    writer.start()
    try:
        assert written.wait(30)
        for number in range(3):
            read_json(run("db", "backup", file.with_name(f"copy{number}"), "--json"))
    finally:
        stop.set()
        writer.join()

    for number in range(3):
        with sqlite3.connect(file.with_name(f"copy{number}")) as opened:
            counted = opened.execute(
                "SELECT SUM(name = 'left'), SUM(name = 'right') FROM resources"
            ).fetchone()
        opened.close()
        assert counted[0] == counted[1] > 0


@pytest.mark.slow
def test_passwords_are_not_among_the_arguments_of_processes(postgres, tmp_path):
    """Every user of the machine can read the arguments of a process."""
    program = tmp_path / "pg_dump"
    program.write_text(f'#!/bin/sh\necho "$@" > {tmp_path}/words\nexit 1\n')
    program.chmod(0o755)
    url = postgres.replace("postgres@", "postgres:a-password@", 1)
    subprocess.run([sys.executable, "-m", "gateway", "db", "upgrade"], env=env(url), check=True)
    done = subprocess.run(
        [sys.executable, "-m", "gateway", "db", "backup", str(tmp_path / "copy")],
        env={**env(url), "PATH": f"{tmp_path}:{os.environ['PATH']}"},
        capture_output=True,
        text=True,
        check=False,
    )

    assert done.returncode == 1
    assert "dbname=postgresql://postgres@" in (tmp_path / "words").read_text()
    assert "a-password" not in (tmp_path / "words").read_text() + done.stderr + done.stdout
    assert not (tmp_path / "copy").exists()


def env(url):
    return {**os.environ, "AGW_DATABASE_URL": url}


@pytest.mark.parametrize("words", [("serve", "--port", "0"), ("token", "list"), ("db", "upgrade")])
def test_an_older_program_says_that_the_database_is_newer(run, deployed, monkeypatch, words):
    monkeypatch.setenv("AGW_ADMIN_TOKEN", "the-admin-token-of-the-tests")
    with closing(sqlite3.connect(make_url(deployed).database)) as database, database:
        database.execute("UPDATE alembic_version SET version_num = '9999'")

    done = run(*words)
    assert (done.exit_code, done.stdout) == (1, "")
    assert done.stderr.startswith(
        "The database is of version 9999, which this program does not know"
    )
    assert done.stderr.count("\n") == 1


def test_serving_without_migrating_needs_the_newest_version(run, deployed, monkeypatch):
    monkeypatch.setenv("AGW_ADMIN_TOKEN", "the-admin-token-of-the-tests")
    newest = json.loads(run("db", "current", "--json").stdout)["newest"]
    assert run("db", "downgrade", "0019", "--yes").exit_code == 0

    done = run("serve", "--port", "0", "--no-migrate")

    assert (done.exit_code, done.stdout) == (1, "")
    assert done.stderr == (
        "The database is of an older version (0019) than this program, which was told not to "
        "migrate it: run `access-gateway db upgrade` first.\n"
    )
    assert json.loads(run("db", "current", "--json").stdout)["version"] == "0019"
    assert run("db", "upgrade").stdout.endswith(f"version {newest}, newest {newest}\n")


def test_serving_without_migrating_creates_no_database(run, environment, tmp_path, monkeypatch):
    monkeypatch.setenv("AGW_MIGRATE", "false")

    done = run("serve", "--port", "0")

    assert done.exit_code == 1
    assert done.stderr.startswith("The database is of an older version (none)")
    assert not (tmp_path / "gateway.db").exists()
