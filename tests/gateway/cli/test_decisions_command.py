"""`decisions`: the log as it is read on the store."""

import asyncio
import json
import os
import pwd
import signal
import subprocess
import sys
from contextlib import aclosing, asynccontextmanager

import pytest
from decision_rows import decision_row
from sqlalchemy import text

from gateway.audit import reading
from gateway.audit.log import DecisionLog
from gateway.audit.provider_errors import ProviderErrorLog
from gateway.cli.stores import open_store
from gateway.operations import decisions
from gateway.operations.key_rotation import seal_decisions
from gateway.secrets.keyring import Keyring
from gateway.store.database import Database, StorageUnavailable
from gateway.store.timestamps import now_ms
from policy.vocabulary import Code, Layer
from providers.http.failed_responses import FailedResponse

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
        "AT              TOKEN  OPERATION   RESULT   REQUEST\n"
        "09-21 14:13:21  2      collabFile  allowed  b\n"
        "09-21 14:13:20  1      collabFile  BLOCKED  a\n"
    )


def test_the_table_fits_100_columns(run, keep):
    long = {"operation": "deleteUploadedAttachment", "code": Code.IDEMPOTENCY_IN_PROGRESS}
    keep(decision("0f8fad5b-d9cb-469f-a165-70867728950e", token_id=12345, **long))
    keep(decision("r" * 128, at=NOON + 1000))

    lines = run("decisions", "list").stdout.splitlines()

    assert max(map(len, lines)) == 100
    assert lines[1].split()[-1] == "r" * 35 + "…"
    assert lines[2].split()[2:] == [
        "12345",
        "deleteUploadedA…",
        "IDEMPOTENCY_IN_PROGR…",
        "0f8fad5b-d9cb-469f-a165-70867728950e",
    ]


def test_a_logged_call_is_explained_by_its_request(run, keep):
    keep(decision("a"), decision("b"))

    shown = run("explain", "--request", "a")

    assert shown.exit_code == 0, shown.stderr
    table, sentences = shown.stdout.split("\n\n")
    rows = [line.split() for line in table.splitlines()]
    assert rows[0] == ["LAYER", "OUTCOME"]
    assert dict(rows[1:]) == {
        **dict.fromkeys(list(Layer)[: list(Layer).index(Layer.SCOPE)], "passed"),
        "scope": "refused",
        "upstream": "not_reached",
        "mask": "not_reached",
    }
    assert sentences.startswith(
        "2026-09-21T14:13:20Z  Token 1: collabFile by rest\nRefused: 404 BLOCKED\nRule 7 decided.\n"
    )
    assert sentences.endswith(
        "The log holds neither path, parameters nor content. What would allow such a call now: "
        "`access-gateway explain 1 METHOD PATH`.\n"
    )
    (logged,) = json.loads(run("explain", "--request", "a", "--json").stdout)
    assert logged["decision"]["requestId"] == "a"


def test_an_unknown_request_cannot_be_explained(run, deployed):
    refused = run("explain", "--request", "nothing")

    assert (refused.exit_code, refused.stdout) == (1, "")
    assert refused.stderr.startswith("The decision log has no request nothing: ")
    assert run("explain").stderr.startswith("Invalid value: name a token, or a past call")
    both = run("explain", 1, "--request", "a")
    assert (both.exit_code, both.stdout) == (2, "")


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


def test_changes_at_the_command_line_are_logged_with_the_user(run, deployed, tmp_path):
    assert run("operator", "add", "a@example.org", "A").exit_code == 0
    assert run("resource", "add", "main").exit_code == 0
    assert run("db", "backup", tmp_path / "copy").exit_code == 0
    assert run("secret", "rotate").exit_code == 0
    logged = json.loads(run("decisions", "list", "--json").stdout)
    user = pwd.getpwuid(os.getuid()).pw_name

    assert [(row["operation"], row["door"], row["actor"]) for row in logged] == [
        (operation, "cli", user) for operation in ("rotateKeys", "createResource", "createOperator")
    ]
    assert run("db", "restore", tmp_path / "copy", "--yes").exit_code == 0
    logged = json.loads(run("decisions", "list", "--json", "--actor", user).stdout)
    assert logged[0]["operation"] == "restoreDatabase"
    assert run("decisions", "verify").exit_code == 0


