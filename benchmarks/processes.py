"""
Whole processes: CPU time of starts, commands and requests over sockets, and memory.

Both sides serve the same store in processes of their own; only their CPU time counts.
"""

import http.client
import os
import socket
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from benchmarks import upstream, whole
from benchmarks.baselines.served import KEY
from benchmarks.requests import AN_EMAIL
from benchmarks.table import Figure

TIMES = 3
STARTS = 7  # of each side, in turns; a start takes a second, and is the noisiest figure
REQUESTS = 1000  # after which memory is read; less than a second of CPU time each
SMALL_PAGE = "/api/access/email/messages?limit=20"
TOKEN_INFO = "/api/access/token"  # noqa: S105 - a path
_TICK = os.sysconf("SC_CLK_TCK")
_PAGE_BYTES = os.sysconf("SC_PAGE_SIZE")
_WAIT_SECONDS = 60.0


async def figures() -> list[Figure]:
    """Measure both sides; the figures are in the order in which they are printed."""
    with upstream.running() as base:
        async with whole.ours(base, providers=["PROVIDER_B"]) as us:
            token, file = us.tokens["plain"], us.file
            environment = environment_of(base, file.parent)
            ours = [sys.executable, "-m", "gateway", "serve", "--port"]
            theirs = [sys.executable, "-m", "benchmarks.baselines.served"]
            mine, plain = [], []
            for _ in range(TIMES):
                mine.append(_served(ours, (), environment, token))
                plain.append(_served(theirs, (base, str(file)), environment, token))
            starts = [
                {
                    "plain": _start(theirs, (base, str(file)), environment, token),
                    "mine": _start(ours, (), environment, token),
                    **{name: _command(words, environment) for name, words in WORDS.items()},
                }
                for _ in range(STARTS)
            ]
    return _figures(_medians(mine), _medians(plain), _medians(starts))


def _figures(
    mine: Mapping[str, float], plain: Mapping[str, float], starts: Mapping[str, float]
) -> list[Figure]:
    start = starts["plain"]
    return [
        Figure("plain application: CPU until its first answer", start, "s"),
        Figure("CPU until the first answer", starts["mine"], "s", to=start),
        *(
            Figure(f"CPU of {name}, to the plain start", starts[name], "s", to=start)
            for name in WORDS
        ),
        *(
            Figure(f"{name} over a socket", mine[name], "ms CPU", to=plain[name])
            for name in ("one email", "a page of 20")
        ),
        Figure("token info over a socket", mine["token info"], "ms CPU"),
        Figure("plain application: memory", plain["memory"], "MB"),
        Figure(f"memory after {REQUESTS:,} requests", mine["memory"], "MB"),
    ]


WORDS = {"`token list`": ["token", "list"], "`--help`": ["--help"]}


def _served(
    command: Sequence[str], rest: Sequence[str], environment: Mapping[str, str], token: str
) -> Mapping[str, float]:
    """Start a server; return milliseconds of CPU per request, and megabytes."""
    with running(command, rest, environment) as (process, port):
        client = _Client(port, token)

        def ask(target: str, times: int = 1) -> float:
            """Return milliseconds of CPU per request."""
            before = cpu_of(process.pid)
            for _ in range(times):
                client.get(target)
            return (cpu_of(process.pid) - before) / times * 1000

        ask(AN_EMAIL, 50)
        measured = {
            "one email": ask(AN_EMAIL, REQUESTS),
            "a page of 20": ask(SMALL_PAGE, REQUESTS // 3),
            "token info": ask(TOKEN_INFO, REQUESTS // 3),
            "memory": _memory(process.pid),
        }
        client.close()
        return measured


def _start(
    command: Sequence[str], rest: Sequence[str], environment: Mapping[str, str], token: str
) -> float:
    """Start a server; return its CPU seconds until it has answered the first request."""
    with running(command, rest, environment) as (process, port):
        client = _Client(port, token)
        client.get(AN_EMAIL)
        spent = cpu_of(process.pid)
        client.close()
        return spent


class _Client:
    """One connection to a server."""

    def __init__(self, port: int, token: str) -> None:
        self._connection = http.client.HTTPConnection("127.0.0.1", port, timeout=_WAIT_SECONDS)
        self._headers = {"authorization": f"Bearer {token}"}

    def get(self, target: str) -> None:
        self._connection.request("GET", target, headers=self._headers)
        answer = self._connection.getresponse()
        answer.read()
        assert answer.status == 200 or target == TOKEN_INFO, answer.status

    def close(self) -> None:
        self._connection.close()


@contextmanager
def running(
    command: Sequence[str], rest: Sequence[str], environment: Mapping[str, str]
) -> Iterator[tuple["subprocess.Popen[bytes]", int]]:
    """Run a server on a free port, which follows *command*; yield the process and the port."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port: int = free.getsockname()[1]
    with subprocess.Popen(  # noqa: S603 - our own modules
        [*command, str(port), *rest],
        env=environment,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    ) as process:
        try:
            _wait_for(port)
            yield process, port
        finally:
            process.terminate()


def _wait_for(port: int) -> None:
    deadline = time.monotonic() + _WAIT_SECONDS
    while True:
        try:
            socket.create_connection(("127.0.0.1", port), timeout=1).close()
        except OSError:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.02)
        else:
            return


def _command(words: Sequence[str], environment: Mapping[str, str]) -> float:
    """Run a command; return its CPU seconds."""
    before = os.times()
    command = [sys.executable, "-m", "gateway", *words]
    subprocess.run(command, env=environment, check=True, stdout=subprocess.DEVNULL)  # noqa: S603
    after = os.times()
    spent = after.children_user + after.children_system
    return spent - before.children_user - before.children_system


def environment_of(base: str, folder: Path) -> dict[str, str]:
    """Return the environment of a gateway on the store in *folder*, with upstreams at *base*."""
    plenty = str(whole.PLENTY)
    return {
        **{name: value for name, value in os.environ.items() if not name.startswith("AGW_")},
        "AGW_DATA_DIR": str(folder),
        "AGW_ADMIN_TOKEN": whole.ADMIN,
        "AGW_SECRET_KEYS": KEY,
        "AGW_PROVIDER_A_URL": base,
        "AGW_PROVIDER_B_URL": base,
        "AGW_DECISION_DAYS": "0",
        "AGW_RATE_LIMIT_WINDOWS": f'{{"email": {plenty}, "management": {plenty}}}',
        "AGW_LOG_LEVEL": "error",
    }


def cpu_of(pid: int) -> float:
    """Return the CPU seconds that a process has used."""
    fields = Path(f"/proc/{pid}/stat").read_text("utf-8").rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / _TICK


def _memory(pid: int) -> float:
    """Return the resident megabytes of a process."""
    pages = int(Path(f"/proc/{pid}/statm").read_text("utf-8").split()[1])
    return pages * _PAGE_BYTES / 1024 / 1024


def _medians(runs: Sequence[Mapping[str, float]]) -> Mapping[str, float]:
    return {name: statistics.median(run[name] for run in runs) for name in runs[0]}
