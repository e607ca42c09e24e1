"""
Processes that write the decision log are killed while they do: what was stored stays whole.

Two of them are in three rounds, and `TIMES` more.
"""

import asyncio
import subprocess
import sys
from collections import defaultdict
from pathlib import Path

import pytest
from run_sizes import times

from gateway.audit import reading
from gateway.audit.seals import faults
from gateway.secrets.keyring import Keyring

pytestmark = pytest.mark.slow

ROUNDS = times(1)
WRITER = Path(__file__).with_name("deciding_process.py")
KEY = "a secret key of the tests"


def begun(store, name):
    command = [sys.executable, str(WRITER), store, name, KEY]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True)


def killed(process, *, after):
    """Kill -9 a process after it reported *after* times; return its last report."""
    for _ in range(after):
        process.stdout.readline()
    process.kill()
    lines = process.stdout.read().split("\n")[:-1]
    process.wait()
    process.stdout.close()
    return int(lines[-1]) if lines else 0


async def test_a_killed_process_leaves_an_unbroken_chain(database, store):
    written = {}
    for turn in range(ROUNDS):
        both = {f"{turn}{side}": begun(store, f"{turn}{side}") for side in "ab"}
        for name, process in both.items():
            written[name] = await asyncio.to_thread(killed, process, after=3 + turn)

    stored = defaultdict(set)
    async for _, row in reading.in_chain_order(database):
        name, _, number = row.request_id.partition(":")
        stored[name].add(int(number))
    assert set(stored) == set(written)
    for name, numbers in stored.items():
        assert len(numbers) >= max(written[name], 21)
        assert numbers == set(range(len(numbers)))  # whole batches, the last one too
        assert len(numbers) % 7 == 0
    assert [fault async for fault in faults(Keyring([KEY]), reading.in_chain_order(database))] == []
