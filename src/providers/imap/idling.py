"""Connections that wait until a folder changes (RFC 2177)."""

import asyncio
import re
import time
from typing import Final

from providers.imap.accounts import Notify, ignore
from providers.imap.replies import Reply
from providers.imap.session import COMMAND_SECONDS, Session

_CHANGE: Final = re.compile(rb"\* (?:\d{1,10} (?:EXISTS|EXPUNGE|FETCH)|VANISHED) ?", re.IGNORECASE)


class IdleSession(Session):
    """
    A connection for `idle`; it has one folder open.

    Attributes:
        has_changed: Whether a response has told of a change, or of what the opened folder holds.
    """

    def __init__(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, notify: Notify = ignore
    ) -> None:
        """Take a connection, as `Session`."""
        self._is_idling = self.has_changed = False
        self._ended = 0.0

        def note(method: str, outcome: str, began: float) -> None:
            # The wait is no time that the server takes to answer.
            notify(method, outcome, self._ended if method == "IDLE" else began)

        super().__init__(reader, writer, note)

    async def idle(self, seconds: float) -> bool:
        """
        Wait until the open folder changes, unless it has; return whether it did.

        Raises:
            ProviderFailure: As `command`.
        """
        await self._timed("IDLE", self._wait(seconds), seconds + COMMAND_SECONDS)
        has_changed, self.has_changed = self.has_changed, False
        return has_changed

    async def _wait(self, seconds: float) -> Reply:
        self._ended = time.perf_counter()
        self._responses.begin()
        tag = next(self._tags)
        self._writer.write(tag + b" IDLE\r\n")
        status = await self._until(tag, [], continuation=True)
        if status is None:
            self._is_idling = True
            timer = asyncio.get_running_loop().call_later(
                0 if self.has_changed else seconds, self._finish
            )
            try:
                status = await self._until(tag, [])
            finally:
                timer.cancel()
                self._is_idling = False
        return self._judge(status or b"", (), ("IDLE",))

    def _note(self, head: bytes) -> None:
        super()._note(head)
        if _CHANGE.match(head):
            self.has_changed = True
            self._finish()

    def _finish(self) -> None:
        """End the wait; its answer follows."""
        if self._is_idling:
            self._is_idling = False
            self._ended = time.perf_counter()
            self._writer.write(b"DONE\r\n")
