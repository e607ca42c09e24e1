"""`decisions`: the log as it is read on the store."""

import asyncio
import json
import os
import signal
import subprocess
import sys
from contextlib import aclosing, asynccontextmanager

import pytest
from decision_rows import decision_row
from sqlalchemy import text

from gateway.audit import reading
from gateway.audit.log import DecisionLog
from gateway.cli.stores import open_store
from gateway.operations import decisions
from gateway.secrets.keyring import Keyring
from gateway.store.database import Database, StorageUnavailable
from gateway.store.timestamps import now_ms

NOON = 1_790_000_000_000  # 2026-09-21T14:13:20Z


REFUSED_READ = {
    "surface": "collab",
    "operation": "collabFile",
    "resource_id": "collab:drive:d:item:i",
    "outcome": "refused",
    "layer": "scope",
    "code": "BLOCKED",
    "status": 404,
    "rule_id": 7,
}


def decision(name, at=NOON, **more):
    return decision_row(name, at=at, **{**REFUSED_READ, **more})


@pytest.fixture
def keep(deployed):
    """Store decisions as a serving process does."""

    def storing(*decisions):
        asyncio.run(stored(deployed, *decisions))

    return storing


async def stored(url, *decisions):
    database = Database.open(url)
    log = DecisionLog(database, Keyring(["k" * 20]), days=30)
    for entry in decisions:
        log.write(entry, change=False)
    await log.flush()
    await database.close()


def test_the_newest_come_first(run, keep):
    fine = {"outcome": "allowed", "layer": None, "code": None, "status": 200, "rule_id": None}
    keep(decision("a"), decision("b", at=NOON + 1500, token_id=2, **fine))

    shown = run("decisions", "list")
    assert shown.exit_code == 0
    assert shown.stdout == (
        "AT                        TOKEN  DOOR  OPERATION   OUTCOME  STATUS"
        "  LAYER  CODE     RULE  REQUEST\n"
        "2026-09-21T14:13:21.500Z  2      rest  collabFile  allowed  200"
        "     -      -        -     b\n"
        "2026-09-21T14:13:20Z      1      rest  collabFile  refused  404"
        "     scope  BLOCKED  7     a\n"
    )


@pytest.mark.parametrize(
    ("options", "names"),
    [
        ((), ["c", "b", "a"]),
        (("--token", 2), ["b"]),
        (("--outcome", "failed"), ["c"]),
        (("--surface", "email", "--layer", "upstream"), ["c"]),
        (("--code", "BLOCKED", "--limit", 1), ["b"]),
        (("--operation", "emails"), ["c"]),
        (("--request", "a"), ["a"]),
        (("--since", "2026-09-21T14:13:21Z"), ["c", "b"]),
        (("--since", "2026-09-21T14:13:21Z", "--until", "2026-09-21T14:13:22Z"), ["b"]),
    ],
)
def test_the_filters_match_the_api(run, keep, options, names):
    keep(
        decision("a"),
        decision("b", at=NOON + 1000, token_id=2),
        decision(
            "c",
            at=NOON + 2000,
            outcome="failed",
            layer="upstream",
            code="NOT_FOUND",
            surface="email",
            operation="emails",
        ),
    )

    listed = run("decisions", "list", "--json", *options)

    assert [entry["requestId"] for entry in json.loads(listed.stdout)] == names


def test_an_invalid_filter_is_reported_in_one_sentence(run, deployed):
    refused = run("decisions", "list", "--outcome", "perhaps")

    assert refused.exit_code == 1
    assert refused.stderr.startswith("outcome must be one of 'allowed', 'refused' or 'failed'.\n")


def test_verify_finds_changed_rows(run, keep, rows):
    keep(decision("a"), decision("b"))
    fine = run("decisions", "verify", "--json")
    rows.change(text("UPDATE decisions SET outcome = 'allowed' WHERE request_id = 'b'"))
    result = run("decisions", "verify", "--json")
    message = run("decisions", "verify")

    assert (fine.exit_code, json.loads(fine.stdout)) == (0, {"rows": 2, "faults": []})
    (fault,) = json.loads(result.stdout)["faults"]
    assert (result.exit_code, fault["number"], fault["fault"]) == (1, 2, "changed")
    assert message.stdout == f"{fault['chain']} 2: changed\n"
    assert message.stderr == "2 rows checked, 1 faults.\n"


