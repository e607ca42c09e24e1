"""Calls that the services make by themselves, to the addresses that clients name."""

import asyncio
import urllib.error
import urllib.request
from collections.abc import Awaitable, Callable, Coroutine
from dataclasses import dataclass, field
from typing import Any

# (URL, content type, body, seconds) -> (status, content type, body); OSError: nobody answers.
Send = Callable[[str, str, bytes, float], Awaitable[tuple[int, str, bytes]]]


def _post(url: str, kind: str, body: bytes, seconds: float) -> tuple[int, str, bytes]:
    request = urllib.request.Request(url, body, {"Content-Type": kind}, method="POST")  # noqa: S310
    try:
        with urllib.request.urlopen(request, timeout=seconds) as answer:  # noqa: S310 - checked
            return answer.status, answer.headers.get_content_type(), answer.read(65_536)
    except urllib.error.HTTPError as error:
        return error.code, error.headers.get_content_type(), b""


async def post(url: str, kind: str, body: bytes, seconds: float) -> tuple[int, str, bytes]:
    """Send a POST to an http or https URL."""
    return await asyncio.to_thread(_post, url, kind, body, seconds)


@dataclass
class Outbound:
    """
    The way out.

    Attributes:
        send: How it is called; tests have their own.
        tasks: What calls again and again, by name.
    """

    send: Send = post
    tasks: "dict[str, asyncio.Task[None]]" = field(default_factory=dict)

    def keep(self, name: str, run: Callable[[], Coroutine[Any, Any, None]]) -> None:
        """Run *run* in the background, unless it does."""
        if name not in self.tasks or self.tasks[name].done():
            self.tasks[name] = asyncio.create_task(run())
