"""
Large attachments through a gateway in a process of its own: what it grows by, and that they arrive.

`ATTACHMENT_BYTES` is the size of each of the four that are sent at once (25 MB unless it says
otherwise).
"""

import hashlib
import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import gateway_processes
import httpx
import pytest

pytestmark = pytest.mark.slow

SIZE = int(os.environ.get("ATTACHMENT_BYTES", "25000000"))
AT_ONCE = 4
GROWTH = 64 * 1024 * 1024  # bytes
PIECE = 1024 * 1024
EMAIL = "/api/access/email"
MAILBOXES = {"PROVIDER_A": "provider-a", "PROVIDER_B": "provider-b"}
PREFIXES = {"PROVIDER_A": "providerA", "PROVIDER_B": "providerB"}


@pytest.fixture(scope="module")
def running(tmp_path_factory):
    folder = tmp_path_factory.mktemp("attachments")
    with (
        gateway_processes.upstreams(folder) as upstream,
        gateway_processes.serving(
            folder, AGW_RATE_LIMITS="off", AGW_LOG_LEVEL="warning", **upstream.settings
        ) as process,
    ):
        prepared = gateway_processes.prepare(process.base, upstream.tokens)
        with httpx.Client(base_url=process.base, headers=prepared.bearer, timeout=300) as client:
            yield process, prepared, client, upstream.state


def pieces(seed, size):
    for start in range(0, size, PIECE):
        word = hashlib.sha256(f"{seed}:{start}".encode()).digest()
        yield (word * (PIECE // len(word)))[: min(PIECE, size - start)]


def digest_of(chunks):
    digest = hashlib.sha256()
    for chunk in chunks:
        digest.update(chunk)
    return digest.hexdigest()


def upload(client, seed, size):
    answer = client.post(
        f"{EMAIL}/attachments",
        params={"fileName": f"{seed}.bin"},
        content=pieces(seed, size),
        headers={"content-length": str(size), "content-type": "application/zip"},
    )
    return answer.raise_for_status().json()["handle"]


def send(client, connection, handle, subject):
    message = {
        "to": [{"email": "bo@work.example"}],
        "subject": subject,
        "body": "x",
        "connectionId": connection,
        "attachments": [{"handle": handle}],
    }
    return client.post(f"{EMAIL}/messages/send", json=message).raise_for_status()


def path_of_file(client, state, provider, subject):
    """Return the path of the one attachment of a sent message."""
    (sent,) = [
        mail
        for mail in state.mails.all(MAILBOXES[provider])
        if f"Subject: {subject}".encode() in mail.raw[:4096] and mail.folder == "sent"
    ]
    native = sent.id if provider == "PROVIDER_A" else sent.immutable_id
    path = f"{EMAIL}/messages/{PREFIXES[provider]}:{native}"
    (file,) = client.get(path).raise_for_status().json()["attachments"]
    return f"{path}/attachments/{file['id']}"


def downloaded(client, path):
    with client.stream("GET", path) as answer:
        return digest_of(answer.raise_for_status().iter_raw())


def memory(process, name):
    status = Path(f"/proc/{process.process.pid}/status").read_text()
    return int(status.partition(f"{name}:")[2].split()[0]) * 1024


@pytest.mark.skipif(not Path("/proc/self/clear_refs").exists(), reason="needs the kernel's counts")
@pytest.mark.parametrize("provider", ["PROVIDER_A", "PROVIDER_B"])
def test_four_files_at_once_hold_64_mb_at_most_and_arrive_whole(running, provider):
    process, prepared, client, state = running
    connection = prepared.connections[provider]
    send(client, connection, upload(client, "warm", 4 * PIECE), f"warm {provider}")
    growths = {}

    def at_once(step, call):
        before = memory(process, "VmRSS")
        Path(f"/proc/{process.process.pid}/clear_refs").write_text("5")  # the peak counts from now
        with ThreadPoolExecutor(AT_ONCE) as pool:
            answers = list(pool.map(call, range(AT_ONCE)))
        growths[step] = memory(process, "VmHWM") - before
        gateway_processes.tell(provider=provider, bytes=SIZE, step=step, growth=growths[step])
        return answers

    handles = at_once("uploads", lambda n: upload(client, f"{provider} {n}", SIZE))
    subjects = [f"{provider.lower()} number{n}" for n in range(AT_ONCE)]
    at_once("sends", lambda n: send(client, connection, handles[n], subjects[n]))
    paths = [path_of_file(client, state, provider, subject) for subject in subjects]
    digests = at_once("downloads", lambda n: downloaded(client, paths[n]))

    assert digests == [digest_of(pieces(f"{provider} {n}", SIZE)) for n in range(AT_ONCE)]
    assert max(growths.values()) <= GROWTH
