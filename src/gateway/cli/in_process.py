"""Runs a gateway in this process, for commands that call it themselves."""

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any

from pydantic import SecretStr
from starlette.types import ASGIApp, Message

from gateway.app import Gateway, assemble
from gateway.explain.request import ExplainRequest
from gateway.operations import tokens
from gateway.operations.validation import validated
from gateway.secrets.keyring import new_secret
from gateway.server import sandbox_of
from gateway.settings import Settings


@asynccontextmanager
async def running_gateway() -> AsyncIterator[Gateway]:
    """
    Run a gateway as the environment configures it, for the length of the block.

    Raises:
        NotConfigured: There are no secret keys.
    """
    # Its management API is not used: the admin token is random and never shown.
    admin = {"admin_token": SecretStr(new_secret())}
    settings = Settings().ready_to_open().model_copy(update=admin)
    settings.data_dir.mkdir(parents=True, exist_ok=True)
    async with assemble(settings, sandbox=sandbox_of(settings)).running() as gateway:
        yield gateway


async def explain(token_id: int, request: Mapping[str, Any]) -> dict[str, Any]:
    """
    Return what the management API would respond.

    Raises:
        Refusal: There is no such token, or the request is neither a call nor a document.
    """
    question = validated(ExplainRequest, dict(request)).question()
    async with running_gateway() as gateway:
        async with gateway.services.database.reading() as session:
            chain = await tokens.with_ancestors(session, token_id)
        return (await gateway.services.explainer.explain(chain, question)).as_json()


async def post(path: str, headers: Mapping[str, str], body: bytes) -> bytes:
    """POST to a gateway in this process; return the body of the response."""
    async with running_gateway() as gateway:
        return await _post(gateway, path, headers, body)


async def _post(app: ASGIApp, path: str, headers: Mapping[str, str], body: bytes) -> bytes:
    received = bytearray()

    async def receive() -> Message:
        return {"type": "http.request", "body": body, "more_body": False}

    async def send(message: Message) -> None:
        received.extend(message.get("body", b""))

    length = (b"content-length", str(len(body)).encode())
    scope = {
        "type": "http",
        "asgi": {"version": "3.0"},
        "http_version": "1.1",
        "method": "POST",
        "scheme": "http",
        "path": path,
        "raw_path": path.encode(),
        "root_path": "",
        "query_string": b"",
        "headers": [(name.encode(), value.encode()) for name, value in headers.items()] + [length],
        "client": ("127.0.0.1", 0),
        "server": ("127.0.0.1", 80),
        "state": {},
    }
    await app(scope, receive, send)
    return bytes(received)
