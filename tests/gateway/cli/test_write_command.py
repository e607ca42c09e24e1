"""`write` and `approver`: held writes are shown, and decided about as by the management API."""

import hashlib
import json
import re

import pytest
from held_rows import held_row
from sqlmodel import select
from typer.testing import CliRunner

from gateway.cli.main import app
from gateway.secrets.keyring import Keyring
from gateway.store.further_tables import ApproverRow, HeldWriteRow, WebhookTarget
from gateway.store.tables import DecisionRow

WORDS = {
    "release": ("releasing", None, "releaseWrite"),
    "reject": ("rejected", "A person rejected it.", "rejectWrite"),
}


def run(*words):
    return CliRunner().invoke(app, [*map(str, words)])


def loaded(*words):
    result = run(*words, "--json")
    assert result.exit_code == 0, result.stderr
    return json.loads(result.stdout)


@pytest.fixture
def hold(token, rows):
    """A function that stores held writes of token 1: id and members of each."""
    keyring = Keyring.read("k" * 20)

    def add(*new):
        rows.add(*(held_row(keyring, write_id, **members) for write_id, members in new))

    return add


@pytest.fixture
def held(hold):
    """Two writes that wait, and one that was done."""
    hold(
        ("w1", {"created_at": 1}),
        ("w2", {"created_at": 2}),
        ("w3", {"created_at": 3, "state": "done", "ended_at": 4}),
    )


def test_those_that_wait_are_listed_newest_first(held):
    assert [row["id"] for row in loaded("write", "list")] == ["w2", "w1"]
    assert [row["id"] for row in loaded("write", "list", "--state", "done")] == ["w3"]
    assert [row["id"] for row in loaded("write", "list", "--state", "all")] == ["w3", "w2", "w1"]
    lines = run("write", "list").stdout.splitlines()
    assert lines[0].split() == ["ID", "STATE", "OPERATION", "TOKEN", "NAME", "ASKED", "UNTIL"]
    assert lines[1].split()[:5] == ["w2", "held", "sendEmail", "1", "t"]
    assert run("write", "list", "--state", "waiting").exit_code == 2


def test_a_write_is_shown_in_sentences_with_its_arguments(held):
    shown = run("write", "show", "w1")
    members = loaded("write", "show", "w1")

    assert shown.exit_code == 0
    lines = [line.strip() for line in shown.stdout.splitlines()]
    assert lines[0] == "w1: token 1 (t) asks; state held."
    assert lines[1:6] == [
        "Send a message.",
        "By the account ada@example.org (connection 7).",
        "To bo@work.example.",
        "Subject: s",
        "With the arguments:",
    ]
    assert '"body": "b",' in lines
    assert members["sentences"] == lines[1:5]
    assert members["arguments"] == {"written": {"subject": "s", "body": "b", "attachments": []}}


def test_texts_of_others_do_not_steer_the_terminal(hold):
    hostile = "a\x1b[2Jb\nc\u202ed"
    hold(("w1", {"subject": hostile, "body": hostile}))

    for shown in (run("write", "show", "w1").stdout, run("write", "release", "w1", "-y").stderr):
        assert "Subject: a\ufffd[2Jb\ufffdc\ufffdd" in shown
        assert not {"\x1b", "\u202e"} & {*shown}


@pytest.mark.parametrize("verb", WORDS)
def test_each_is_shown_and_decided_about_once(held, rows, verb):
    state, reason, operation = WORDS[verb]
    decided = run("write", verb, "w1", "w2", "--yes")

    assert (decided.exit_code, decided.stdout) == (0, "")
    assert decided.stderr.count("To bo@work.example.") == 2
    assert "w1: token 1 (t) asks" in decided.stderr
    assert ("No process serves" in decided.stderr) is (verb == "release")
    again = run("write", verb, "w1", "--yes")
    assert again.exit_code == 1
    assert f"This write does not wait any more: it is {state}." in again.stderr
    writes = rows.all(select(HeldWriteRow).where(HeldWriteRow.id != "w3"))
    changes = rows.all(select(DecisionRow).order_by(DecisionRow.id))
    assert [(row.state, row.reason) for row in writes] == [(state, reason)] * 2
    logged = [(each.operation, each.resource_id, each.token_id, each.door) for each in changes]
    assert logged == [(operation, "w1", 1, "cli"), (operation, "w2", 1, "cli")]
    assert {row.decided_by for row in writes} == {each.actor for each in changes}


def test_without_a_terminal_nothing_is_decided(held):
    refused = run("write", "release", "w1")

    assert refused.exit_code == 2
    assert "there is no terminal to ask on: confirm with --yes" in refused.stderr
    assert loaded("write", "show", "w1")["state"] == "held"


