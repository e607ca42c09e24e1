"""`connection`: accounts are connected from the terminal, against a demo on a socket."""

import json
import os
import re
import signal
import socket
import subprocess
import sys
import threading

import demo_process
import httpx
import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa

pytestmark = pytest.mark.slow  # a process for every command

ACCOUNT = "nora.lindqvist@harbourlight.example"
STUDIO = "nora@harbourlight-studio.example"


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """A demo, and the settings with which commands work on its store."""
    folder = tmp_path_factory.mktemp("demo")
    with demo_process.running(folder) as manifest:
        yield manifest, {**os.environ, **demo_process.shell_variables(folder)}


@pytest.fixture
def command(place):
    def run(*words, stdin="", person=None):
        process = subprocess.Popen(
            [sys.executable, "-m", "gateway", "connection", *words],
            env=place[1],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        watch = threading.Timer(60, process.kill)
        watch.start()
        message = ""
        if person is not None:
            message = until_asked(process, person)
        out, err = process.communicate(stdin)
        watch.cancel()
        return process.returncode, out, message + err

    return run


def until_asked(process, person):
    message = ""
    for line in process.stderr:
        message += line
        if person(line):
            break
    return message


def agreeing(account):
    """A person who opens the address and agrees as *account*."""

    def person(line):
        url_match = re.search(r"http://\S+/authorize\?\S+", line)
        if url_match is None:
            return False
        with httpx.Client(timeout=30) as browser:
            url = httpx.URL(url_match[0]).copy_merge_params(
                {"auto_approve": "true", "login_hint": account}
            )
            browser.get(browser.get(url).headers["location"]).raise_for_status()
        return True

    return person


def new(place, kind, provider, account):
    return (
        *("add", kind, provider, account),
        *("--operator", place[0]["operatorId"], "--resource", str(place[0]["resourceIds"][0])),
        *("--no-browser", "--json", "--callback-port", "0"),
    )


def test_an_account_is_connected_tested_and_removed(command, place):
    words = new(place, "email", "PROVIDER_A", ACCOUNT)
    code, out, message = command(*words, person=agreeing(ACCOUNT))
    assert code == 0, message
    made = json.loads(out)
    assert (made["status"], made["canWrite"], made["accountEmail"]) == ("active", True, ACCOUNT)

    number = str(made["id"])
    code, out, message = command("test", number, "--json")
    assert (code, json.loads(out)["ok"]) == (0, True), message
    code, out, message = command("check", number)
    assert (code, "as-expected" in out, "by-hand" in out) == (0, True, True), message
    code, _, message = command(
        *("reconnect", number, "--no-browser", "--callback-port", "0"),
        person=agreeing("somebody@else.example"),
    )
    assert (code, "another account" in message) == (1, True)
    code, out, message = command("reconnect", number, "--link", "--hours", "2")
    assert (code, "/oauth/link/" in out) == (0, True), message
    assert command("reconnect", number, "--hours", "2")[0] == 2
    code, out, message = command("disable", number, "--json")
    assert (code, json.loads(out)["status"]) == (0, "disabled"), message
    code, out, message = command("enable", number, "--json")
    assert (code, json.loads(out)["status"]) == (0, "active"), message
    code, out, message = command("remove", number)
    assert (code, "another connection of the account uses it" in message) == (0, True), message
    assert made["id"] not in [
        connection["id"] for connection in json.loads(command("list", "--json")[1])
    ]


@pytest.mark.parametrize(
    ("provider", "account", "scopes"),
    [
        ("PROVIDER_A", ACCOUNT, ["contacts.readonly", "contacts.other.readonly", "directory"]),
        ("PROVIDER_B", STUDIO, ["People.Read", "User.ReadBasic.All"]),
    ],
)
def test_scopes_of_people_are_granted_with_the_mailbox(command, place, provider, account, scopes):
    words = (*new(place, "email", provider, account), "--people")
    code, out, message = command(*words, person=agreeing(account))

    made = json.loads(out)
    assert (code, made["status"], made["canWrite"]) == (0, "active", True), message
    for scope in scopes:
        assert any(scope in granted for granted in made["grantedScopes"])
    command("remove", str(made["id"]))


def test_a_refused_consent_leaves_no_connection(command, place):
    before = json.loads(command("list", "--json")[1])
    words = new(place, "email", "PROVIDER_B", STUDIO)
    code, out, _ = command(*words, person=agreeing("somebody@else.example"))

    assert (code, out) == (1, "")
    assert json.loads(command("list", "--json")[1]) == before


@pytest.mark.parametrize(
    ("number", "code"), [(signal.SIGTERM, 143), (signal.SIGHUP, 129), (signal.SIGINT, 130)]
)
def test_a_command_that_is_stopped_leaves_no_connection(command, place, number, code):
    before = json.loads(command("list", "--json")[1])
    process = subprocess.Popen(
        [sys.executable, "-m", "gateway", "connection", *new(place, "email", "PROVIDER_B", STUDIO)],
        env=place[1],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    until_asked(process, lambda line: "/authorize?" in line)
    waiting = json.loads(command("list", "--json")[1])
    process.send_signal(number)
    out, _ = process.communicate(timeout=60)

    assert [connection["status"] for connection in waiting[len(before) :]] == ["needs_reauth"]
    assert (process.returncode, out) == (code, "")
    assert json.loads(command("list", "--json")[1]) == before


def test_an_account_is_connected_by_device_code(command, place):
    def person(line):
        code_match = re.search(r"Open (\S+) and enter the code (\w+)", line)
        if code_match is None:
            return False
        form = {"user_code": code_match[2], "decision": "allow"}
        httpx.post(code_match[1], data=form).raise_for_status()
        return True

    words = new(place, "collab", "COLLAB", STUDIO)
    code, out, message = command(*words, "--device", person=person)
    assert code == 0, message
    made = json.loads(out)
    assert (made["status"], "Files.ReadWrite.All" in made["grantedScopes"]) == ("active", True)


def test_a_key_of_a_service_account_is_tested_and_stored(command, place, tmp_path):
    key = rsa.generate_private_key(public_exponent=65537, key_size=2048).private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    members = {
        "client_email": "robot@p.example",
        "private_key": key.decode(),
        "private_key_id": "k",
    }
    file, other = tmp_path / "key.json", tmp_path / "other.json"
    file.write_text(json.dumps({"type": "service_account", **members}))
    other.write_text(json.dumps({"type": "authorized_user", **members}))
    words = [word for word in new(place, "email", "PROVIDER_A", "") if word]

    def add(chosen, *more):
        return command(*words, "--google-delegation", str(chosen), "--subject", ACCOUNT, *more)

    refused, wrong, stored = add(file), add(other), add(file, "--untested")
    made = json.loads(stored[1])

    assert (refused[0], "Nothing is stored" in refused[2]) == (1, True)
    assert (wrong[0], "not the JSON key of a service account" in wrong[2]) == (1, True)
    assert (made["accountEmail"], made["canWrite"]) == (ACCOUNT, True)
    assert "PRIVATE KEY" not in stored[1] + stored[2]
    assert command(*words, "--google-delegation", str(file))[0] == 2
    command("remove", str(made["id"]))


def test_an_api_token_is_read_from_standard_input(command, place):
    secret = place[0]["upstreams"]["tasks"]["accessToken"]
    words = new(place, "tasks", "BOARDS", ACCOUNT)
    code, out, message = command(*words, "--api-token", stdin=f"{secret}\n")
    assert code == 0, message
    assert secret not in out + message
    assert command("test", str(json.loads(out)["id"]))[0] == 0


def test_an_api_token_is_tested_before_it_is_stored(command, place):
    before = json.loads(command("list", "--json")[1])
    words = new(place, "tasks", "BOARDS", ACCOUNT)
    code, out, message = command(*words, "--api-token", stdin="a-guess\n")
    assert (code, out, "Nothing is stored" in message) == (1, "", True)
    assert "The provider refused the API token: it is wrong, expired or revoked." in message
    assert json.loads(command("list", "--json")[1]) == before

    secret = place[0]["upstreams"]["tasks"]["accessToken"]
    code, out, message = command(*words, "--api-token", stdin=f"{secret}\n")
    assert (code, message.startswith("The account answers. (")) == (0, True)
    made = json.loads(out)
    assert (made["status"], made["lastOkAt"] is None) == ("active", False)


def test_an_unknown_app_only_client_is_not_stored(command, place):
    before = json.loads(command("list", "--json")[1])
    words = (*new(place, "collab", "COLLAB", STUDIO), "--client-id", "access-gateway")
    code, out, message = command(*words, "--tenant", "t.example", stdin="a-guess\n")

    assert (code, out, "Nothing is stored" in message) == (1, "", True)
    assert json.loads(command("list", "--json")[1]) == before


def test_an_app_only_client_uses_its_own_credentials(command, place):
    words = (*new(place, "collab", "COLLAB", STUDIO), "--client-id", "access-gateway")
    code, out, message = command(*words, "--tenant", "t.example", stdin="access-gateway\n")
    assert code == 0, message
    made = json.loads(out)
    assert (made["mode"], made["grantedScopes"]) == ("selected_sites", ["Sites.Selected"])


def test_a_consent_for_boards_needs_the_registered_port(command, place):
    """The sandbox compares the port, as the vendor does: only the default one is registered."""
    refused = []

    def person(line):
        url_match = re.search(r"http://\S+/authorize\?\S+", line)
        if url_match is None:
            return False
        refused.append(httpx.get(url_match[0], timeout=30))
        back = httpx.URL(url_match[0]).params["redirect_uri"]
        state = httpx.URL(url_match[0]).params["state"]
        httpx.get(back.replace("localhost", "127.0.0.1"), params={"state": state}, timeout=30)
        return True

    words = new(place, "tasks", "BOARDS", ACCOUNT)
    code, _, message = command(*words, person=person)

    assert (code, "Redirect URI" in message, refused[0].status_code) == (1, True, 400)
    assert "redirect_uri_mismatch" in refused[0].text


def test_a_port_in_use_is_named(command, place):
    with socket.create_server(("127.0.0.1", 0)) as occupied:
        port = str(occupied.getsockname()[1])
        code, out, message = command(*new(place, "email", "PROVIDER_A", ACCOUNT)[:-1], port)

    assert (code, out) == (1, "")
    assert f"Port {port} is in use. Name another with --callback-port" in message


def test_a_missing_client_is_named_by_its_variables(place):
    words = ("add", "email", "PROVIDER_A", ACCOUNT, "--operator", place[0]["operatorId"])
    process = subprocess.run(
        [sys.executable, "-m", "gateway", "connection", *words, "--resource", "1", "--no-browser"],
        env={**place[1], "AGW_SANDBOX": "false"},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )

    assert (process.returncode, process.stdout) == (1, "")
    variables = "set AGW_PROVIDER_A_CLIENT_ID and AGW_PROVIDER_A_CLIENT_SECRET."
    assert f"This deployment has no OAuth client for PROVIDER_A: {variables}" in process.stderr


def test_an_unknown_connection_is_reported(command):
    assert command("remove", "99")[0] == 1
    assert (
        command("add", "fax", "PROVIDER_A", "a@b.c", "--operator", "x", "--resource", "1")[0] == 1
    )
