"""
A flood of one kind of hostile requests, from a process of its own: 16 connections, a thread each.

The process that measures honest calls must not be delayed by the work of the flood, so the flood
runs elsewhere, with less of the machine's time than anything else. It ends when its standard input
does, and prints the number of responses by status; 0 stands for a connection that ended instead.

    python tests/helpers/flood.py PORT KIND TOKEN ADDRESS
"""

import json
import os
import socket
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from threading import Thread

from hostile_requests import requests_of

CONNECTIONS = 16
ANSWER_SECONDS = 60.0
NICENESS = 10
_RECEIVED = 65_536  # bytes read at once


@contextmanager
def flooding(port: int, kind: str, token: str, address: str) -> Iterator[Counter[int]]:
    """
    Send requests of *kind* to a gateway on this machine, as *address* (`X-Forwarded-For`).

    Yields:
        The number of responses by status, filled in when the flood has ended.
    """
    statuses: Counter[int] = Counter()
    command = [sys.executable, __file__, str(port), kind, token, address]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    try:
        yield statuses
    except BaseException:
        process.kill()
        process.communicate()
        raise
    printed, _ = process.communicate(timeout=ANSWER_SECONDS)
    statuses.update({int(status): count for status, count in json.loads(printed).items()})
    assert process.returncode == 0


def send_until_end_of_input(port: int, kind: str, headers: Mapping[str, str]) -> Counter[int]:
    """Send requests of *kind* on every connection until standard input ends."""
    per_connection = [Counter[int]() for _ in range(CONNECTIONS)]
    for statuses in per_connection:
        Thread(target=_send, args=(port, kind, headers, statuses), daemon=True).start()
    sys.stdin.read()
    return sum((Counter(dict(statuses)) for statuses in per_connection), Counter[int]())


def _send(port: int, kind: str, headers: Mapping[str, str], statuses: Counter[int]) -> None:
    connection: socket.socket | None = None
    for written in requests_of(kind, headers):
        try:
            if connection is None:
                connection = socket.create_connection(("127.0.0.1", port), timeout=ANSWER_SECONDS)
            status, ends = _ask(connection, written)
        except OSError:
            status, ends = 0, True
        statuses[status] += 1
        if ends and connection is not None:
            connection.close()
            connection = None


def _ask(connection: socket.socket, written: bytes) -> tuple[int, bool]:
    """Return the status of the response, and whether the connection ends with it."""
    connection.sendall(written)
    received = b""
    while True:
        part = connection.recv(_RECEIVED)
        if not part:
            raise ConnectionResetError
        received += part
        head, separator, body = received.partition(b"\r\n\r\n")
        if not separator:
            continue
        lines = head.lower()
        length = lines.partition(b"content-length: ")[2].partition(b"\r\n")[0]
        if len(body) >= int(length or 0):
            return int(head[9:12]), b"\r\nconnection: close" in lines


def main() -> None:
    """Run the flood that the command line describes."""
    os.nice(NICENESS)
    port, kind, token, address = sys.argv[1:]
    headers = {"Authorization": f"Bearer {token}", "X-Forwarded-For": address}
    statuses = send_until_end_of_input(int(port), kind, headers)
    print(json.dumps(statuses), flush=True)  # noqa: T201 - the parent reads it
    os._exit(0)  # without waiting for threads that wait for a response


if __name__ == "__main__":
    main()
