"""A mailbox on an owner's own server, connected by the command line."""

import json

import httpx
import pytest
from command_line import CommandLine
from gateway_processes import serving


@pytest.fixture
def command(tmp_path, dovecot):
    """Runs commands over a store of the test's own; the server's certificate is trusted."""
    return CommandLine(tmp_path, SSL_CERT_FILE=str(dovecot.certificate))


@pytest.mark.slow
def test_a_mailbox_is_connected_with_its_password(command, dovecot):
    operator, resource = command.set_up()
    add = ("connection", "add", "email", "IMAP", "ada@example.test", "--operator", operator)
    add += ("--resource", resource, "--server", dovecot.url(), "--json")

    wrong = command(*add, stdin="wrong\n")
    right = command(*add, stdin="ada-secret\n")
    listed = command("connection", "list", "--json")
    tested = command("connection", "test", str(json.loads(right.stdout)["id"]), "--json")

    assert wrong.returncode == 1
    assert "The mail server refused the user name or the password." in wrong.stderr
    assert right.returncode == 0, right.stderr
    connection = json.loads(right.stdout)
    assert (connection["provider"], connection["status"]) == ("IMAP", "active")
    assert json.loads(listed.stdout) == [connection]
    assert "ada-secret" not in right.stdout + right.stderr + listed.stdout
    assert json.loads(tested.stdout)["ok"] is True


@pytest.mark.slow
def test_a_server_needs_its_provider_and_the_provider_a_server(command):
    options = ("ada@example.test", "--operator", "o", "--resource", "1")
    without = command("connection", "add", "email", "IMAP", *options)
    beside = command("connection", "add", "email", "PROVIDER_A", *options, "--server", "imaps://x")

    for refused in (without, beside):
        assert refused.returncode == 2
        assert "--server and the provider IMAP go together" in refused.stderr


@pytest.mark.slow
def test_a_link_of_a_command_lets_the_owner_store_the_password_of_today(command, dovecot, tmp_path):
    operator, resource = command.set_up()
    add = ("connection", "add", "email", "IMAP", "ada@example.test", "--operator", operator)
    add += ("--resource", resource, "--server", dovecot.url(), "--untested", "--json")
    connection = str(json.loads(command(*add, stdin="of-yesterday\n").stdout)["id"])
    settings = {"AGW_SECRET_KEYS": "k" * 20, "SSL_CERT_FILE": str(dovecot.certificate)}
    with serving(tmp_path, AGW_DATA_DIR=str(tmp_path / "data"), **settings) as gateway:
        words = ("connection", "reconnect", connection, "--link", "--hours", "2")
        links = [
            command(*words, AGW_PUBLIC_URL=gateway.base),
            command(*words, "--json", AGW_PUBLIC_URL=gateway.base),
        ]
        link = links[0].stdout.strip()
        page = httpx.get(link, timeout=60)
        wrong = httpx.post(link, data={"password": "wrong"}, timeout=60)
        right = httpx.post(link, data={"password": "ada-secret"}, timeout=60)
        again = httpx.post(link, data={"password": "ada-secret"}, timeout=60)
    tested = command("connection", "test", connection, "--json")

    assert [made.returncode for made in links] == [0, 0], links[0].stderr
    assert link.startswith(f"{gateway.base}/oauth/link/")
    assert json.loads(links[1].stdout).keys() == {"url", "expiresAt"}
    assert (page.status_code, "a…@example.test" in page.text) == (200, True)
    assert [answer.status_code for answer in (wrong, right, again)] == [400, 200, 410]
    assert json.loads(tested.stdout)["ok"] is True
    assert "ada-secret" not in gateway.log()
