"""
JSON batches, ``$batch``: up to 20 calls in one, each with its own status.

Each inner call runs as a call of its own, with call log, faults and credential check. The order
of the responses is not defined. See docs/spec/upstream/errors-and-throttling.md.
"""

import asyncio
from base64 import b64decode, b64encode
from collections.abc import Mapping
from dataclasses import replace
from typing import Any
from urllib.parse import urlsplit
from uuid import uuid4

import orjson

from sandbox.http import Handler, Request, Response, parse_target
from sandbox.provider_b.responses import GraphError, error_response, ok
from sandbox.state import SandboxState

MAX_CALLS = 20
MAX_CONCURRENT = 4
_METHODS = frozenset(("GET", "POST", "PATCH", "PUT", "DELETE"))
_VERSIONS = ("v1.0", "beta")


def create_handler(state: SandboxState) -> Handler:  # noqa: ARG001 - the signature of all handlers
    """Return the handler of ``/v1.0/$batch``."""

    async def handle(request: Request) -> Response | None:
        if request.method != "POST" or request.segments[1:] != ("$batch",):
            return None
        try:
            return await _run_steps(request, _read_steps(request))
        except GraphError as error:
            return error_response(error, request)

    return handle


def _read_steps(request: Request) -> dict[str, Mapping[str, Any]]:
    """
    Return the steps of a batch by their ids.

    Raises:
        GraphError: 400, the batch as a whole is invalid.
    """
    try:
        body = request.json()
    except ValueError:
        body = None
    steps = body.get("requests") if isinstance(body, dict) else None
    if (
        not isinstance(steps, list)
        or not steps
        or not all(isinstance(step, dict) for step in steps)
    ):
        raise _bad_request("Invalid batch payload format.")
    if len(steps) > MAX_CALLS:
        raise _bad_request(
            f"Number of batch request steps exceeds the maximum value of {MAX_CALLS}."
        )
    steps_by_id: dict[str, Mapping[str, Any]] = {}
    for step in steps:
        name = step.get("id")
        if not isinstance(name, str) or not name:
            raise _bad_request("Request id is missing or is not a string.")
        if name in steps_by_id:
            raise _bad_request("Request Id has to be unique in a batch.")
        if not _dependencies(step) <= steps_by_id.keys():
            raise _bad_request("Corresponding dependent request id does not exist before it.")
        _check(name, step)
        steps_by_id[name] = step
    return steps_by_id


def _check(name: str, step: Mapping[str, Any]) -> None:
    if str(step.get("method", "")).upper() not in _METHODS:
        raise _bad_request(f"Invalid request method of request id : {name}.")
    if not isinstance(step.get("url"), str) or not step["url"]:
        raise _bad_request(f"Invalid request url of request id : {name}.")
    if step.get("body") is not None and "content-type" not in _headers(step):
        raise _bad_request(
            f"Write request id : {name} does not contain Content-Type header or body."
        )


async def _run_steps(request: Request, steps: Mapping[str, Mapping[str, Any]]) -> Response:
    batch = request.headers.get("client-request-id") or str(uuid4())
    free = asyncio.Semaphore(MAX_CONCURRENT)
    running: dict[str, asyncio.Task[dict[str, Any]]] = {}

    async def run(name: str, step: Mapping[str, Any]) -> dict[str, Any]:
        before = [await running[other] for other in _dependencies(step)]
        if any(part["status"] >= 400 for part in before):
            return _part(name, _failed_dependency(request))
        async with free:
            return _part(name, await _call_upstream(request, batch, step))

    for name, step in steps.items():
        running[name] = asyncio.create_task(run(name, step))
    try:
        parts = await asyncio.gather(*running.values())
    finally:
        for task in running.values():
            task.cancel()
    return ok({"responses": parts[::-1]})


async def _call_upstream(request: Request, batch: str, step: Mapping[str, Any]) -> Response:
    segments, query = parse_target(_target(step["url"]))
    if segments[:1] and segments[0] not in _VERSIONS:
        segments = (request.segments[0], *segments)
    if segments[1:2] == ("$batch",) or request.inner is None:
        return error_response(_bad_request("A batch cannot hold a batch."), request)
    carried = {
        name: value
        for name, value in request.headers.items()
        if name in ("authorization", "user-agent", "client-request-id")
    }
    return await request.inner(
        replace(
            request,
            method=step["method"].upper(),
            segments=segments,
            query=query,
            headers={**carried, **_headers(step)},
            body=_body(step),
            batch=batch,
        )
    )


def _target(url: str) -> str:
    """Return path and query of a relative or absolute URL, from the version on."""
    parts = urlsplit(url)
    path = parts.path
    if parts.scheme:
        for version in _VERSIONS:
            _, separator, rest = path.partition(f"/{version}/")
            if separator:
                path = f"/{version}/{rest}"
                break
    return f"{path}?{parts.query}" if parts.query else path


def _headers(step: Mapping[str, Any]) -> dict[str, str]:
    headers = step.get("headers")
    return {
        str(name).lower(): str(value)
        for name, value in (headers.items() if isinstance(headers, dict) else ())
    }


def _body(step: Mapping[str, Any]) -> bytes:
    body = step.get("body")
    if body is None:
        return b""
    if not isinstance(body, str):
        return orjson.dumps(body)
    try:
        return b64decode(body, validate=True)
    except ValueError:
        return body.encode()


def _dependencies(step: Mapping[str, Any]) -> frozenset[str]:
    step_ids = step.get("dependsOn") or step.get("depends_on") or ()
    return frozenset(str(step_id) for step_id in step_ids)


def _part(name: str, answer: Response) -> dict[str, Any]:
    part: dict[str, Any] = {
        "id": name,
        "status": answer.status,
        "headers": {key.title(): value for key, value in answer.headers.items()},
    }
    if answer.body:
        is_json = "json" in answer.headers.get("content-type", "")
        part["body"] = _json(answer.body) if is_json else b64encode(answer.body).decode()
    return part


def _json(body: bytes) -> Any:
    try:
        return orjson.loads(body)
    except ValueError:
        return body.decode("utf-8", "replace")


def _failed_dependency(request: Request) -> Response:
    return error_response(
        GraphError(424, "FailedDependency", "A request that this one depends on has failed."),
        request,
    )


def _bad_request(message: str) -> GraphError:
    return GraphError(400, "BadRequest", message)
