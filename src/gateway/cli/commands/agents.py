"""`agents`: connects an agent that speaks MCP over standard input and output to a gateway."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from gateway.cli.commands.query import TOKEN, token_text

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

PATH = "/mcp"
THREADS = 4  # calls at the same time
_LISTEN, _CANCELLED = "subscriptions/listen", "notifications/cancelled"
_META = "io.modelcontextprotocol/protocolVersion"


def agents(
    url: Annotated[str, typer.Option(help="Base URL of a running gateway.")],
    token_file: Annotated[
        Path | None, typer.Option(help=f"A file that holds the token. Default: ${TOKEN}.")
    ] = None,
) -> None:
    """
    Forward an agent's messages to a gateway: for clients that start a local program.

    Each line of standard input is a message, each line of standard output a response. The text of
    the token is in AGW_TOKEN or in a file.
    """
    import sys
    from concurrent.futures import ThreadPoolExecutor
    from threading import Lock, Thread

    from gateway.cli.console import failures_as_sentences

    with failures_as_sentences():
        forwarder, writing = Forwarder(url, token_text(token_file)), Lock()

    def answer(line: str) -> None:
        for response in forwarder.answers(line):
            with writing:
                sys.stdout.write(response + "\n")
                sys.stdout.flush()

    with ThreadPoolExecutor(THREADS) as pool:
        for line in filter(str.strip, sys.stdin):
            if _LISTEN in line:  # it lasts
                Thread(target=answer, args=(line,), daemon=True).start()
            else:
                pool.submit(answer, line)


class Forwarder:
    """Sends messages to one gateway with one token."""

    def __init__(self, url: str, token: str) -> None:
        self._url = url
        self._listening: set[str] = set()  # the ids of requests whose streams are open
        self._headers = {
            "authorization": f"Bearer {token}",
            "content-type": "application/json",
            "accept": "application/json, text/event-stream",
        }

    def answers(self, line: str) -> "Iterator[str]":
        """Yield the response to a message, after the notifications of a stream if it opens one."""
        import orjson

        from gateway.cli.remote import events
        from gateway.errors import CommandError

        try:
            message = orjson.loads(line)
        except orjson.JSONDecodeError:
            yield _failure(None, -32700, "The line is not JSON.")
            return
        is_request = isinstance(message, dict) and "id" in message
        id_ = message.get("id") if is_request else None
        method = message.get("method") if isinstance(message, dict) else None
        if method == _CANCELLED and isinstance(message.get("params"), dict):
            self._listening.discard(repr(message["params"].get("requestId")))
        if method == _LISTEN:
            self._listening.add(repr(id_))
        headers = {**self._headers, **_mirrored(message)}
        try:
            for raw in events(self._url, PATH, headers, line.encode()):
                if method == _LISTEN and repr(id_) not in self._listening:
                    return
                if is_request and (raw or method != _LISTEN):
                    yield self._answer(raw, id_)
        except CommandError as failure:
            if is_request:
                yield _failure(id_, -32000, str(failure))

    def _answer(self, raw: bytes, id_: Any) -> str:
        """Return a message of the gateway to the request *id_*."""
        import orjson

        try:
            response = orjson.loads(raw)
        except orjson.JSONDecodeError:
            return _failure(id_, -32000, f"The server at {self._url} is not an access-gateway.")
        if "method" in response:
            return raw.decode()
        if "jsonrpc" not in response:
            return _failure(id_, -32000, str(response.get("message")))
        return orjson.dumps({**response, "id": id_}).decode()


def _mirrored(message: Any) -> "Mapping[str, str]":
    """Return the headers that mirror a message of the revision 2026-07-28."""
    import base64

    params = message.get("params") if isinstance(message, dict) else None
    meta = params.get("_meta") if isinstance(params, dict) else None
    if not isinstance(params, dict) or not isinstance(meta, dict) or _META not in meta:
        return {}
    values = {"mcp-protocol-version": meta[_META], "mcp-method": message.get("method")}
    if "name" in params or "uri" in params:
        values["mcp-name"] = params.get("name", params.get("uri"))
    headers = {}
    for name, value in values.items():
        text = str(value)
        is_plain = text.isascii() and text.isprintable() and text == text.strip()
        encoded = base64.b64encode(text.encode()).decode()
        headers[name] = text if is_plain else f"=?base64?{encoded}?="
    return headers


def _failure(id_: Any, code: int, message: str) -> str:
    import orjson

    error = {"code": code, "message": message}
    return orjson.dumps({"jsonrpc": "2.0", "id": id_, "error": error}).decode()
