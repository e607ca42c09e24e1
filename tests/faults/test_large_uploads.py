"""
Uploads of full size through a gateway in a process of its own, over real sockets.

`UPLOAD_BYTES` is the size of each of the four that are sent at once (33554432 unless it says
otherwise). What the gateway grows by is the kernel's own count of its resident memory.
"""

import hashlib
import os
import socket
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import httpx
import pytest

sys.path.insert(0, str(Path(__file__).parent))
import content_processes

pytestmark = pytest.mark.slow

MOST = 104_857_600  # bytes: docs/spec/limits.md#sizes
SIZE = int(os.environ.get("UPLOAD_BYTES", "33554432"))  # four are twice `GROWTH`
AT_ONCE = 4
GROWTH = 64 * 1024 * 1024  # bytes
PIECE = 1024 * 1024


@pytest.fixture(scope="module")
def both(tmp_path_factory):
    with content_processes.opened(tmp_path_factory.mktemp("uploads")) as processes:
        processes.start()
        processes.prepare()
        yield processes


@pytest.fixture(scope="module")
def token(both):
    return both.token(("folder", both.ids["houses"]), ("file_id", both.ids["houses"]))[1]


def pieces(seed, size):
    """Yield *size* bytes that are different for each seed, and from piece to piece."""
    for start in range(0, size, PIECE):
        word = hashlib.sha256(f"{seed}:{start}".encode()).digest()
        yield (word * (PIECE // len(word)))[: min(PIECE, size - start)]


FORM_HEAD = b'--b\r\nContent-Disposition: form-data; name="f"; filename="x.bin"\r\n\r\n'
FORM_END = b"\r\n--b--\r\n"


def upload(both, token, seed, size, *, chunked=False, form=False):
    """Upload; return the answer and the digest of what was sent."""
    digest = hashlib.sha256()
    head, end = (FORM_HEAD, FORM_END) if form else (b"", b"")

    def sent():
        yield head
        for piece in pieces(seed, size):
            digest.update(piece)
            yield piece
        yield end

    length = len(head) + size + len(end)
    headers = {} if chunked else {"content-length": str(length)}
    headers |= {"content-type": "multipart/form-data; boundary=b"} if form else {}
    params = {"fileName": f"{seed}.bin", "folderId": both.ids["houses"]}
    with both.client(token) as client:
        answer = client.post("/files/upload", params=params, content=sent(), headers=headers)
    return answer, digest.hexdigest()


def stored(both, token, file_id):
    """Return the digest of what is downloaded."""
    with both.client(token) as client:
        url = client.get(f"/files/{file_id}/download").raise_for_status().json()["downloadUrl"]
    digest = hashlib.sha256()
    with httpx.stream("GET", url) as answer:
        for piece in answer.iter_raw():
            digest.update(piece)
    return digest.hexdigest()


def memory(both, name):
    """Return a line of the kernel's count for the gateway, in bytes: VmRSS now, VmHWM at most."""
    status = Path(f"/proc/{both.gateway.pid}/status").read_text()
    return int(status.partition(f"{name}:")[2].split()[0]) * 1024


def left_behind(both):
    """Return how many bytes the sandbox keeps for uploads that are not files."""
    return sum(
        file.stat().st_size for file in (both.folder / "sandbox").rglob("*") if file.is_file()
    )


@pytest.mark.skipif(not Path("/proc/self/clear_refs").exists(), reason="needs the kernel's counts")
@pytest.mark.parametrize("form", [False, True], ids=["plain", "forms"])
def test_four_uploads_at_once_hold_64_mb_at_most_and_arrive_whole(both, token, form):
    upload(both, token, "warm", 8 * PIECE, form=form)
    before = memory(both, "VmRSS")
    Path(f"/proc/{both.gateway.pid}/clear_refs").write_text("5")  # the peak counts from now on

    with ThreadPoolExecutor(AT_ONCE) as pool:
        jobs = [
            pool.submit(upload, both, token, f"big {n} {form}", SIZE, form=form)
            for n in range(AT_ONCE)
        ]
        done = [job.result() for job in jobs]

    growth = memory(both, "VmHWM") - before
    sys.stdout.write(f"{AT_ONCE} uploads of {SIZE} bytes: {growth / 2**20:.1f} MiB more\n")
    assert [answer.status_code for answer, _ in done] == [200] * AT_ONCE
    assert growth <= GROWTH
    for answer, digest in done:
        assert stored(both, token, answer.json()["fileId"]) == digest


@pytest.mark.parametrize(
    ("chunked", "form"),
    [
        pytest.param(False, False, id="announced"),
        pytest.param(True, False, id="counted"),
        pytest.param(False, True, id="in a form"),
    ],
)
def test_one_byte_over_the_limit_is_413_and_stores_nothing(both, token, chunked, form):
    files_before, bytes_before = both.names("houses"), left_behind(both)

    answer, _ = upload(
        both, token, f"too big {chunked} {form}", MOST + 1, chunked=chunked, form=form
    )

    body = answer.json()
    assert (answer.status_code, body["error"], body["errorCode"]) == (
        413,
        "PAYLOAD_TOO_LARGE",
        "TOO_LARGE",
    )
    assert both.names("houses") == files_before
    assert left_behind(both) - bytes_before < PIECE


def head(both, token, name, size, *more):
    """Write the head of an upload."""
    query = f"fileName={name}&folderId={both.ids['houses']}"
    lines = (
        f"POST /api/access/collab/files/upload?{query} HTTP/1.1",
        "Host: gateway.test",
        f"Authorization: Bearer {token}",
        f"Content-Length: {size}",
        *more,
    )
    return "".join(f"{line}\r\n" for line in lines).encode() + b"\r\n"


def connected(both):
    return socket.create_connection(("127.0.0.1", int(both.base.rpartition(":")[2])), 30)


def test_a_client_that_sends_everything_before_reading_receives_413(both, token):
    with connected(both) as client:
        client.sendall(head(both, token, "blind.bin", MOST + 1, "Connection: close"))
        for piece in pieces("blind", MOST + 1):
            client.sendall(piece)
        with client.makefile("rb") as answer:
            response = answer.read()

    assert response.startswith(b"HTTP/1.1 413 ")
    assert b'"errorCode":"TOO_LARGE"' in response
    assert "blind.bin" not in both.names("houses")


def test_an_interrupted_upload_stores_nothing(both, token):
    files_before, bytes_before = both.names("houses"), left_behind(both)
    with connected(both) as client:
        client.sendall(head(both, token, "cut.bin", 3 * MOST // 4))
        for piece in pieces("cut", MOST // 2):
            client.sendall(piece)
        assert left_behind(both) > bytes_before + PIECE  # some of it is upstream already

    until = time.monotonic() + 60
    while left_behind(both) - bytes_before >= PIECE and time.monotonic() < until:
        time.sleep(0.05)
    assert left_behind(both) - bytes_before < PIECE
    assert both.names("houses") == files_before
