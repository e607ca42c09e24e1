"""`explain` writes layers as a table and the change as commands that can be run."""

import json
import shlex

import pytest
from typer.testing import CliRunner

from gateway.cli.main import app

runner = CliRunner()
LIST = ("GET", "/api/access/email/messages")


@pytest.fixture
async def account(store_named, connected):
    """A store with an operator and a mail account."""
    await connected(can_write=True, base_url="http://127.0.0.1:9/nobody")


@pytest.fixture
def environment(account):
    """A token besides that may do nothing."""
    assert run("token", "create", "t", "--operator", "o", "--resource", 1).exit_code == 0


def run(*words):
    return runner.invoke(app, [*map(str, words)])


SEND = json.dumps({"to": [{"email": "x@y.example"}], "subject": "s", "body": "b"})


def test_a_refusal_prints_its_layers_and_the_commands_that_lift_it(environment):
    arguments = ("explain", 1, "POST", "/api/access/email/messages/send", "--body", SEND)
    result = run(*arguments)

    lines = result.stdout.splitlines()
    assert result.exit_code == 1, result.stderr
    assert lines[0].split() == ["LAYER", "OUTCOME", "WHY"]
    assert [line.split()[0] for line in lines[1:5]] == [
        "address_limit",
        "token",
        "quota",
        "document",
    ]
    assert lines[13:16] == [
        "",
        "Refused: 422 EMAIL_NOT_ENABLED",
        "This change allows the call: Set emailAccessEnabled to true; add 'send_email' to "
        "allowedEmailOperations.",
    ]
    (command,) = lines[16:]
    name, *words = shlex.split(command)
    assert name == "access-gateway"
    assert run(*words).exit_code == 0

    again = run(*arguments)
    assert (again.exit_code, again.stdout.splitlines()[14:]) == (0, ["Allowed: 200"])


def test_json_output_equals_the_management_api(environment):
    result = run("explain", 1, *LIST, "--query", "q=a b", "--query", "limit=5", "--json")

    explanation = json.loads(result.stdout)
    assert (result.exit_code, explanation["status"], explanation["error"]) == (
        1,
        422,
        "EMAIL_NOT_ENABLED",
    )
    assert explanation["unchangeable"].startswith("The provider failed")
    assert explanation["partialChange"]["settings"] == {"emailAccessEnabled": True}


def test_documents_come_from_files(environment, tmp_path):
    file = tmp_path / "who.graphql"
    file.write_text("query Who { accessToken { id } }")
    result = run("explain", 1, "--document", file, "--operation", "Who", "--json")

    explanation = json.loads(result.stdout)
    assert (result.exit_code, explanation["outcome"]) == (0, "allowed")
    assert [field["field"] for field in explanation["fields"]] == ["accessToken"]


@pytest.mark.slow
def test_hidden_fields_are_listed_by_surface(environment):
    seeing = {"emailAccessEnabled": True, "allowedEmailOperations": ["all"]}
    seeing["visibleEmailFields"] = ["subject"]
    assert run("token", "change", 1, "--settings", json.dumps(seeing)).exit_code == 0
    result = run("explain", 1, *LIST, "--query", "to=a@b.example")

    assert result.exit_code == 1, result.exception
    assert result.stdout.splitlines()[14:16] == [
        "Refused: 403 FIELD_NOT_VISIBLE",
        "Hidden on email: from, to, cc, bcc, body_preview, body, sent_at, received_at, "
        "attachments, labels, importance",
    ]


@pytest.mark.parametrize(
    ("words", "code", "message"),
    [
        ((99, *LIST), 1, "There is no token 99."),
        ((1,), 1, "must have either method and path, or a document"),
        ((1, "GET", "/elsewhere"), 1, "path must be percent-encoded"),
        ((1, *LIST, "--query", "q"), 2, "is not name=value"),
        ((1, *LIST, "--body", "{"), 2, "body cannot be read"),
        ((1, "--document", "absent.graphql"), 2, "absent.graphql cannot be read"),
    ],
)
def test_an_invalid_question_is_reported_on_standard_error(environment, words, code, message):
    result = run("explain", *words)

    assert (result.exit_code, result.stdout) == (code, "")
    assert message in " ".join(result.stderr.replace("│", " ").split())


def test_a_dry_run_is_asked_about_and_refused_like_the_call(environment):
    call = ("POST", "/api/access/email/messages/send", "--body", SEND)
    result = run("explain", 1, *call, "--dry-run", "--if-effect", "x", "--json")

    explanation = json.loads(result.stdout)
    assert (result.exit_code, explanation["error"]) == (1, "EMAIL_NOT_ENABLED")
    assert explanation["dryRun"] is True


@pytest.mark.slow
def test_a_message_that_would_be_held_is_no_refusal(environment):
    settings = {"emailAccessEnabled": True, "allowedEmailOperations": ["all"], "sendMode": "draft"}
    assert run("token", "change", 1, "--settings", json.dumps(settings)).exit_code == 0
    call = ("explain", 1, "POST", "/api/access/email/messages/send", "--body", SEND)

    result = run(*call)
    assert result.exit_code == 0, result.stdout
    assert result.stdout.splitlines()[14] == "Held: 202"
    result = run(*call, "--dry-run")  # it asks the account, which does not answer
    assert result.exit_code == 1
    assert result.stdout.splitlines()[14] == (
        "Failed: 502 PROVIDER_ERROR (a dry run: nothing would be written)"
    )
