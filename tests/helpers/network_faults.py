"""TCP links that a test may hold (nothing passes, nothing is refused) or cut (reset, refused)."""

import asyncio
import contextlib
import socket
import struct

_RESET = struct.pack("ii", 1, 0)  # SO_LINGER: close with a reset


class Link:
    """A proxy on a loopback port of its own in front of a server on another one."""

    def __init__(self, target: int) -> None:
        self._target = target
        self._passing = asyncio.Event()
        self._passing.set()
        self._is_cut = False
        self._writers: set[asyncio.StreamWriter] = set()
        self._tasks: set[asyncio.Task[None]] = set()
        self._server: asyncio.Server | None = None
        self.port = 0

    async def start(self) -> None:
        """Listen on a free port."""
        self._server = await asyncio.start_server(self._accept, "127.0.0.1", 0)
        self.port = self._server.sockets[0].getsockname()[1]

    def hold(self) -> None:
        """Let nothing pass: what is sent arrives when the link is restored."""
        self._passing.clear()

    def cut(self) -> None:
        """Reset every connection, and each new one."""
        self._is_cut = True
        self._passing.set()
        for writer in tuple(self._writers):
            _reset(writer)

    def restore(self) -> None:
        """Let everything pass again."""
        self._is_cut = False
        self._passing.set()

    async def close(self) -> None:
        """End the connections and stop listening."""
        if self._server is not None:
            self._server.close()
        for task in tuple(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        if task is not None:
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)
        self._writers.add(writer)
        onward = None
        try:
            await self._passing.wait()
            if self._is_cut:
                _reset(writer)
                return
            answers, onward = await asyncio.open_connection("127.0.0.1", self._target)
            self._writers.add(onward)
            async with asyncio.TaskGroup() as both:
                both.create_task(self._pass_on(reader, onward))
                both.create_task(self._pass_on(answers, writer))
        except* (OSError, asyncio.CancelledError):
            pass
        finally:
            for end in (writer, onward):
                if end is not None:
                    self._writers.discard(end)
                    end.close()

    async def _pass_on(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Copy until either end closes; then close the other one."""
        while data := await reader.read(65536):
            await self._passing.wait()
            writer.write(data)
            await writer.drain()
        await self._passing.wait()
        writer.close()


def _reset(writer: asyncio.StreamWriter) -> None:
    with contextlib.suppress(OSError):
        writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET)
    writer.transport.abort()