def test_an_invalid_filter_is_reported_in_one_sentence(run, deployed):
    refused = run("decisions", "list", "--outcome", "perhaps")

    assert refused.exit_code == 1
    assert refused.stderr.startswith(
        "outcome must be one of 'allowed', 'held', 'refused' or 'failed'.\n"
    )


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
    assert message.stderr == "2 rows checked, 1 fault.\n"


# -- after a rotation of the keys

OLD, NEW = "k" * 20, "the new key of the tests"


@pytest.fixture
def rotated(run, keep, environment, monkeypatch):
    """Five rows in seals of two, the old key gone; return what `verify` tells and its code."""
    monkeypatch.setattr("gateway.audit.seals.MAX_ROWS", 2)
    keep(*(decision(name) for name in "abcde"))
    environment.setenv("AGW_SECRET_KEYS", f"{NEW},{OLD}")
    done = run("secret", "rotate")
    assert (
        done.stderr == "0 credentials encrypted again.\n5 rows of the decision log signed again.\n"
    )
    environment.setenv("AGW_SECRET_KEYS", NEW)

    def verify():
        result = run("decisions", "verify", "--json")
        report = json.loads(result.stdout)
        faults = [(fault["number"], fault["last"], fault["fault"]) for fault in report["faults"]]
        return result.exit_code, faults

    return verify


@pytest.mark.parametrize(
    ("statement", "faults"),
    [
        pytest.param("SELECT 1", [], id="nothing"),
        pytest.param(
            "UPDATE decisions SET outcome = 'allowed' WHERE request_id = 'c'",
            [(3, 4, "changed")],
            id="a changed row",
        ),
        pytest.param(
            "DELETE FROM decisions WHERE request_id = 'b'",
            [(1, 1, "changed"), (3, 3, "missing")],
            id="a lost row",
        ),
        pytest.param(
            "UPDATE decisions SET signature = 'x' WHERE request_id = 'e'",
            [(5, 5, "changed")],
            id="a changed signature",
        ),
        pytest.param(
            "UPDATE decision_seals SET signature = 'x' WHERE first = 3",
            [(3, 3, "changed"), (4, 4, "changed")],
            id="a changed seal",
        ),
        pytest.param(
            "UPDATE decision_seals SET faults = '[[1, \"changed\"]]' WHERE first = 1",
            [(1, 1, "changed"), (2, 2, "changed")],
            id="faults put into a seal",
        ),
        pytest.param(
            "DELETE FROM decision_seals WHERE first = 5", [(5, 5, "changed")], id="a lost seal"
        ),
    ],
)
def test_verify_reports_tampering_after_a_rotation(rotated, rows, statement, faults):
    assert rotated() == (0, [])
    rows.change(text(statement))

    assert rotated() == (1 if faults else 0, faults)


@pytest.mark.slow
def test_the_old_key_may_be_removed_once_its_rows_are_signed_again(run, keep, environment):
    keep(decision("a"))

    def finding():
        checks = json.loads(run("doctor", "--json", "--offline").stdout)["checks"]
        return next(check["outcome"] for check in checks if check["name"] == "decision log")

    assert finding() == "ok"
    environment.setenv("AGW_SECRET_KEYS", f"{NEW},{OLD}")
    assert finding() == "warn"
    run("secret", "rotate")
    assert finding() == "ok"
    for keys in (NEW, f"third key of the tests,{NEW}"):
        environment.setenv("AGW_SECRET_KEYS", keys)
        assert run("secret", "rotate").exit_code == 0
    environment.setenv("AGW_SECRET_KEYS", "third key of the tests")

    assert finding() == "ok"
    assert run("decisions", "verify").exit_code == 0


