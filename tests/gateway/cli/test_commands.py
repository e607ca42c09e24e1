"""Rules of every command: help, `--json`, exit codes, completion, and no traceback."""

import json
import os
import pty
import subprocess
import sys
import threading

import commands_page
import pytest

from gateway.cli.main import _GROUPS
from gateway.demo.profiles import profiles

# What prints no data, and runs until it is stopped.
SILENT = {"serve", "sandbox", "agents"}


def leaves(command):
    subcommands = {}

    def walk(subcommand, words):
        below = getattr(subcommand, "commands", {})
        if not below or (words and subcommand.invoke_without_command):
            subcommands[" ".join(words)] = subcommand
        for name, inner in below.items():
            walk(inner, (*words, name))

    walk(command, ())
    return subcommands


def test_every_command_has_a_group_and_a_help_text(command):
    for name, subcommand in command.commands.items():
        assert subcommand.rich_help_panel in _GROUPS, name
    for name, subcommand in leaves(command).items():
        assert subcommand.help, name
        assert subcommand.help.split("\n\n")[0].rstrip().endswith("."), name
        for parameter in subcommand.params:
            assert parameter.help or parameter.name == "help", (name, parameter.name)


def test_every_command_that_prints_data_prints_json(command):
    without = {
        name
        for name, subcommand in leaves(command).items()
        if not any("--json" in parameter.opts for parameter in subcommand.params)
    }

    assert without == SILENT


def test_no_secret_is_an_argument(command):
    for name, subcommand in leaves(command).items():
        for parameter in subcommand.params:
            if parameter.type_descriptor and parameter.type_descriptor.annotation is not str:
                continue  # a number names a token, a flag asks for a secret elsewhere
            taken = {parameter.name, *parameter.opts}
            assert not taken & {"secret", "password", "token", "--secret", "--token"}, name


def test_the_groups_are_on_the_page_in_their_order(run):
    shown = run("--help")

    assert shown.exit_code == 0
    places = [shown.stdout.index(f"\n{group}:\n") for group in _GROUPS]
    assert places == sorted(places)
    assert "Exit codes: 0 success, 1 failed, 2 wrong usage" in " ".join(shown.stdout.split())


def test_the_reference_has_every_command(command):
    page = commands_page.commands_page()

    for name in leaves(command):
        assert f"\n### {name}\n" in page
    assert commands_page.commands_page() == page