# -- tail


@pytest.fixture
def following(deployed, monkeypatch):
    """Follow the log, as an async context; call its value for the next names."""
    monkeypatch.setattr(decisions, "POLL_SECONDS", 0.01)

    @asynccontextmanager
    async def follow(lines=10, warn=print, **filters):
        query = decisions.query(filters)
        async with (
            open_store() as store,
            aclosing(decisions.follow(store.database, query, last=lines, warn=warn)) as followed,
        ):

            async def after(count):
                return [(await anext(followed))["requestId"] for _ in range(count)]

            yield after

    return follow


def test_tail_shows_the_last_decisions_and_then_each_new_one_once(deployed, following):
    async def watch():
        await stored(deployed, *(decision(name, at=NOON + n) for n, name in enumerate("abc")))
        async with following(lines=2) as after:
            assert await after(2) == ["b", "c"]
            await stored(deployed, decision("e", at=NOON + 9000))
            assert await after(1) == ["e"]
            # Another process may store a row a little after one that came later.
            await stored(deployed, decision("d", at=NOON + 5000), decision("f", at=NOON + 30_000))
            assert await after(2) == ["d", "f"]

    asyncio.run(watch())


def test_tail_follows_filtered_decisions_from_an_empty_log(deployed, following):
    async def watch():
        async with following(tokenId=2) as after:
            waiting = asyncio.create_task(after(1))
            await asyncio.sleep(0)
            await stored(deployed, decision("a"), decision("b", token_id=2))
            assert await waiting == ["b"]

    asyncio.run(watch())


def test_tail_polls_again_after_a_database_outage(deployed, following, monkeypatch):
    warnings, read, silent = [], reading.newest, iter([True, True])

    async def newest(*arguments, **more):
        if next(silent, False):
            raise StorageUnavailable
        return await read(*arguments, **more)

    async def watch():
        await stored(deployed, decision("a"))
        async with following(warn=warnings.append) as after:
            assert await after(1) == ["a"]
            await stored(deployed, decision("b"))
            monkeypatch.setattr(reading, "newest", newest)
            assert await after(1) == ["b"]

    asyncio.run(watch())
    assert warnings == ["The database does not answer; trying again."]


def test_each_decision_is_one_line(run, deployed, monkeypatch):
    async def follow(database, query, *, last, warn):
        assert (query.token_id, last) == (1, 5)
        for entry in (decision("a"), decision("b", layer=None, code=None, rule_id=None)):
            yield decisions.view(3, entry)
        raise KeyboardInterrupt

    monkeypatch.setattr(decisions, "follow", follow)
    as_text = run("decisions", "tail", "--token", 1, "--lines", 5)
    as_json = run("decisions", "tail", "--token", 1, "--lines", 5, "--json")

    assert (as_text.exit_code, as_json.exit_code) == (0, 0)
    assert as_text.stdout == (
        "2026-09-21T14:13:20Z  token 1  rest  collabFile  refused  404"
        "  by scope: BLOCKED  rule 7  request a\n"
        "2026-09-21T14:13:20Z  token 1  rest  collabFile  refused  404  request b\n"
    )
    assert [json.loads(line)["requestId"] for line in as_json.stdout.splitlines()] == ["a", "b"]


def tailing():
    """Run `decisions tail --json` as a process of its own."""
    return subprocess.Popen(
        [sys.executable, "-m", "gateway", "decisions", "tail", "--json"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=dict(os.environ),
    )


@pytest.mark.slow
def test_ctrl_c_ends_tail(deployed, keep):
    keep(decision("a", at=now_ms()))
    process = tailing()
    try:
        first = process.stdout.readline()
        process.send_signal(signal.SIGINT)
        rest, talk = process.communicate(timeout=180)
    finally:
        process.kill()

    assert json.loads(first)["requestId"] == "a"
    assert (process.returncode, rest, talk) == (0, "", "")


@pytest.mark.slow
def test_a_closed_pipe_ends_tail(deployed, keep):
    keep(decision("a", at=now_ms()))
    process = tailing()
    try:
        process.stdout.close()
        talk = process.stderr.read()
        process.stderr.close()
    finally:
        process.kill()

    assert (process.wait(120), talk) == (1, "")
