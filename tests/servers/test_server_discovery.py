"""Searches for own servers over real DNS, and the walk from an address to mail in one's hands."""

import json
import os
import re
import subprocess
import sys
import time
import urllib.request

import pytest
from caldav_servers import PASSWORD, USER, caldav_server
from command_line import run_command
from dns_server import dns_server
from dovecot import dovecot_server
from paths import REPOSITORY
from ports import free_port
from postfix import postfix_server

from providers.server_discovery.dns_records import DnsResolver, ServiceRecord

pytestmark = pytest.mark.slow  # servers start

ADA, BEN = "ada@example.test", "ben@example.test"
MESSAGES = "/api/access/email/messages"


@pytest.fixture(scope="module")
def dovecot():
    with dovecot_server() as server:
        yield server


@pytest.fixture(scope="module")
def postfix(dovecot):
    with postfix_server(dovecot) as server:
        yield server


@pytest.fixture(scope="module")
def dns(dovecot, postfix):
    with dns_server(
        f"srv-host=_imaps._tcp.example.test,localhost,{dovecot.tls_port},0,1",
        f"srv-host=_imap._tcp.example.test,localhost,{dovecot.port},10,1",
        f"srv-host=_submissions._tcp.example.test,localhost,{postfix.port},6,9",
        f"srv-host=_submissions._tcp.example.test,localhost,{postfix.port},5,1",
        f"srv-host=_submissions._tcp.example.test,localhost,{postfix.tls_port},5,9",
        "srv-host=_submission._tcp.example.test,.,0,0,0",
        "address=/mail.example.test/127.0.0.9",
    ) as server:
        yield server


async def test_the_resolver_reads_the_record_to_try_first(dns, dovecot, postfix):
    resolver = DnsResolver(dns.address)

    for service, record in (
        ("_imaps", ServiceRecord("localhost", dovecot.tls_port)),
        ("_submissions", ServiceRecord("localhost", postfix.tls_port)),
        ("_submission", ServiceRecord("", 0)),
        ("_pop3", None),
    ):
        assert await resolver.service(f"{service}._tcp.example.test") == record
    assert await resolver.addresses("mail.example.test") == ["127.0.0.9"]
    with pytest.raises(OSError):
        await resolver.addresses("nowhere.example.test")


class Deployment:
    """A deployment in a folder of its own, used by the command line and over a socket."""

    def __init__(self, folder, variables):
        self.folder = folder
        self.variables = {
            "PATH": os.environ["PATH"],
            "PYTHONPATH": str(REPOSITORY / "src"),
            "AGW_DATA_DIR": str(folder / "data"),
            **variables,
        }
        self.port = free_port()
        self.process = None

    def run(self, *words, stdin="", **variables):
        return run_command(
            *words, stdin=stdin, cwd=self.folder, env={**self.variables, **variables}
        )

    def run_as_set_up(self, *words, stdin=""):
        """Run a command with the secrets of the first use."""
        return self.run(*words, stdin=stdin, **self.environment())

    def environment(self):
        text = (self.folder / "data" / "environment").read_text()
        return dict(re.findall(r"(?m)^export (\w+)=(\S*)$", text))

    def serve(self):
        self.process = subprocess.Popen(
            [sys.executable, "-m", "gateway", "serve"],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            cwd=self.folder,
            env={**self.variables, **self.environment(), "AGW_PORT": str(self.port)},
        )
        for _ in range(300):
            try:
                return self.call("GET", "/healthz")
            except OSError:
                time.sleep(0.1)
        raise AssertionError("the gateway does not answer")

    def call(self, method, path, body=None):
        request = urllib.request.Request(
            f"http://127.0.0.1:{self.port}{path}",
            method=method,
            data=None if body is None else json.dumps(body).encode(),
            headers={
                "Authorization": f"Bearer {self.environment()['TOKEN']}",
                "Content-Type": "application/json",
            },
        )
        with urllib.request.urlopen(request, timeout=30) as response:
            content = response.read()
            return json.loads(content) if content else None

    def stop(self):
        if self.process is not None:
            self.process.terminate()
            self.process.wait(60)


@pytest.fixture
def deployment(tmp_path, dovecot, dns):
    made = Deployment(
        tmp_path, {"SSL_CERT_FILE": str(dovecot.certificate), "AGW_DNS_SERVER": dns.address}
    )
    yield made
    made.stop()


def test_a_password_goes_to_a_server_elsewhere_only_when_a_person_confirms_it(deployment, dovecot):
    refused = deployment.run("connection", "add", "--imap", ADA, "--init", stdin="ada-secret\n")
    listed = deployment.run("connection", "list", "--json")

    assert refused.returncode == 1
    assert "localhost is not in example.test, and DNS alone names it." in refused.stderr
    assert "get a password: --confirm localhost" in refused.stderr
    assert refused.stderr.endswith("Nothing is stored.\n")
    assert json.loads(deployment_list(deployment)) == []
    assert listed.returncode == 1  # the secrets are in the file `environment`, and not here
    assert list((dovecot.folder / "raw" / "ada").iterdir()) == []  # nobody has logged in


def deployment_list(deployment):
    return deployment.run_as_set_up("connection", "list", "--json").stdout