def test_a_rotation_hides_no_tampering_that_came_before_it(run, keep, rows, environment):
    keep(decision("a"), decision("b"), decision("c"))
    rows.change(text("UPDATE decisions SET status = 200 WHERE request_id = 'b'"))
    environment.setenv("AGW_SECRET_KEYS", f"{NEW},{OLD}")
    assert run("secret", "rotate").exit_code == 0
    environment.setenv("AGW_SECRET_KEYS", NEW)
    result = json.loads(run("decisions", "verify", "--json").stdout)

    assert [(fault["number"], fault["fault"]) for fault in result["faults"]] == [(2, "changed")]


def test_a_process_may_append_to_a_chain_that_was_signed_again(run, deployed, environment):
    """One that was not restarted goes on with the old key; the next rotation signs its rows."""

    async def rotate_between(log):
        log.write(decision("a"), change=False)
        await log.flush()
        ring = Keyring([NEW, OLD])
        done = [await seal_decisions(log._database, ring, progress=lambda *_: None)]
        log.write(decision("b"), change=False)
        await log.flush()
        done.append(await seal_decisions(log._database, ring, progress=lambda *_: None))
        return [result["sealed"] for result in done]

    async def sealing():
        database = Database.open(deployed)
        sealed = await rotate_between(DecisionLog(database, Keyring([OLD]), days=30))
        await database.close()
        return sealed

    assert asyncio.run(sealing()) == [1, 1]
    environment.setenv("AGW_SECRET_KEYS", NEW)
    assert run("decisions", "verify").exit_code == 0


def test_a_seal_over_rows_of_both_keys_locates_a_change_among_the_old_ones(
    run, keep, rows, environment
):
    assert run("resource", "add", "old").exit_code == 0
    assert run("resource", "add", "older").exit_code == 0
    environment.setenv("AGW_SECRET_KEYS", f"{NEW},{OLD}")
    assert run("resource", "add", "new").exit_code == 0
    assert run("secret", "rotate").exit_code == 0
    environment.setenv("AGW_SECRET_KEYS", NEW)
    assert run("decisions", "verify").exit_code == 0
    rows.change(text("UPDATE decisions SET actor = 'eve' WHERE number = 2"))

    result = json.loads(run("decisions", "verify", "--json").stdout)
    assert [(fault["number"], fault["last"]) for fault in result["faults"]] == [(1, 2)]


def test_rows_of_an_unknown_key_are_named_and_not_signed_again(run, keep, environment):
    keep(decision("a"))
    environment.setenv("AGW_SECRET_KEYS", NEW)
    done = run("secret", "rotate", "--json")
    (chain,) = json.loads(done.stdout)["decisions"]["unreadable"]

    assert done.stderr == f"No key verifies these chains of the decision log: {chain}\n"
    assert done.exit_code == 0
    assert run("decisions", "verify").exit_code == 1


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
                return [(await anext(followed)).request_id for _ in range(count)]

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
        "  by scope: BLOCKED  upstream 200  rule 7  request a\n"
        "2026-09-21T14:13:20Z  token 1  rest  collabFile  refused  404  upstream 200  request b\n"
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


def test_the_reason_of_a_provider_is_shown(run, deployed):
    async def keep():
        database = Database.open(deployed)
        log = ProviderErrorLog(database, Keyring(["k" * 20]), days=30, clock=lambda: NOON)
        reason = {"upstream": "COLLAB", "status": 403, "text": "accessDenied"}
        log.write("r", "PROVIDER_ERROR", [FailedResponse(connection=7, **reason)])
        await log.flush()
        await database.close()

    asyncio.run(keep())

    assert json.loads(run("decisions", "reason", "r", "--json").stdout) == {
        "requestId": "r",
        "errors": [
            {
                "at": "2026-09-21T14:13:20Z",
                "connectionId": 7,
                "provider": "COLLAB",
                "status": 403,
                "code": "PROVIDER_ERROR",
                "text": "accessDenied",
            }
        ],
    }
    assert run("decisions", "reason", "r").stdout == (
        "2026-09-21T14:13:20Z  COLLAB  connection 7  403  caller: PROVIDER_ERROR\n  accessDenied\n"
    )
    unknown = run("decisions", "reason", "other")
    assert (unknown.exit_code, unknown.stderr) == (
        1,
        "No provider error is stored for request other.\n",
    )
