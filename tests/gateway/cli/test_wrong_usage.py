"""Words that do not fit together are exit code 2 and a sentence; an unknown id is 1 and one."""

import socket

import pytest
from sqlmodel import select

from gateway.store.tables import AccessToken, ConnectionRow, Operator, Resource

LIST = "GET /api/access/email/messages"
ACCOUNT = "a@b.example --operator o --resource 1"
COLLAB = f"connection add collab COLLAB {ACCOUNT}"
BOARDS = f"connection add tasks BOARDS {ACCOUNT}"


@pytest.fixture
def people(rows):
    rows.add(Operator(id="o", email="o@example.org", display_name="O", created_at=0))
    rows.add(Resource(name="r", created_at=0))
    rows.link(operator="o", resource=1)
    return rows


@pytest.fixture
def token(people):
    row = {"key_id": "k", "digest": b"d" * 32, "operator_id": "o", "created_at": 0}
    people.add(AccessToken(name="t", settings={}, **row))


def flat(shown):
    """Return what a person reads, without frames and line ends."""
    return " ".join(shown.replace("│", " ").split())


MISFITS = [
    ("explain 1 GET", "say what to GET: `explain 1 GET /api/access/…`"),
    (f"explain 1 {LIST} --variables {{}}", "--variables and --operation go with --document"),
    ("explain 1 --operation x", "--variables and --operation go with --document"),
    ("explain 1 --query a=b", "--query and --body go with METHOD and PATH"),
    ("explain 1 --document d --body {}", "--query and --body go with METHOD and PATH"),
    (f"explain 1 {LIST} --document d", "METHOD and PATH or about --document FILE, not both"),
    ("explain 1 --document here --variables []", "variables must be a JSON object"),
    (f"explain 1 {LIST} --body @nowhere", "nowhere cannot be read: No such file or directory"),
    ("query @nowhere", "nowhere cannot be read: No such file or directory"),
    ("query nowhere", "nowhere cannot be read: No such file or directory"),
    ("query @damaged", "damaged cannot be read: it is no UTF-8 text"),
    (f"{BOARDS} --api-token", "the secret is read from standard input: put `< FILE` behind it"),
    (f"{BOARDS} --api-token --device", "leave out --api-token, --client-id, --server"),
    (f"{BOARDS} --untested", "--untested goes with --api-token, --client-id or --server"),
    (f"{BOARDS} --client-id c --tenant t", "--client-id is for collab alone"),
    (f"{COLLAB} --client-id c --tenant t --api-token", "--api-token or --client-id, not both"),
    (f"{COLLAB} --client-id c", "--client-id and --tenant go together"),
    (f"{COLLAB} --tenant t", "--client-id and --tenant go together"),
    (f"{COLLAB} --site s", "--site goes with --client-id and --tenant"),
    ("connection add --shared t@b.example", "--shared and --on go together"),
    ("connection add --on 1", "--shared and --on go together"),
    (
        "connection add email PROVIDER_B --shared t@b.example --on 1",
        "--shared takes kind, provider and credentials of --on",
    ),
    ("sandbox --port 65536", "must be at most 65535"),
    ("serve --port 65536", "must be at most 65535"),
    ("token show abc", "Invalid value for 'token_id': must be a whole number. See"),
    ("serve --workers 0", "must be at least 1"),
]


@pytest.mark.slow
@pytest.mark.parametrize(("line", "message"), MISFITS, ids=[line for line, _ in MISFITS])
def test_incompatible_options_are_wrong_usage(  # noqa: PLR0917 - fixtures and a row
    run, token, people, tmp_path, line, message
):
    (tmp_path / "here").write_text("{ accessToken { id } }")
    (tmp_path / "damaged").write_bytes(b"\xff")
    done = run(*line.split(), input="", env={"TERMINAL_WIDTH": "200"})

    assert (done.exit_code, done.stdout) == (2, "")
    assert message in flat(done.stderr)
    assert people.all(select(ConnectionRow)) == []


UNKNOWN = [
    (f"explain 9 {LIST}", "There is no token 9."),
    ("token show 9", "There is no token 9."),
    ("token change 9 --name x", "There is no token 9."),
    ("token revoke 9", "There is no token 9."),
    ("token rotate 9", "There is no token 9."),
    ("token create t --operator nobody --resource 1", "There is no operator nobody."),
    ("token create t --operator o --resource 9", "There is no resource 9."),
    ("rule add 9 allow drive_id d", "There is no token 9."),
    ("rule list 9", "There is no token 9."),
    ("rule remove 9 1", "There is no token 9."),
    ("rule remove 1 9", "The token has no rule 9."),
    ("rule test 9", "There is no token 9."),
    ("resource add r --operator nobody", "There is no operator nobody."),
    ("connection add --shared t@b.example --on 9", "There is no connection 9."),
    ("connection test 9", "There is no connection 9."),
    ("connection reconnect 9", "There is no connection 9."),
    ("connection reconnect 9 --link", "There is no connection 9."),
    ("connection remove 9", "There is no connection 9."),
    (BOARDS.replace("operator o", "operator nobody"), "There is no operator nobody."),
    (BOARDS.replace("resource 1", "resource 9"), "There is no resource 9."),
    (
        BOARDS.replace("BOARDS", "FAX"),
        "FAX is not a provider of tasks. Known: BOARDS (monday.com), PROJECTS (Asana).",
    ),
    (
        BOARDS.replace("tasks", "fax"),
        "There is no kind fax. Known: email, calendar, collab, tasks.",
    ),
    ("db downgrade 0000 --yes", "There is no version 0000, only 0019"),
    ("db restore nowhere --yes", "There is no file nowhere."),
    ("db backup nowhere/copy", "There is no folder nowhere to write copy to."),
    ("explain 1", "`explain ID GET /api/access/email/messages` or `explain ID --document FILE`."),
    (f"explain 1 {LIST.replace('GET', 'FETCH')}", "method must be one of GET, HEAD, POST"),
]