def test_from_an_address_to_mail_sent_answered_and_deleted(deployment, dovecot, postfix):
    add = ("connection", "add", "--init", "--confirm", "localhost", "--imap")
    added = deployment.run(*add, ADA, "--json", stdin="ada-secret\n")
    wrong = deployment.run(*add, BEN, stdin="wrong\n")
    changed = (
        deployment.run_as_set_up("connection", "reconnect", "1", stdin="other\n"),
        deployment.run_as_set_up("connection", "reconnect", "1", stdin="ada-secret\n"),
    )
    (deployment.folder / "password").write_text("ben-secret\n")
    second = deployment.run(*add, BEN, "--password-file", "password")
    deployment.serve()
    ada, ben = json.loads(deployment_list(deployment))

    assert added.returncode == 0, added.stderr
    (created,) = json.loads(added.stdout)["connections"]
    assert {**created, "lastOkAt": ada["lastOkAt"]} == ada
    assert wrong.returncode == 1
    assert "refused the user name or the password.\nNothing is stored." in wrong.stderr
    assert second.returncode == 0, second.stderr
    assert [output.returncode for output in changed] == [1, 0], changed
    refusal = "The mail server refused the user name or the password. The password is stored."
    assert refusal in changed[0].stderr
    for output in (added, wrong, second, *changed):
        assert "-secret" not in output.stdout + output.stderr
    assert (ada["baseUrl"], ada["canWrite"]) == (dovecot.url(), True)

    message = {"to": [{"email": BEN}], "subject": "Planks", "body": "Two?"}
    sent = deployment.call("POST", f"{MESSAGES}/send", {**message, "connectionId": ada["id"]})
    received = wait_for_mail(deployment, "Planks", of=ben)
    reply = deployment.call("POST", f"{MESSAGES}/{received['id']}/reply", {"body": "Three."})
    answer = wait_for_mail(deployment, "Re: Planks", of=ada)
    thread = deployment.call("GET", f"/api/access/email/threads/{answer['threadId']}")
    deployment.call("DELETE", f"{MESSAGES}/{answer['id']}")
    left = deployment.call("GET", f"{MESSAGES}?q=Planks&label=INBOX")["emails"]

    assert (sent["success"], reply["success"]) == (True, True)
    assert answer["threadId"] == sent["threadId"]
    # Both may have come within the same second, to which an IMAP server tells its times.
    assert sorted(mail["subject"] for mail in thread["messages"]) == ["Planks", "Re: Planks"]
    assert [mail["id"] for mail in left] == [received["id"]]


def wait_for_mail(deployment, subject, *, of):
    """Return the mail with a subject in the inbox of a connection."""
    for _ in range(100):
        page = deployment.call("GET", f"{MESSAGES}?q=Planks&label=INBOX&includeBody=true")
        for mail in page["emails"]:
            if mail["subject"] == subject and mail["to"][0]["email"] == of["accountEmail"]:
                return mail
        time.sleep(0.1)
    raise AssertionError(subject)


def test_calendars_are_connected_by_their_address_and_server(deployment):
    with caldav_server("radicale") as server:
        add = ("connection", "add", "--init", "--caldav", ADA, "--calendar-server", server.url)
        wrong = deployment.run(*add, "--username", USER, stdin="wrong\n")
        added = deployment.run(*add, "--username", USER, "--json", stdin=f"{PASSWORD}\n")
        more = (*add, "--people", "--username", USER, "--json")
        with_people = deployment.run_as_set_up(*more, stdin=f"{PASSWORD}\n")

    assert with_people.returncode == 0, with_people.stderr
    scopes = [
        json.loads(run.stdout)["connections"][0]["grantedScopes"] for run in (added, with_people)
    ]
    assert scopes == [[], ["carddav"]]
    assert wrong.returncode == 1
    assert (
        f"The calendar server {server.url} refused the user name or the password." in wrong.stderr
    )
    assert added.returncode == 0, added.stderr
    (connection,) = json.loads(added.stdout)["connections"]
    assert (connection["provider"], connection["baseUrl"], connection["status"]) == (
        "CALDAV",
        server.url,
        "active",
    )


async def test_the_management_api_searches_and_stores_nothing(world, dovecot, postfix):
    import imap_account

    patch = imap_account.trust(dovecot)
    before = (await world.admin.get("/api/connections")).json()
    wanted = {
        "accountEmail": ADA,
        "kinds": ["email"],
        "password": "ada-secret",
        "baseUrl": dovecot.url(),
        "submissionUrl": postfix.url(),
    }
    try:
        answer = await world.admin.post("/api/connections/discover", json=wanted)
        refused = await world.admin.post(
            "/api/connections/discover", json={**wanted, "password": "wrong"}
        )
    finally:
        patch.undo()

    assert answer.status_code == 200, answer.text
    body = answer.json()
    assert {**body, "steps": len(body["steps"])} == {
        "mail": {
            "baseUrl": dovecot.url(),
            "submissionUrl": postfix.url(),
            "username": ADA,
            "signedIn": True,
            "refused": False,
        },
        "calendar": None,
        "steps": 2,
        "confirmations": [],
        "complete": True,
    }
    assert refused.json()["mail"]["refused"] is True
    assert "secret" not in answer.text
    assert (await world.admin.get("/api/connections")).json() == before