def test_what_was_decided_before_a_refusal_is_reported(held):
    result = run("write", "reject", "w1", "w3", "w2", "--yes", "--json", "--reason", "Not today.")

    assert result.exit_code == 1
    (decided,) = json.loads(result.stdout)
    assert (decided["id"], decided["state"], decided["reason"]) == ("w1", "rejected", "Not today.")
    assert loaded("write", "show", "w2")["state"] == "held"


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (("release", "of-no-write"), "There is no such write."),
        (("show", "x" * 30), "There is no such write."),
        (("reject", "w3"), "This write does not wait any more: it is done."),
        (("reject", "w1", "--reason", "x" * 201), "reason"),
    ],
)
def test_what_cannot_be_decided_is_refused_in_a_sentence(held, words, sentence):
    yes = () if words[0] == "show" else ("--yes",)
    refused = run("write", *words, *yes)

    assert (refused.exit_code, refused.stdout) == (1, "")
    assert sentence in refused.stderr
    assert loaded("write", "show", "w1")["state"] == "held"


def test_one_whose_time_is_over_is_not_released(hold):
    hold(("w1", {"expires_at": 1}))
    refused = run("write", "release", "w1", "--yes")

    assert refused.exit_code == 1
    assert "This write does not wait any more: its time is over." in refused.stderr


def test_approvers_are_added_listed_and_removed(token, rows):
    words = ("approver", "add", "Ada", "--operator", "o", "--resource", 1)
    added = run(*words)
    credential = added.stdout.strip()

    assert added.exit_code == 0, added.stderr
    assert re.fullmatch(r"agwa_[\w-]{43}", credential)
    assert credential not in added.stderr
    (row,) = rows.all(select(ApproverRow))
    assert row.digest == hashlib.sha256(credential.encode()).digest()
    (listed,) = loaded("approver", "list")
    assert {**listed, "createdAt": ""} == {
        "id": 1,
        "name": "Ada",
        "operatorIds": ["o"],
        "resourceIds": [1],
        "createdAt": "",
    }
    assert credential not in run("approver", "list").stdout
    assert loaded("approver", "add", "Bo")["operatorIds"] == []
    assert run(*words).exit_code == 1  # the name is taken

    assert run("approver", "remove", 1).exit_code == 2  # nobody confirmed it
    assert run("approver", "remove", 1, "--yes").exit_code == 0
    assert [each["name"] for each in loaded("approver", "list")] == ["Bo"]
    assert run("approver", "remove", 1, "--yes").exit_code == 1
    changes = rows.all(select(DecisionRow).order_by(DecisionRow.id))
    logged = [(each.operation, each.resource_id) for each in changes]
    assert logged == [("createApprover", "1"), ("createApprover", "2"), ("removeApprover", "1")]


@pytest.mark.parametrize("words", [("--operator", "x"), ("--resource", "9")])
def test_an_approver_of_something_unknown_is_refused(token, words):
    assert run("approver", "add", "Ada", *words).exit_code == 1
    assert loaded("approver", "list") == []


def test_notices_are_added_rotated_listed_and_removed(token, rows):
    words = ("write", "notice", "add", "https://hooks.example/x", "--operator", "o")
    added = run(*words)
    secret = added.stdout.strip()
    (listed,) = loaded("write", "notice", "list")

    assert added.exit_code == 0, added.stderr
    assert re.fullmatch(r"whsec_[\w+/]{43}=", secret)
    assert {**listed, "id": "", "createdAt": ""} == {
        "id": "",
        "url": "https://hooks.example/x",
        "operatorId": "o",
        "state": "active",
        "lastError": None,
        "createdAt": "",
    }
    assert secret.encode() not in rows.all(select(WebhookTarget.secrets))[0]
    assert run("write", "notice", "rotate", listed["id"]).stdout.strip() != secret
    assert run("write", "notice", "remove", listed["id"]).exit_code == 2  # nobody confirmed it
    assert run("write", "notice", "remove", listed["id"], "--yes").exit_code == 0
    assert loaded("write", "notice", "list") == []
    assert run("write", "notice", "rotate", listed["id"]).exit_code == 1
    changes = rows.all(select(DecisionRow.operation).order_by(DecisionRow.id))
    assert changes == ["createNotice", "rotateNotice", "removeNotice"]


@pytest.mark.parametrize(
    "words",
    [
        ("http://hooks.example",),
        ("https://10.0.0.1/",),
        ("https://hooks.example", "--operator", "x"),
    ],
)
def test_a_notice_that_cannot_be_told_is_refused(token, words):
    assert run("write", "notice", "add", *words).exit_code == 1
    assert loaded("write", "notice", "list") == []
