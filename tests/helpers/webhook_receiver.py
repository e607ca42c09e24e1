"""A receiver of signed wake-up calls, and the verification of their signatures."""

import asyncio
import base64
import hashlib
import hmac
from collections.abc import Mapping

import httpx
import orjson


def verified(secret: str, headers: Mapping[str, str], body: bytes) -> bool:
    """Verify a call as the receivers' guide of the Standard Webhooks convention says."""
    content = f"{headers['webhook-id']}.{headers['webhook-timestamp']}.{body.decode()}"
    key = base64.b64decode(secret.removeprefix("whsec_"))
    mac = hmac.new(key, content.encode(), hashlib.sha256).digest()
    pairs = [each.split(",", 1) for each in headers["webhook-signature"].split(" ")]
    signed = [base64.b64decode(value) for version, value in pairs if version == "v1"]
    return any(hmac.compare_digest(mac, value) for value in signed)


class Receiver:
    """
    Handler of `httpx.MockTransport` that notes the calls.

    Attributes:
        answer: The status of the next responses, or what is raised instead.
        proceed: Awaited before each response, if it is not None.
    """

    def __init__(self) -> None:
        self.answer: int | Exception = 204
        self.headers: dict[str, str] = {}
        self.proceed: asyncio.Event | None = None
        self.requests: list[httpx.Request] = []
        self.called = asyncio.Event()

    async def __call__(self, request: httpx.Request) -> httpx.Response:
        self.requests.append(request)
        self.called.set()
        answer = self.answer
        if self.proceed is not None:
            await self.proceed.wait()
        if isinstance(answer, Exception):
            raise answer
        return httpx.Response(answer, headers=self.headers, content=b"x" * 10_000)

    @property
    def bodies(self) -> list[object]:
        """The bodies of the calls, in order."""
        return [orjson.loads(request.content) for request in self.requests]

    @property
    def ids(self) -> list[str]:
        """The ids of the calls, in order."""
        return [request.headers["webhook-id"] for request in self.requests]
