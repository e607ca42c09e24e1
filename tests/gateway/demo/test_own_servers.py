"""The demo with Dovecot, Postfix and Radicale behind a third mailbox and calendar."""

import json
import os
import socket
import subprocess
import sys
import time
import urllib.request
from urllib.parse import urlsplit

import pytest
from programs import CALENDAR_SERVERS, program, require

from gateway.demo import own_servers
from gateway.errors import CommandError
from sandbox.own_servers import dovecot, postfix, processes

JONAS = "jonas@workshop.harbourlight.example"
CALENDARS = "/api/access/calendar/calendars"
MESSAGES = "/api/access/email/messages"


@pytest.fixture
def demo(tmp_path):
    """Start the demo; return its process and its manifest once it answers."""
    running = []

    def start(*words):
        manifest = tmp_path / "manifest.json"
        manifest.unlink(missing_ok=True)
        command = [sys.executable, "-m", "gateway", "demo", "--port", "0", "--manifest", manifest]
        process = subprocess.Popen(
            [*command, "--data", tmp_path / "demo", *words],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            cwd=tmp_path,
            env={**os.environ, "PATH": f"{CALENDAR_SERVERS}{os.pathsep}{os.environ['PATH']}"},
        )
        running.append(process)
        for _ in range(600):
            if manifest.exists():
                return process, json.loads(manifest.read_text())
            assert process.poll() is None, "the demo ended"
            time.sleep(0.1)
        raise AssertionError("the demo did not start")

    yield start
    for process in running:
        process.kill()
        process.wait()


def call(described, path, body=None):
    request = urllib.request.Request(
        described["baseUrl"] + path,
        data=None if body is None else json.dumps(body).encode(),
        headers={
            "Authorization": f"Bearer {described['tokens']['full']}",
            "Content-Type": "application/json",
        },
    )
    with urllib.request.urlopen(request) as response:
        return json.loads(response.read())


def listens(url):
    parts = urlsplit(url)
    try:
        socket.create_connection((parts.hostname, parts.port), 1).close()
    except OSError:
        return False
    return True


@pytest.mark.slow
def test_the_demo_has_a_mailbox_and_calendars_on_own_servers(demo):
    program("postfix")
    program("radicale")
    require(dovecot, postfix)
    process, described = demo("--own-server")
    own = described["ownServers"]

    page = call(described, f"{MESSAGES}?limit=50")
    calendars = call(described, CALENDARS)["calendars"]
    letter = next(mail for mail in page["emails"] if mail["id"].startswith("imap:"))
    (sender,) = {entry["id"] for entry in connections(described) if entry["provider"] == "IMAP"}
    message = {"to": [{"email": JONAS}], "subject": "Planks", "body": "x", "connectionId": sender}
    sent = call(described, f"{MESSAGES}/send", message)
    copies = call(described, f"{MESSAGES}?label=SENT&q=Planks")["emails"]

    assert (own["missing"], own["user"]) == ([], "nora@workshop.harbourlight.example")
    assert {mail["id"].split(":")[0] for mail in page["emails"]} == {
        "providerA",
        "providerB",
        "imap",
    }
    assert [entry["calendarName"] for entry in calendars if entry["provider"] == "CALDAV"] == [
        "Slipway & Crane",
        "Workshop",
    ]
    assert letter["subject"]
    assert [copy["id"] for copy in copies] == [sent["emailId"]]
    assert all(map(listens, (own["mail"], own["submission"], own["calendar"])))

    process.terminate()
    process.wait(60)

    assert not any(map(listens, (own["mail"], own["submission"], own["calendar"])))

    _, without = demo()
    assert "ownServers" not in without
    assert {
        entry["status"] for entry in connections(without) if entry["provider"] in {"IMAP", "CALDAV"}
    } == {"disabled"}


def connections(described):
    request = urllib.request.Request(
        f"{described['baseUrl']}/api/connections",
        headers={"Authorization": f"Bearer {described['adminToken']}"},
    )
    with urllib.request.urlopen(request) as response:
        return json.loads(response.read())["connections"]


def test_without_any_server_the_demo_says_what_to_install(monkeypatch):
    monkeypatch.setattr(processes, "program", lambda name: None)

    with pytest.raises(CommandError) as refused, own_servers.running():
        pass

    assert str(refused.value).splitlines() == [
        "There are no own servers.",
        "No third mailbox: Dovecot is not installed (package dovecot-imapd).",
        "No outgoing mail of it: Postfix is not installed (package postfix).",
        "No third calendar: Radicale is not installed (package radicale, from Debian or by pip).",
    ]


def test_another_version_of_dovecot_is_named_and_not_started(tmp_path, monkeypatch):
    for version, expected in (("2.3.19.1", None), ("2.4.1", "Dovecot 2.4.1 (abc) is installed")):
        program = tmp_path / "dovecot"
        program.write_text(f"#!/bin/sh\necho '{version} (abc)'\n")
        program.chmod(0o755)
        monkeypatch.setenv("PATH", str(tmp_path), prepend=os.pathsep)

        reason = dovecot.missing()

        assert reason is None if expected is None else reason.startswith(expected)
