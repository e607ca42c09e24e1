"""`document add|list|show|remove|test`: the same as over the management API."""

import json

import pytest
from typer.testing import CliRunner

from gateway.cli.main import app

LIST = "query Inbox($limit: Int) { emails(limit: $limit) { emails { id subject } } }"
PATH = "/api/saved/inbox"


def run(*words, **more):
    return CliRunner().invoke(app, [*map(str, words)], **more)


def test_a_document_is_added_listed_shown_tested_and_removed(token):
    made = run("document", "add", "inbox", "-", PATH, "--json", input=LIST)
    assert made.exit_code == 0, made.stderr
    (listed,) = json.loads(run("document", "list", "--json").stdout)
    shown = json.loads(run("document", "show", "inbox", "--json").stdout)
    assert shown == json.loads(made.stdout)
    assert {name: shown[name] for name in listed} == listed
    assert (listed["name"], listed["method"], listed["path"]) == ("inbox", "GET", PATH)
    assert LIST in run("document", "show", "inbox").stdout

    assert json.loads(run("document", "test", "inbox", "--json").stdout) == [
        {"token": None, "problem": None}
    ]
    tested = run("document", "test", "inbox", "--token", 1)
    assert tested.exit_code == 1
    assert tested.stdout.splitlines() == [
        "schema: fits",
        "token 1: Cannot query field 'emails' on type 'Query'.",
    ]

    assert run("document", "remove", "inbox").exit_code == 0
    assert json.loads(run("document", "list", "--json").stdout) == []
    assert run("document", "remove", "inbox").exit_code == 1


@pytest.mark.slow
def test_what_cannot_be_saved_is_refused_in_a_sentence(token):
    for words, sentence in (
        (("Inbox", "-", PATH), "name must have 1 to 63 characters"),
        (("inbox", "-", "/inbox"), "path must start with /api/saved/"),
        (("inbox", "-", PATH, "POST"), "method must be GET, because the document is a query"),
        (("inbox", "-", PATH, "--token", 1), "Token 1 cannot use it: Cannot query field 'emails'"),
    ):
        refused = run("document", "add", *words, input=LIST)
        assert refused.exit_code == 1, words
        assert sentence in refused.stderr, refused.stderr
    assert json.loads(run("document", "list", "--json").stdout) == []
