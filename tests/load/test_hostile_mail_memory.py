"""
Pages of hostile mail through a gateway in a process of its own: what it grows by, all together.

The bound: docs/spec/upstream/imap.md#messages-of-very-many-parts. The kernel counts: `VmRSS` is
what the process holds now, `VmHWM` the most since the count was set back.
"""

from pathlib import Path

import gateway_processes
import hostile_imap_server
import httpx
import pytest
from gateway_processes import ADMIN, MESSAGES
from hostile_imap_server import LEAF

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not Path("/proc/self/clear_refs").exists(), reason="needs its counts"),
]

MIB = 1 << 20
GROWTH = 96 * MIB
ROUNDS = 3
SHORTENED = ["Mail server (ada@example.test): has messages of more parts than are shown."]


@pytest.fixture(scope="module")
def running(tmp_path_factory):
    folder = tmp_path_factory.mktemp("hostile")
    with (
        hostile_imap_server.running() as server,
        gateway_processes.serving(
            folder, AGW_RATE_LIMITS="off", AGW_LOG_LEVEL="warning"
        ) as process,
    ):
        read = reader(process, connected(process, server))
        assert read() == (whole_page(), None)
        before = memory(process, "VmRSS")
        Path(f"/proc/{process.process.pid}/clear_refs").write_text("5")  # the peak counts from now
        yield server, read, lambda: memory(process, "VmHWM") - before


def reader(process, bearer):
    def read():
        """Return the subjects of a page and its warnings; None for a mailbox that failed."""
        with httpx.Client(base_url=process.base, headers=bearer, timeout=120) as client:
            answer = client.get(MESSAGES, params={"limit": 50})
        if answer.status_code == 502:
            return None, None
        body = answer.raise_for_status().json()
        return [mail["subject"] for mail in body["emails"]], body.get("authWarnings")

    return read


def connected(process, server):
    """Connect the server's mailbox; return the headers of a token that may read it."""
    with httpx.Client(base_url=f"{process.base}/api", headers=ADMIN, timeout=60) as admin:

        def made(kind, body):
            return admin.post(f"/{kind}", json=body).raise_for_status().json()

        operator = made("operators", {"email": "o@x.example", "displayName": "O"})["id"]
        resource = made("resources", {"name": "main", "operatorIds": [operator]})["id"]
        mailbox = {
            "resourceId": resource,
            "operatorId": operator,
            "kind": "email",
            "provider": "IMAP",
            "accountEmail": "ada@example.test",
            "baseUrl": server.url,
            "credentials": {"username": "ada", "password": "secret"},
        }
        made("connections", mailbox)
        token = made("access-tokens", gateway_processes.token_of(operator, resource))["token"]
    return {"Authorization": f"Bearer {token}"}


def memory(process, name):
    status = Path(f"/proc/{process.process.pid}/status").read_text()
    return int(status.partition(f"{name}:")[2].split()[0]) * 1024


def whole_page():
    return [f"Mail {uid}" for uid in range(50, 0, -1)]


def addresses(entry):
    """Prepare mails of 256 KiB of headers, of which 64 are kept."""

    def prepare(server):
        people = entry * (MIB // 8 // len(entry))
        for uid in range(1, 51):
            subject = b"Subject: Mail %d\r\n" % uid
            server.headers[uid] = subject + b"To: " + people + b"\r\nCc: " + people + b"\r\n\r\n"
        return whole_page(), None

    return prepare


def parts(server):
    structure = b"(" + b'("IMAGE" "PNG" NIL NIL NIL "BASE64" 5555)' * 10_000 + b' "MIXED")'
    server.structures = dict.fromkeys(range(1, 51), structure)
    return whole_page(), SHORTENED


def nested(server):
    deep = b"(" * 100 + LEAF + b' "MIXED")' * 100
    deeper = b"(" * 5000 + LEAF + b' "MIXED")' * 5000
    server.structures = {**dict.fromkeys(range(1, 26), deep), 26: deeper, 27: deeper}
    return whole_page(), SHORTENED


def rows(server):
    lines = b"".join(b"* %d FETCH (UID %d FLAGS ())\r\n" % (n, n) for n in range(1, 500_001))
    server.answers["UID FETCH"] = lambda _: lines
    return None, None


def brackets(server):
    row = b"* 1 FETCH (UID 1 FLAGS " + b"()" * (MIB // 2 - 50) + b")\r\n"
    server.answers["UID FETCH"] = lambda command: row * 15 if b"FLAGS" in command else None
    return [None], None  # a message without headers


HOSTILE = {
    "plain addresses": addresses(b"a@b.example,"),
    "encoded words": addresses(b"=?utf-8?q?a?= <a@b.example>, "),
    "10,000 parts": parts,
    "nested parts": nested,
    "500,000 rows": rows,
    "15 MB of brackets": brackets,
}


@pytest.mark.parametrize("name", HOSTILE)
def test_pages_of_hostile_mail_are_held_within_the_bound(running, name):
    server, read, growth = running
    server.headers, server.structures, server.answers = {}, {}, {}
    expected = HOSTILE[name](server)

    for _ in range(ROUNDS):
        assert read() == expected

    gateway_processes.tell(name=name, growth=growth())
    assert growth() <= GROWTH
