"""An upload of the full size passes through the nginx of `deploy/nginx.conf`."""

import hashlib
import json
import os
import socket
import ssl
import sys
import time
from pathlib import Path

import httpx
import nginx
import pytest
from programs import program

sys.path.insert(0, str(Path(__file__).parent))
import content_processes

pytestmark = pytest.mark.slow

MOST = 104_857_600  # bytes: docs/spec/limits.md#sizes
SIZE = int(os.environ.get("UPLOAD_BYTES", str(MOST)))
PIECE = b"0123456789abcdef" * 65536
FORM_HEAD = b'--b\r\nContent-Disposition: form-data; name="f"; filename="x.bin"\r\n\r\n'
FORM_END = b"\r\n--b--\r\n"


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    program("nginx")  # before the gateway starts
    folder = tmp_path_factory.mktemp("uploads")
    with content_processes.opened(folder) as both:
        both.start()
        both.prepare()
        port = int(both.base.rpartition(":")[2])
        with nginx.running(folder / "nginx", (port, port)) as proxy:
            token = both.token(("folder", both.ids["houses"]), ("file_id", both.ids["houses"]))[1]
            yield both, proxy, token


def client(proxy, token):
    trust = ssl.create_default_context(cafile=str(proxy.certificate))
    headers = {"authorization": f"Bearer {token}"}
    base = f"{proxy.base}/api/access/collab"
    return httpx.Client(base_url=base, verify=trust, timeout=300, headers=headers)


@pytest.mark.parametrize("form", [False, True], ids=["plain", "in a form"])
def test_an_upload_of_100_mib_arrives_whole(site, form):
    both, proxy, token = site
    digest = hashlib.sha256()
    head, end = (FORM_HEAD, FORM_END) if form else (b"", b"")

    def sent():
        yield head
        left = SIZE
        while left:
            piece = PIECE[:left]
            digest.update(piece)
            left -= len(piece)
            yield piece
        yield end

    headers = {"content-length": str(len(head) + SIZE + len(end))}
    headers |= {"content-type": "multipart/form-data; boundary=b"} if form else {}
    params = {"fileName": f"{form}.bin", "folderId": both.ids["houses"]}
    began = time.monotonic()
    with client(proxy, token) as caller:
        answer = caller.post("/files/upload", params=params, content=sent(), headers=headers)
        seconds = time.monotonic() - began
        assert answer.status_code == 200, answer.text
        url = caller.get(f"/files/{answer.json()['fileId']}/download").json()["downloadUrl"]
    stored = hashlib.sha256()
    with httpx.stream("GET", url, timeout=300) as download:
        for piece in download.iter_raw():
            stored.update(piece)

    sys.stdout.write(f"{SIZE} bytes through nginx in {seconds:.1f} s\n")
    assert stored.hexdigest() == digest.hexdigest()
    spooled = [file for file in proxy.folder.glob("temp-*/**/*") if file.is_file()]
    assert spooled == []


def test_what_nginx_refuses_has_the_shape_of_the_api(site):
    _, proxy, token = site
    port = int(proxy.base.rpartition(":")[2])
    trust = ssl.create_default_context(cafile=str(proxy.certificate))
    head = (
        "POST /api/access/collab/files/upload HTTP/1.1\r\nHost: gateway.test\r\n"
        f"Authorization: Bearer {token}\r\nContent-Length: {MOST + 2**21}\r\n"
        "Connection: close\r\n\r\n"
    )
    with (
        socket.create_connection(("127.0.0.1", port), 60) as plain,
        trust.wrap_socket(plain, server_hostname="127.0.0.1") as line,
    ):
        line.sendall(head.encode())
        answer = b"".join(iter(lambda: line.recv(65536), b""))

    assert answer.startswith(b"HTTP/1.1 413 ")
    assert json.loads(answer.partition(b"\r\n\r\n")[2])["error"] == "PAYLOAD_TOO_LARGE"
