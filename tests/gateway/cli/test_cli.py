"""Commands write data to standard output, talk on standard error, and exit 0, 1 or 2."""

import json
import re
import subprocess
import sys

import pytest
from typer.testing import CliRunner

from gateway.auth import token_format
from gateway.cli.main import app
from gateway.version import API_VERSION, VERSION

runner = CliRunner()


@pytest.fixture
def environment(store_named):
    """A store with nothing in it."""


@pytest.fixture
async def accounts(environment, database):
    """An operator and a resource."""
    from gateway.store.tables import Operator, OperatorResource, Resource

    async with database.writing() as session:
        session.add(Operator(id="o", email="o@example.org", display_name="O", created_at=0))
        session.add(Resource(name="r", created_at=0))
        await session.flush()
        session.add(OperatorResource(operator_id="o", resource_id=1))


def run(*words, **options):
    return runner.invoke(app, [*map(str, words)], **options)


def create(*words, **options):
    return run("token", "create", "reports", "--operator", "o", "--resource", 1, *words, **options)


def test_a_token_is_made_shown_listed_rotated_and_revoked(accounts):
    made = create("--settings", '{"emailAccessEnabled": true}')
    assert made.exit_code == 0
    text = made.stdout.strip()
    assert token_format.digest(text) is not None
    assert "only time" in made.stderr

    shown = json.loads(run("token", "show", 1, "--json").stdout)
    assert shown["settings"]["emailAccessEnabled"] is True
    assert "token" not in shown
    listed = run("token", "list")
    assert text not in listed.stdout
    assert [line.split()[1] for line in listed.stdout.splitlines()] == ["NAME", "reports"]

    rotated = json.loads(run("token", "rotate", 1, "--grace", 60, "--json").stdout)
    assert rotated["token"] != text
    revoked = run("token", "revoke", 1)
    assert (revoked.exit_code, revoked.stdout) == (0, "")
    assert json.loads(run("token", "list", "--status", "revoked", "--json").stdout)[0]["id"] == 1
    assert json.loads(run("token", "list", "--status", "active", "--json").stdout) == []


def test_settings_come_from_standard_input_or_a_file(accounts, tmp_path):
    (tmp_path / "settings.json").write_text('{"maskMode": "basic"}')

    for words, options in (
        (("--settings", "-"), {"input": '{"maskMode": "basic"}'}),
        (("--settings", "@settings.json"), {}),
    ):
        made = json.loads(create(*words, "--json", **options).stdout)
        assert made["settings"]["maskMode"] == "basic"


@pytest.mark.parametrize(
    ("words", "code"),
    [
        pytest.param(("token", "show", 9), 1, id="an unknown token"),
        pytest.param(("token", "revoke", 9), 1, id="revoking an unknown token"),
        pytest.param(("token", "list", "--status", "dead"), 1, id="an unknown status"),
        pytest.param(("token", "rotate", 1, "--grace", -1), 2, id="a bad grace"),
        pytest.param(("token", "show", "x"), 2, id="an id that is no number"),
        pytest.param(("nonsense",), 2, id="an unknown command"),
    ],
)
def test_failures_have_exit_codes_and_leave_standard_output_alone(accounts, words, code):
    result = run(*words)

    assert (result.exit_code, result.stdout) == (code, "")
    assert result.stderr != ""
    assert "Traceback" not in result.stderr


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (("--settings", "{"), 2),
        (("--settings", "[]"), 2),
        (("--settings", '{"x": 1}'), 1),
        (("--expires", "soon"), 1),
        (("--expires", "2020-01-01"), 1),
        (("--resource", "7"), 1),
    ],
)
def test_invalid_options_create_no_token(accounts, words, code):
    assert create(*words).exit_code == code
    assert json.loads(run("token", "list", "--json").stdout) == []


def test_serving_without_secrets_is_refused(environment, monkeypatch):
    monkeypatch.delenv("AGW_ADMIN_TOKEN")
    result = run("serve")

    assert result.exit_code == 1
    assert result.stderr.startswith("AGW_ADMIN_TOKEN is needed")


@pytest.mark.parametrize("command", ["serve", "token list"])
def test_a_file_that_is_not_a_database_is_reported_in_one_sentence(
    environment, tmp_path, monkeypatch, command
):
    (tmp_path / "broken.db").write_bytes(b"no database" * 1000)
    monkeypatch.setenv("AGW_DATABASE_URL", f"sqlite+aiosqlite:///{tmp_path / 'broken.db'}")
    result = run(*command.split())

    assert (result.exit_code, result.stdout) == (1, "")
    assert result.stderr == "The database refused: file is not a database\n"


def test_a_sandbox_file_that_is_not_a_database_is_reported_in_one_sentence(tmp_path):
    (tmp_path / "sandbox.db").write_bytes(b"no database" * 1000)
    words = ("sandbox", "import", "--into", "provider-a", "--data", str(tmp_path), "any.eml")
    result = run(*words)

    assert (result.exit_code, result.stdout) == (1, "")
    assert result.stderr == "The database refused: file is not a database\n"


def test_a_setting_that_cannot_be_read_is_named(environment, monkeypatch):
    monkeypatch.setenv("AGW_PORT", "many")
    result = run("token", "list")

    assert result.exit_code == 1
    assert result.stderr.startswith("AGW_PORT must be a whole number.")


def test_a_weak_key_is_refused(environment, monkeypatch):
    monkeypatch.setenv("AGW_SECRET_KEYS", "weak")
    result = run("token", "list")

    assert result.exit_code == 1
    assert "at least 16 characters" in result.stderr


def test_a_new_secret_is_printed(environment):
    assert len(run("secret", "new").stdout.strip()) == 43


def test_rotation_of_an_empty_store(environment):
    result = run("secret", "rotate")

    assert (result.exit_code, result.stderr) == (0, "0 credentials encrypted again.\n")


def test_help_imports_no_heavy_module():
    script = (
        "import sys\n"
        "from gateway.cli import main\n"
        "heavy = {'strawberry', 'sqlmodel', 'fastapi', 'uvicorn', 'httpx'} & set(sys.modules)\n"
        "print(sorted(heavy))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )

    assert done.stdout == "[]\n"


def test_real_mail_is_loaded_into_the_sandbox(tmp_path):
    (tmp_path / "one.eml").write_text(
        "From: a@b.example\nTo: c@d.example\nSubject: hello\n"
        "Date: Fri, 20 Nov 2026 10:00:00 +0000\nMessage-ID: <1@b.example>\n\nhello\n"
    )
    words = ("sandbox", "import", tmp_path / "one.eml", "--data", tmp_path / "data")
    done = run(*words, "--into", "provider-a")

    assert (done.exit_code, done.stderr) == (0, "")
    assert "1" in done.stdout
    refused = run(*words, "--into", "nowhere")
    assert (refused.exit_code, refused.stdout) == (1, "")
    assert "nowhere" in refused.stderr


def test_the_version_of_package_api_and_database_is_shown(run):
    shown = run("--version")

    assert shown.exit_code == 0
    assert re.fullmatch(
        rf"access-gateway {re.escape(VERSION)} \(API {API_VERSION}, database \d{{4}}\)\n",
        shown.stdout,
    )
