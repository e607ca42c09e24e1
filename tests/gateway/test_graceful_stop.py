"""A server accepts all that waits; told to stop, it answers all that reaches it before."""

import asyncio
import errno
import signal
import socket
import time
from types import SimpleNamespace
from unittest.mock import Mock

import pytest
import uvicorn

from gateway import graceful_stop
from gateway.graceful_stop import Server, Stop, Worker
from gateway.http.protocol import GuardedProtocol

REQUEST = b"GET / HTTP/1.1\r\nHost: gateway.test\r\n\r\n"


class App:
    """Answers `slow` paths once `released` is set; counts drains."""

    def __init__(self):
        self.drains = 0
        self.entered, self.released = asyncio.Event(), asyncio.Event()

    def begin_drain(self):
        self.drains += 1

    async def __call__(self, scope, receive, send):
        if scope["path"] == "/slow":
            self.entered.set()
            await self.released.wait()
        headers = [(b"content-length", b"2")]
        if self.drains:
            headers.append((b"connection", b"close"))
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        await send({"type": "http.response.body", "body": b"ok"})


class Listener(socket.socket):
    """A socket whose process may have no descriptors left; counts the turns that accept."""

    is_out_of_descriptors = False
    accepted = 0

    def accept(self):
        if self.is_out_of_descriptors:
            raise OSError(errno.EMFILE, "Too many open files")
        accepted = super().accept()
        self.accepted += 1
        return accepted


class Served:
    """A server in this loop."""

    def __init__(self, drain_seconds):
        self.app = App()
        config = uvicorn.Config(
            self.app,
            http=GuardedProtocol,
            ws="none",
            lifespan="off",
            log_config=None,
            proxy_headers=False,
        )
        started = asyncio.Event()
        self.server = Server(config, Stop(drain_seconds, 60), started.set)
        self.listener = Listener()
        self.listener.bind(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        self.ended = asyncio.create_task(self.server._serve([self.listener]))
        self.started = started

    async def connect(self):
        return await asyncio.open_connection("127.0.0.1", self.port)

    def stop(self):
        self.server.handle_exit(signal.SIGTERM, None)


async def answer(reader):
    """Read up to the end of the connection."""
    return await asyncio.wait_for(reader.read(), 30)


async def until(condition):
    """Wait for a state of the server, which has no event for it."""
    async with asyncio.timeout(60):
        while not condition():  # noqa: ASYNC110
            await asyncio.sleep(0.01)


@pytest.fixture
async def make():
    made = []

    async def make(drain_seconds):
        made.append(Served(drain_seconds))
        await made[-1].started.wait()
        return made[-1]

    yield make
    for served in made:
        served.app.released.set()
        served.server.should_exit = True
        await asyncio.wait_for(served.ended, 60)


async def test_new_connections_are_answered_and_closed_while_it_drains(make):
    served = await make(600)
    served.stop()
    served.stop()  # a worker may be told twice
    reader, writer = await served.connect()
    writer.write(REQUEST)

    text = await answer(reader)
    writer.close()

    assert text.startswith(b"HTTP/1.1 200 OK\r\n")
    assert b"connection: close\r\n" in text
    assert served.app.drains == 1
    assert not served.ended.done()


async def test_it_ends_after_the_pause(make):
    served = await make(0.01)
    served.stop()

    await asyncio.wait_for(served.ended, 60)

    assert served.app.drains == 1


async def test_the_keyboard_stops_it_without_a_pause(make):
    served = await make(600)
    served.server.handle_exit(signal.SIGINT, None)

    await asyncio.wait_for(served.ended, 60)

    assert served.app.drains == 1  # when it ends, for responses that have no end of their own


async def test_a_running_request_is_answered(make):
    served = await make(0.01)
    reader, writer = await served.connect()
    writer.write(REQUEST.replace(b"/ ", b"/slow ", 1))
    await served.app.entered.wait()
    served.stop()
    await until(lambda: served.listener.fileno() < 0)
    served.app.released.set()

    text = await answer(reader)
    writer.close()

    assert text.startswith(b"HTTP/1.1 200 OK\r\n")
    assert text.endswith(b"ok")


@pytest.mark.parametrize("sent", [b"", REQUEST[:20]], ids=["nothing", "half a head"])
async def test_a_connection_whose_request_is_on_the_way_is_answered(make, sent):
    served = await make(0.01)
    reader, writer = await served.connect()
    writer.write(sent)
    await until(lambda: served.server.server_state.connections)
    served.stop()
    await until(lambda: served.listener.fileno() < 0)
    writer.write(REQUEST[len(sent) :])

    text = await answer(reader)
    writer.close()

    assert text.startswith(b"HTTP/1.1 200 OK\r\n")


class Starting(Worker):
    """A worker whose process does not answer, as one that still imports its modules."""

    def __init__(self):
        super().__init__(uvicorn.Config(App(), log_config=None), [])
        self.process = SimpleNamespace(pid=7, exitcode=None, is_alive=lambda: True, kill=Mock())


def test_a_worker_that_starts_is_not_ended_for_its_silence(monkeypatch):
    worker = Starting()
    monkeypatch.setattr("gateway.graceful_stop.STARTING_PING_SECONDS", 0.0)

    assert worker.is_alive(timeout=0.0)
    worker._must_answer_until = time.monotonic()
    assert not worker.is_alive(timeout=0.0)


def test_a_worker_that_ends_while_it_starts_is_seen():
    worker = Starting()
    worker.process.is_alive = lambda: False

    assert not worker.is_alive(timeout=0.0)


def test_a_worker_that_has_answered_must_answer_again(caplog):
    worker = Starting()
    worker.child_conn.send(True)  # what the thread of the worker sends for a ping

    assert worker.is_alive(timeout=0.0)
    assert not worker.is_alive(timeout=0.0)
    worker.kill()
    assert caplog.messages == ["worker 7 did not answer its supervisor and is replaced"]
    worker.process.kill.assert_called_once_with()


async def test_connections_that_wait_are_accepted_in_batches(make):
    served = await make(0.01)
    waiting = [socket.create_connection(("127.0.0.1", served.port)) for _ in range(100)]
    counts = [0]
    while served.listener.accepted < len(waiting):
        await asyncio.sleep(0)
        counts.append(served.listener.accepted)
    for connection in waiting:
        connection.close()

    assert sorted(set(counts)) == [0, graceful_stop.ACCEPTED, 100]


async def test_a_process_without_descriptors_says_so_and_accepts_later(make, caplog, monkeypatch):
    monkeypatch.setattr(graceful_stop, "PAUSE_SECONDS", 0.01)
    served = await make(0.01)
    served.listener.is_out_of_descriptors = True
    reader, writer = await served.connect()
    writer.write(REQUEST.replace(b"\r\n\r\n", b"\r\nConnection: close\r\n\r\n"))
    await until(lambda: len(errors(caplog)) > 1)  # it tries again
    served.listener.is_out_of_descriptors = False

    assert (await answer(reader)).endswith(b"ok")
    writer.close()
    assert set(errors(caplog)) == {("no connection can be accepted", "Too many open files")}


def errors(caplog):
    return [
        (record.message, record.kind) for record in caplog.records if record.levelname == "ERROR"
    ]