@pytest.mark.slow
@pytest.mark.parametrize(("line", "message"), UNKNOWN, ids=[line for line, _ in UNKNOWN])
def test_an_unknown_id_or_name_is_reported_in_one_sentence(run, token, people, line, message):
    done = run(*line.split())

    assert (done.exit_code, done.stdout) == (1, "")
    assert message in done.stderr
    assert done.stderr.count("\n") == 1
    assert people.all(select(ConnectionRow)) == []


@pytest.mark.parametrize("name", ["serve", "sandbox"])
def test_an_address_in_use_is_named(run, environment, name):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        environment.setenv("AGW_PORT", str(port))  # which `serve` sets for its workers
        done = run(name, "--port", port)

    assert (done.exit_code, done.stdout) == (1, "")
    assert done.stderr == f"Address already in use: 127.0.0.1:{port}\n"


def test_an_unknown_host_is_named(run, environment):
    environment.setenv("AGW_HOST", "nobody.invalid")
    done = run("serve")

    assert (done.exit_code, done.stdout) == (1, "")
    assert done.stderr.endswith(": nobody.invalid:8000\n")


def test_an_invalid_e_mail_address_is_refused_before_the_consent(run, people):
    words = "connection add email PROVIDER_A nobody --operator o --resource 1"
    done = run(*words.split())

    assert (done.exit_code, done.stdout) == (1, "")
    assert done.stderr == ("The input is invalid.\n  accountEmail: must be an e-mail address\n")
    assert people.all(select(ConnectionRow)) == []


LOCAL = [
    "token list",
    "token show 1",
    "token export",
    "rule list 1",
    "policy export",
    "decisions list",
    "decisions verify",
    "operator list",
    "resource list",
    "connection list",
    "secret rotate",
    "db current",
]


@pytest.mark.parametrize("line", LOCAL)
def test_commands_on_the_store_need_no_admin_token(run, token, environment, line):
    environment.delenv("AGW_ADMIN_TOKEN")
    done = run(*line.split())

    assert done.exit_code == 0, done.stderr


def test_a_gateway_in_this_process_needs_no_admin_token(run, people, environment):
    made = run("token", "create", "t", "--operator", "o", "--resource", 1)
    environment.delenv("AGW_ADMIN_TOKEN")
    environment.setenv("AGW_TOKEN", made.stdout.strip())
    result = run("query", "{ accessToken { name } }")
    explained = run("explain", 1, *LIST.split())

    assert (result.exit_code, '"name": "t"' in result.stdout) == (0, True)
    assert (explained.exit_code, "EMAIL_NOT_ENABLED" in explained.stdout) == (1, True)


@pytest.mark.parametrize("way", [("--api-token",), ("--client-id", "c", "--tenant", "t")])
def test_a_secret_that_upstream_refuses_is_stored_only_untested(run, people, environment, way):
    environment.setenv("AGW_TASKS_URL", "http://127.0.0.1:1")
    environment.setenv("AGW_COLLAB_URL", "http://127.0.0.1:1")
    environment.setenv("AGW_OAUTH_B_URL", "http://127.0.0.1:1")
    line = BOARDS if way == ("--api-token",) else COLLAB
    tried = run(*line.split(), *way, input="a-secret\n")

    assert (tried.exit_code, tried.stdout) == (1, "")
    assert tried.stderr.endswith(" Nothing is stored; --untested stores it without a test.\n")
    assert people.all(select(ConnectionRow)) == []

    stored = run(*line.split(), *way, "--untested", input="a-secret\n")
    assert (stored.exit_code, stored.stdout) == (0, "")
    assert stored.stderr == "Connection 2 (a@b.example) is active.\n"
    (row,) = people.all(select(ConnectionRow))
    assert (row.status, row.last_ok_at) == ("active", None)
    assert b"a-secret" not in row.credentials


@pytest.mark.parametrize("url", ["postgresql://db/gateway", "mysql://db/gateway", "nothing"])
def test_a_database_url_of_another_driver_is_named(run, environment, url):
    environment.setenv("AGW_DATABASE_URL", url)
    done = run("db", "current")

    assert (done.exit_code, done.stdout) == (1, "")
    assert done.stderr == (
        "AGW_DATABASE_URL is not a valid database URL: sqlite+aiosqlite:///FILE or "
        "postgresql+asyncpg://…\n"
    )