def test_help_imports_nothing_that_it_does_not_need():
    script = (
        "import sys\n"
        "from gateway.cli import main\n"
        "heavy = {'asyncio', 'pydantic', 'sqlalchemy', 'graphql', 'alembic', 'cryptography',"
        " 'redis', 'starlette', 'orjson'}\n"
        "print(sorted(heavy & set(sys.modules)))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )

    assert done.stdout == "[]\n"


@pytest.mark.slow  # a process
def test_a_closed_pipe_causes_no_error_message():
    """As `| head` does: neither a traceback nor a complaint of the interpreter's."""
    process = subprocess.Popen(
        [sys.executable, "-m", "gateway", "schema", "print"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    process.stdout.close()

    assert process.stderr.read() == ""
    assert process.wait(120) in {0, 1}
    process.stderr.close()


NO_DATABASE = {"AGW_DATABASE_URL": "postgresql+asyncpg://u:a-password@127.0.0.1:1/x"}
NO_ANSWER = "The database did not answer: Connect call failed"


@pytest.mark.parametrize(
    ("words", "settings", "message"),
    [
        pytest.param("token list", NO_DATABASE, NO_ANSWER, id="no database: token"),
        pytest.param("policy export", NO_DATABASE, NO_ANSWER, id="no database: policy"),
        pytest.param("db upgrade", NO_DATABASE, NO_ANSWER, id="no database: db"),
        pytest.param("secret rotate", NO_DATABASE, NO_ANSWER, id="no database: secret"),
        pytest.param("query {a}", NO_DATABASE, NO_ANSWER, id="no database: query"),
        pytest.param("seed", NO_DATABASE, NO_ANSWER, id="no database: seed"),
        pytest.param(
            "db current", {"AGW_PORT": "many"}, "AGW_PORT must be a whole number.", id="a setting"
        ),
        pytest.param(
            "token list", {"AGW_DATABASE_URL": "what?"}, "AGW_DATABASE_URL is no", id="no URL"
        ),
        pytest.param("db upgrade", {"AGW_DATA_DIR": "/dev/null/x"}, "Not a directory", id="a file"),
        pytest.param("token list", {"AGW_SECRET_KEYS": ""}, "AGW_SECRET_KEYS is", id="no key"),
    ],
)
def test_a_missing_prerequisite_is_reported_in_one_line(run, environment, words, settings, message):
    environment.setenv("AGW_TOKEN", "agw_x")
    environment.setenv("AGW_SANDBOX", "true")
    for name, value in settings.items():
        environment.setenv(name, value)
    result = run(*words.split())

    assert (result.exit_code, result.stdout) == (1, "")
    assert result.stderr.count("\n") == 1, result.stderr
    assert message.lower() in result.stderr.lower()
    assert "a-password" not in result.stderr
    assert result.exception is None or isinstance(result.exception, SystemExit)


COMPLETED = [
    (("access-gateway", "pol"), {"policy"}),
    (("access-gateway", "token", "list", "--status", ""), {"active", "revoked", "expired"}),
    (("access-gateway", "rule", "add", "1", ""), {"allow", "block"}),
    (("access-gateway", "rule", "add", "1", "allow", "site"), {"site_id"}),
    (("access-gateway", "connection", "add", ""), {"email", "calendar", "tasks", "collab"}),
    (("access-gateway", "connection", "add", "tasks", "B"), {"BOARDS"}),
    (("access-gateway", "sandbox", "import", "x", "--into", "prov"), {"provider-a", "provider-b"}),
]


@pytest.mark.parametrize(("words", "offered"), COMPLETED)
def test_completion_offers_commands_and_values(run, words, offered):
    completion = {
        "_ACCESS_GATEWAY_COMPLETE": "complete_bash",
        "COMP_WORDS": " ".join(words),
        "COMP_CWORD": str(len(words) - 1),
    }
    done = run(env=completion, prog_name="access-gateway")

    assert set(done.stdout.split()) == offered


# -- on a terminal ---------------------------------------------------------------------------------


def on_a_terminal(*words, **settings):
    """Run a command whose output goes to a terminal; return its exit code and what that shows."""
    terminal, there = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-m", "gateway", *map(str, words)],
        stdin=there,
        stdout=there,
        stderr=there,
        env={**os.environ, "TERM": "xterm", "COLUMNS": "100", **settings},
        close_fds=True,
    )
    os.close(there)
    shown = b""
    while True:
        try:
            part = os.read(terminal, 65536)
        except OSError:  # the other end is closed
            break
        if not part:
            break
        shown += part
    os.close(terminal)
    return process.wait(120), shown.decode()


@pytest.mark.slow
def test_progress_is_shown_on_a_terminal_only(environment, deployed, run, tmp_path):
    code, shown = on_a_terminal("db", "backup", tmp_path / "one")
    assert (code, "Copying" in shown, "\x1b[" in shown) == (0, True, True)

    assert "Copying" not in run("db", "backup", tmp_path / "two").stderr


@pytest.mark.slow
def test_restore_asks_for_confirmation_on_a_terminal(environment, deployed, run, tmp_path):
    assert run("db", "backup", tmp_path / "one").exit_code == 0
    terminal, there = pty.openpty()
    os.write(terminal, b"n\n")
    done = subprocess.run(
        [sys.executable, "-m", "gateway", "db", "restore", str(tmp_path / "one"), "--json"],
        stdin=there,
        capture_output=True,
        text=True,
        env=os.environ,
        check=False,
    )
    os.close(terminal)
    os.close(there)

    assert (done.returncode, done.stdout) == (1, "")
    assert "Continue?" in done.stderr


@pytest.mark.slow
def test_no_color_disables_colours(environment, deployed):
    assert on_a_terminal("token", "list", NO_COLOR="1")[0] == 0
    assert "\x1b[3" not in on_a_terminal("--help", NO_COLOR="1")[1]


@pytest.mark.slow
def test_a_running_gateway_is_queried_and_backed_up(tmp_path):
    """A process for every command, as at a terminal."""
    import demo_process

    with demo_process.running(tmp_path) as manifest:
        variables = demo_process.shell_variables(tmp_path)
        env = {**os.environ, **variables, "AGW_TOKEN": variables["FULL"]}

        def run(*words):
            return subprocess.run(
                [sys.executable, "-m", "gateway", *words],
                env=env,
                cwd=tmp_path,
                capture_output=True,
                text=True,
                check=False,
            )

        queried = run("query", "{ accessToken { name } }", "--url", manifest["baseUrl"])
        assert json.loads(queried.stdout)["data"] == {"accessToken": {"name": "full"}}, (
            queried.stderr
        )
        copied = run("db", "backup", "copy", "--json")
        assert copied.returncode == 0, copied.stderr
        assert run("token", "revoke", "1").returncode == 0
        refused = run("query", "{ accessToken { name } }", "--url", manifest["baseUrl"])
        assert (refused.returncode, '"data"' in refused.stdout) == (1, False)
        # The server keeps its connections; what is restored under them holds at the next request.
        running = run("db", "restore", "copy", "--yes")
        assert (running.returncode, running.stdout) == (1, "")
        assert running.stderr.startswith("Gateways serve this database: "), running.stderr
        restored = run("db", "restore", "copy", "--yes", "--json", "--force")
        assert "Restart the gateways that served during the restore: " in restored.stderr
        assert json.loads(restored.stdout)["revived"] == [1], restored.stderr
        again = run("query", "{ accessToken { name } }", "--url", manifest["baseUrl"])
        assert json.loads(again.stdout)["data"] == {"accessToken": {"name": "full"}}, again.stderr


@pytest.mark.slow
def test_a_demo_prints_its_manifest_as_json(tmp_path):
    command = [sys.executable, "-m", "gateway", "demo", "--port", "0", "--data", str(tmp_path)]
    with subprocess.Popen([*command, "--json"], stdout=subprocess.PIPE, text=True) as server:
        try:
            lines = []
            for line in server.stdout:
                lines.append(line)
                if line == "}\n":
                    break
        finally:
            server.terminate()

    manifest = json.loads("".join(lines))
    assert set(manifest["tokens"]) == set(profiles())
    assert manifest["graphqlUrl"] == f"{manifest['baseUrl']}/graphql"


@pytest.mark.slow
def test_the_demo_prints_its_introduction_immediately(tmp_path):
    command = [sys.executable, "-m", "gateway", "demo", "--port", "0", "--data", str(tmp_path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
        watch = threading.Timer(120, server.kill)  # who waits for a full buffer waits for ever
        watch.start()
        try:
            shown = next((line for line in server.stdout if line.startswith("Stop")), None)
        finally:
            watch.cancel()
            server.terminate()

    assert shown == "Stop with Ctrl+C.\n"
