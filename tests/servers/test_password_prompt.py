"""`connection add --imap` asks for the password on a terminal."""

import json

import pytest
from command_line import CommandLine

pytestmark = pytest.mark.slow  # a server starts, and a process for each command

PROMPT = "Password of ada@example.test: "
CTRL_C, CTRL_D = "\x03", "\x04"


@pytest.fixture
def command(tmp_path, dovecot):
    return CommandLine(tmp_path, SSL_CERT_FILE=str(dovecot.certificate))


@pytest.fixture
def asked(command, dovecot):
    """A terminal in which the command waits for the password."""
    operator, resource = command.set_up()
    words = ["connection", "add", "--imap", "ada@example.test", "--server", dovecot.url()]
    words += ["--read-only", "--operator", operator, "--resource", resource]
    with command.on_a_terminal(*words) as terminal:
        terminal.wait_for(PROMPT)
        terminal.wait_for_no_echo()
        yield terminal


def stored(command):
    return json.loads(command("connection", "list", "--json").stdout)


def test_the_password_is_not_shown(asked, command):
    asked.type("ada-secret\n")

    assert asked.end() == 0
    assert asked.echoes
    assert "ada-secret" not in asked.shown
    assert [(each["accountEmail"], each["status"]) for each in stored(command)] == [
        ("ada@example.test", "active")
    ]


def test_a_wrong_password_is_told_and_nothing_is_stored(asked, command):
    asked.type("wrong\n")

    assert asked.end() == 1
    assert asked.shown.count(PROMPT) == 1
    assert "The mail server refused the user name or the password." in asked.shown
    assert stored(command) == []


def test_an_empty_password_is_refused(asked, command):
    asked.type("\n")

    assert asked.end() == 2
    assert "the password is empty" in asked.shown
    assert stored(command) == []


@pytest.mark.parametrize(
    ("keys", "code"), [(f"half{CTRL_C}", 130), (CTRL_D, 1)], ids=["Ctrl-C", "Ctrl-D"]
)
def test_an_ended_prompt_leaves_the_terminal_as_it_was(asked, command, keys, code):
    asked.type(keys)

    assert asked.end() == code
    assert asked.echoes
    assert "Traceback" not in asked.shown
    assert "half" not in asked.shown
    assert stored(command) == []


def test_a_new_password_is_asked_for_in_the_same_way(asked, command):
    asked.type("ada-secret\n")
    assert asked.end() == 0
    (connection,) = stored(command)

    with command.on_a_terminal("connection", "reconnect", str(connection["id"])) as terminal:
        terminal.wait_for(f"Password of connection {connection['id']}: ")
        terminal.wait_for_no_echo()
        terminal.type("ada-secret\n")

        assert terminal.end() == 0
        assert "ada-secret" not in terminal.shown
