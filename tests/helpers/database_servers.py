"""Database servers of the tests' own, on free loopback ports: they may be frozen and killed."""

import os
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from ports import free_port
from programs import program
from redis import Redis


def wait_for(port: int, seconds: float = 60) -> None:
    """Return once something listens on *port*."""
    until = time.monotonic() + seconds
    while True:
        try:
            socket.create_connection(("127.0.0.1", port), 1).close()
        except OSError:
            if time.monotonic() > until:
                raise
            time.sleep(0.02)
        else:
            return


def wait_until_closed(*ports: int, seconds: float = 60) -> None:
    """Return once nothing listens on *ports*: the processes of a killed server end one by one."""
    until = time.monotonic() + seconds
    for port in ports:
        while True:
            try:
                socket.create_connection(("127.0.0.1", port), 1).close()
            except ConnectionRefusedError:
                break
            except OSError:
                pass  # a process that is just ending
            assert time.monotonic() < until, "A killed server still listens"
            time.sleep(0.01)


class RedisServer:
    """A Redis that keeps nothing on disk."""

    def __init__(self, folder: Path, *, is_cluster: bool = False) -> None:
        """*is_cluster*: the only one of a cluster, which has all slots and checks those of keys."""
        self._command = [program("redis-server"), "--bind", "127.0.0.1", "--save", ""]
        self._command += ["--appendonly", "no", "--dir", str(folder)]
        self.port = free_port()
        if is_cluster:
            self._command += ["--cluster-enabled", "yes", "--cluster-port", str(free_port())]
        self._is_cluster = is_cluster
        self.url = f"redis://127.0.0.1:{self.port}/0"
        self.start()

    def start(self) -> None:
        command = [*self._command, "--port", str(self.port)]
        self._process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
        wait_for(self.port)
        if self._is_cluster:
            with Redis.from_url(self.url) as client:
                client.execute_command("CLUSTER ADDSLOTSRANGE 0 16383")
                until = time.monotonic() + 60
                while client.execute_command("CLUSTER INFO")["cluster_state"] != "ok":
                    assert time.monotonic() < until, "The cluster does not begin"
                    time.sleep(0.02)

    def freeze(self) -> None:
        self._process.send_signal(signal.SIGSTOP)

    def thaw(self) -> None:
        self._process.send_signal(signal.SIGCONT)

    def kill(self) -> None:
        self._process.kill()
        self._process.wait(120)


@contextmanager
def redis_server(folder: Path, *, is_cluster: bool = False) -> Iterator[RedisServer]:
    server = RedisServer(folder, is_cluster=is_cluster)
    try:
        yield server
    finally:
        server.kill()


class PostgresServer:
    """A cluster of the test's own, in a folder of its own, that may be frozen and restarted."""

    def __init__(self, folder: Path) -> None:
        self.port = free_port()
        self.url = f"postgresql+asyncpg://postgres@127.0.0.1:{self.port}/postgres"
        self.data = str(folder / "cluster")
        # The server refuses to run as root.
        self.user = "postgres" if os.getuid() == 0 else None
        if self.user:
            shutil.chown(folder, self.user)
        with self._begin("initdb", "-D", self.data, "-U", "postgres", "-A", "trust", "-N") as made:
            assert made.wait() == 0, "initdb failed"
        self.start()

    def start(self) -> None:
        """Start it, as a child of ours: pg_ctl's would be buried by whom no test can wait for.

        While a killed server is not buried, the next one takes its folder for a running one's.
        """
        where = ("-D", self.data, "-p", str(self.port), "-h", "127.0.0.1")
        settings = ("-c", "unix_socket_directories=", "-c", "fsync=off")
        self._process = self._begin("postgres", *where, *settings)
        until = time.monotonic() + 60
        while self._begin("pg_isready", "-q", "-h", "127.0.0.1", "-p", str(self.port)).wait():
            assert self._process.poll() is None, "PostgreSQL ended"
            assert time.monotonic() < until, "PostgreSQL does not answer"
            time.sleep(0.02)

    def stop(self) -> None:
        """End it and its children at once; what is committed stays."""
        self._process.send_signal(signal.SIGQUIT)
        self._process.wait(120)

    def kill(self) -> None:
        """End it as a loss of power would."""
        self._signal(signal.SIGKILL)
        self._process.wait(120)

    def freeze(self) -> None:
        self._signal(signal.SIGSTOP)

    def thaw(self) -> None:
        self._signal(signal.SIGCONT)

    def _signal(self, number: signal.Signals) -> None:
        """Signal the server's children, which are in sessions of their own, and then the server.

        While the server is stopped it starts no child and buries none, so every listed one is
        there to be signalled.
        """
        server = self._process.pid
        os.kill(server, signal.SIGSTOP)
        for pid in [*self.children(), server]:
            os.kill(pid, number)

    def children(self) -> list[int]:
        """Return the ids of the processes that serve connections or work in the background."""
        listed = subprocess.run(
            ["ps", "-o", "pid=", "--ppid", str(self._process.pid)],
            capture_output=True,
            text=True,
            check=False,
        )
        return [*map(int, listed.stdout.split())]

    def _begin(self, name: str, *arguments: str) -> subprocess.Popen[bytes]:
        return subprocess.Popen(
            [program(name), *arguments],
            user=self.user,
            cwd="/",
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )


@contextmanager
def postgres_server() -> Iterator[PostgresServer]:
    # Not below pytest's own folder, which is closed to other users, such as the server's.
    with tempfile.TemporaryDirectory(prefix="agw-postgres-") as folder:
        server = PostgresServer(Path(folder))
        try:
            yield server
        finally:
            server.stop()


@contextmanager
def pgbouncer(postgres: PostgresServer, *, database: str, user: str) -> Iterator[int]:
    """Run PgBouncer in transaction mode with few connections to *postgres*; yield its port."""
    port = free_port()
    with tempfile.TemporaryDirectory(prefix="agw-pgbouncer-") as folder:
        users, config = Path(folder) / "users.txt", Path(folder) / "pgbouncer.ini"
        users.write_text(f'"{user}" ""\n')
        config.write_text(
            f"[databases]\n{database} = host=127.0.0.1 port={postgres.port}\n"
            f"[pgbouncer]\nlisten_addr = 127.0.0.1\nlisten_port = {port}\nunix_socket_dir =\n"
            f"auth_type = trust\nauth_file = {users}\n"
            "pool_mode = transaction\ndefault_pool_size = 4\nmax_client_conn = 200\n"
        )
        if postgres.user:
            for path in (folder, users, config):
                shutil.chown(path, postgres.user)
        process = subprocess.Popen(
            [program("pgbouncer"), "-q", str(config)],
            user=postgres.user,
            cwd="/",
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        try:
            wait_for(port)
            yield port
        finally:
            process.terminate()
            process.wait(120)
