"""Rules from the command line: the same as over the management API, and a dry run of them."""

import json

import pytest
from typer.testing import CliRunner

from gateway.cli.main import app

FILE = "collab:drive:b!d:item:01F"
FOLDER = "collab:drive:b!d:item:01UP"


def run(*words):
    return CliRunner().invoke(app, [*map(str, words)])


def test_a_rule_is_added_listed_and_removed(token):
    made = json.loads(run("rule", "add", 1, "allow", "file_id", FILE, "--json").stdout)
    assert (made["id"], made["pattern"], made["source"]) == (1, "b!d:01F", "manual")
    assert [load["id"] for load in json.loads(run("rule", "list", 1, "--json").stdout)] == [1]
    assert "b!d:01F" in run("rule", "list", 1).stdout

    assert run("rule", "remove", 1, 1).exit_code == 0
    assert json.loads(run("rule", "list", 1, "--json").stdout) == []
    assert run("rule", "remove", 1, 1).exit_code == 1


@pytest.mark.parametrize(
    "words",
    [
        pytest.param((1, "allow", "colour", "x"), id="another type"),
        pytest.param((1, "perhaps", "file_id", "x"), id="another action"),
        pytest.param((1, "allow", "site_id", "x"), id="no pattern of its type"),
        pytest.param((9, "allow", "file_id", "x"), id="no token"),
    ],
)
def test_an_invalid_rule_is_refused_in_a_sentence(token, words):
    refused = run("rule", "add", *words)

    assert (refused.exit_code, refused.stdout) == (1, "")
    assert refused.stderr.strip()


def test_the_same_rule_twice_is_refused(token):
    run("rule", "add", 1, "allow", "file_id", FILE)

    assert run("rule", "add", 1, "allow", "file_id", FILE).exit_code == 1


@pytest.mark.slow
@pytest.mark.parametrize(
    ("words", "code", "message"),
    [
        pytest.param((FILE,), 1, "blocked, by default: no rule matches", id="nothing matches"),
        pytest.param((FILE, "--under", FOLDER), 0, "allowed, by rule 1", id="below the folder"),
        pytest.param((FOLDER,), 1, "blocked, by default: no rule matches", id="the folder itself"),
        pytest.param(
            (FILE, "--under", FOLDER, "--mime-type", "image/png"),
            1,
            "blocked, by rule 2",
            id="a block wins",
        ),
        pytest.param(("nothing",), 1, "", id="no id"),
    ],
)
def test_rules_are_evaluated_without_upstream_calls(token, words, code, message):
    run("rule", "add", 1, "allow", "folder", FOLDER)
    run("rule", "add", 1, "block", "mime_type", "image/*")

    tried = run("rule", "test", 1, *words)

    assert (tried.exit_code, tried.stdout.strip()) == (code, message)


def recipients(*words):
    return run("rule", "recipient", *words)


def test_recipient_rules_are_added_listed_tested_and_removed(token):
    assert json.loads(recipients("list", 1, "--json").stdout) == [
        {"action": "allow", "pattern": "*"}
    ]

    added = recipients("add", 1, "allow", "Bo+x@Work.Example", "--json")
    assert json.loads(added.stdout) == {"action": "allow", "pattern": "bo@work.example"}
    assert recipients("add", 1, "block", "@else.example").exit_code == 0
    assert json.loads(recipients("list", 1, "--json").stdout) == [
        {"action": "allow", "pattern": "bo@work.example"},
        {"action": "block", "pattern": "@else.example"},
    ]

    allowed = recipients("test", 1, "BO@work.example")
    assert (allowed.exit_code, allowed.stdout) == (
        0,
        "bo@work.example: allowed, by allow bo@work.example\n",
    )
    blocked = recipients("test", 1, "x@else.example")
    assert (blocked.exit_code, blocked.stdout) == (
        1,
        "x@else.example: not allowed, by block @else.example\n",
    )
    assert recipients("test", 1, "new@work.example").exit_code == 1

    assert recipients("remove", 1, "allow", "bo@work.example").exit_code == 0
    assert recipients("remove", 1, "allow", "bo@work.example").exit_code == 1
    assert recipients("test", 1, "bo@work.example").exit_code == 1


def test_the_first_block_rule_leaves_the_others_allowed(token):
    recipients("add", 1, "block", "@else.example")

    assert recipients("test", 1, "new@work.example").exit_code == 0
    assert recipients("test", 1, "new@else.example").exit_code == 1


@pytest.mark.parametrize("words", [(1, "perhaps", "*"), (1, "allow", "bo"), (9, "allow", "*")])
def test_an_invalid_recipient_rule_is_refused(token, words):
    assert recipients("add", *words).exit_code == 1
