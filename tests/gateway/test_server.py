"""Processes that start and stop side by side: one right state, and a sentence for the rest."""

import json
import os
import signal
import sqlite3
import subprocess
import sys
import time

import httpx
import pytest

from gateway.demo.manifest import FolderTaken, locked_folder, read_state, remove_stores

SECRETS = {
    "AGW_ADMIN_TOKEN": "the-admin-token-of-tests",
    "AGW_SECRET_KEYS": "a-secret-of-the-tests",
}
OPEN = """
import sys
from pathlib import Path
from gateway.demo.world import open_sandbox
print("ready", flush=True)
sys.stdin.readline()
open_sandbox(Path(sys.argv[1]), public_base="http://127.0.0.1:1/sandbox")
"""


def begin(*words, **settings):
    """Start Python with *words*; its talk and its data are read by `communicate`."""
    return subprocess.Popen(
        [sys.executable, *map(str, words)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, **SECRETS, **settings},
    )


def open_at_once(folder, times):
    """Open the sandbox over *folder* in so many processes at once; return their ends."""
    folder.mkdir()
    processes = [begin("-c", OPEN, folder) for _ in range(times)]
    for process in processes:
        assert process.stdout.readline() == "ready\n"
    for process in processes:
        process.stdin.write("\n")
        process.stdin.flush()
    talk = [process.communicate()[1] for process in processes]
    return [(process.returncode, output) for process, output in zip(processes, talk, strict=True)]


def rows(folder):
    """Count the rows of every table of the sandbox's store."""
    store = sqlite3.connect(folder / "sandbox.db")
    tables = store.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall()
    counted = {
        name: store.execute(f"SELECT count(*) FROM {name}").fetchone()[0] for (name,) in tables
    }
    store.close()
    return counted


def until(condition):
    """Wait until *condition* is true; return its value."""
    for _ in range(2400):
        if result := condition():
            return result
        time.sleep(0.05)
    raise AssertionError("It did not come.")


@pytest.mark.slow
@pytest.mark.parametrize("part", ["gateway.demo.world", "gateway.demo.manifest", "gateway.server"])
def test_a_store_is_not_opened_with_a_sqlite_that_may_corrupt_it(part):
    shown = f"import {part}, sandbox.storage.database as s; print(s.sqlite3.__name__)"
    done = subprocess.run([sys.executable, "-c", shown], capture_output=True, text=True, check=True)

    assert done.stdout == "pysqlite3\n"


def test_a_store_without_demo_data_is_left_unchanged(tmp_path):
    (tmp_path / "gateway.db").write_bytes(b"somebody's")
    with (
        pytest.raises(FolderTaken, match=r"is not a demo's: give another folder with --data\.$"),
        locked_folder(tmp_path, reset=True),
    ):
        raise AssertionError

    assert [file.name for file in tmp_path.iterdir()] == ["gateway.db"]


def test_a_folder_is_created_by_one_process_and_not_emptied_by_another(tmp_path):
    with locked_folder(tmp_path, reset=False) as state:
        assert state is None
    with pytest.raises(FolderTaken, match="stop it first"), locked_folder(tmp_path, reset=True):
        raise AssertionError


def test_the_first_demo_start_keeps_imported_data(tmp_path):
    for name in ("gateway.db", "sandbox.db"):
        (tmp_path / name).write_text("x")
    remove_stores(tmp_path, upstreams=False)

    assert [file.name for file in tmp_path.iterdir()] == ["sandbox.db"]


@pytest.mark.slow
def test_concurrent_starts_seed_the_world_once(tmp_path):
    alone, together = tmp_path / "alone", tmp_path / "together"

    assert open_at_once(alone, 1) == [(0, "")]
    assert open_at_once(together, 4) == [(0, "")] * 4
    assert rows(together) == rows(alone)


@pytest.mark.slow
def test_concurrent_demo_starts_share_one_demo(tmp_path):
    data = tmp_path / "demo"
    words = ("-m", "gateway", "demo", "--port", "0", "--data", data)
    demos = [begin(*words, "--manifest", tmp_path / str(number)) for number in range(3)]
    try:
        until(lambda: all((tmp_path / str(number)).exists() for number in range(3)))
        manifests = [json.loads((tmp_path / str(number)).read_text()) for number in range(3)]
        before = read_state(data)
        emptied = begin(*words, "--reset").communicate()
        answers = [
            httpx.get(
                f"{demo['baseUrl']}/api/access/email/messages",
                headers={"Authorization": f"Bearer {demo['tokens']['full']}"},
            ).status_code
            for demo in manifests
        ]
    finally:
        for demo in demos:
            demo.terminate()
        talk = [demo.communicate()[1] for demo in demos]

    assert {demo["tokens"]["full"] for demo in manifests} == {before.tokens["full"]}
    assert answers == [200, 200, 200]
    # Those that serve together for some seconds warn, which is right.
    lines = [line for line in "".join(talk).splitlines() if "serve one database" not in line]
    assert lines == ["Creating the demo's data …"]
    taken = f"Another process uses {data}: stop it first, or give another folder with --data.\n"
    assert emptied == ("", taken)
    assert read_state(data) == before


@pytest.mark.slow
def test_a_worker_that_cannot_start_ends_all_workers_with_a_message(tmp_path):
    (tmp_path / "sandbox.db").mkdir()
    settings = {"AGW_DATA_DIR": str(tmp_path), "AGW_SANDBOX": "true", "AGW_LOG_FORMAT": "console"}
    serving = begin("-m", "gateway", "serve", "--port", "0", "--workers", "2", **settings)
    printed, talk = serving.communicate(timeout=180)

    assert (serving.returncode, printed) == (1, "")
    assert "error: a worker could not start kind=OperationalError\n" in talk
    assert talk.endswith("A worker did not start; the lines above name the kind of failure.\n")
    assert "Traceback" not in talk


@pytest.mark.slow
def test_workers_end_with_a_killed_parent(tmp_path):
    settings = {"AGW_DATA_DIR": str(tmp_path), "AGW_LOG_FORMAT": "console"}
    serving = begin("-m", "gateway", "serve", "--port", "0", "--workers", "2", **settings)
    started = 0
    while started < 2:
        started += "Application startup complete." in serving.stderr.readline()
    serving.send_signal(signal.SIGKILL)
    talk = serving.communicate(timeout=180)[1]  # ends when nobody is left who could write more

    assert serving.returncode == -signal.SIGKILL
    assert talk.count("info: Finished server process [") == 2


@pytest.mark.slow
def test_a_store_is_seeded_once(tmp_path):
    settings = {"AGW_DATA_DIR": str(tmp_path), "AGW_SANDBOX": "true"}
    both = [begin("-m", "gateway", "seed", **settings) for _ in range(2)]
    talk = [process.communicate()[1] for process in both]

    assert sorted(process.returncode for process in both) == [0, 1]
    assert "The store is not empty: there are operators.\n" in talk
