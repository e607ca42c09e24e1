"""
A full disk under the database and the temporary files: refused, nothing half done, then as before.

The disk fills up once, with `TIMES` more often.
"""

import contextlib
import subprocess
import sys
import time
from pathlib import Path

import httpx
import pytest
from run_sizes import times

sys.path.insert(0, str(Path(__file__).parent))
import content_processes

pytestmark = pytest.mark.slow

ROUNDS = times(1)
PIECE = b"x" * 1024 * 1024
UPLOAD = 6  # pieces: too many for one call, so that they are counted in a temporary file
MOST_WRITES = 50  # until the pages that the database has already are full


class Disk:
    """A small file system with the folder of the database and the temporary files."""

    def __init__(self, folder):
        self.temporary = folder / "temporary"
        self.temporary.mkdir()
        self._filling = folder / "filling"

    def fill(self):
        with self._filling.open("wb", buffering=0) as file:
            for size in (len(PIECE), 4096, 1):
                with contextlib.suppress(OSError):  # ENOSPC
                    while file.write(PIECE[:size]):
                        pass

    def free(self):
        self._filling.unlink()


@pytest.fixture
def disk(tmp_path, monkeypatch):
    folder = tmp_path / "gateway"
    folder.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=32m", "none", str(folder)]
    if subprocess.run(mount, capture_output=True, check=False).returncode:
        pytest.skip("no file system may be mounted here")
    disk = Disk(folder)
    monkeypatch.setenv("TMPDIR", str(disk.temporary))
    yield disk
    subprocess.run(["umount", "--lazy", str(folder)], check=True)


def upload(both, token, name):
    """Upload a file of unknown size."""
    params = {"fileName": name, "folderId": both.ids["boats"]}
    with both.client(token) as client:
        return client.post("/files/upload", params=params, content=iter([PIECE] * UPLOAD))


def add_operator(both, number):
    body = {"email": f"{number}@x.example", "displayName": "O" * 200}
    with both.admin() as admin:
        return admin.post("/operators", json=body).status_code


def writes(both):
    return httpx.get(f"{both.base}/readyz").json()["checks"]["writes"]


def test_a_full_disk_refuses_what_needs_room_and_recovers(tmp_path, disk):
    with content_processes.opened(tmp_path) as both:
        both.start()
        both.prepare()
        _, token = both.token(("folder", both.ids["boats"]), ("file_id", both.ids["boats"]))
        for number in range(ROUNDS):
            name, before = f"{number}.bin", both.names("boats")
            disk.fill()
            refused = upload(both, token, name)
            statuses = []
            while len(statuses) < MOST_WRITES and 503 not in statuses:
                statuses.append(add_operator(both, f"{number}-{len(statuses)}"))
            with both.client(token) as client:
                read = client.get(f"/files/{both.ids['boats']}")

            assert refused.status_code == 503, refused.text
            assert both.names("boats") == before
            assert set(statuses) - {201} == {503}
            assert read.status_code == 200

            disk.free()
            until = time.monotonic() + 60
            while writes(both) != "ok" and time.monotonic() < until:
                time.sleep(0.2)
            assert upload(both, token, name).status_code == 200
            assert both.names("boats")[name] == len(PIECE) * UPLOAD
            assert add_operator(both, f"{number}-after") == 201
            assert writes(both) == "ok"
            assert list(disk.temporary.iterdir()) == []
