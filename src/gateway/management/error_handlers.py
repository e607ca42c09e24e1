"""Error responses of the management API: every exception in the API's error shape."""

from fastapi import FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.routing import iter_route_contexts
from starlette.exceptions import HTTPException
from starlette.routing import Match

from gateway.errors import Overloaded
from gateway.http.request_state import request_state
from gateway.management import openapi
from gateway.operations.validation import details_of
from gateway.store.database import StorageUnavailable
from policy.refusals import InvalidInput, Refusal
from policy.vocabulary import Code
from rest_compat import errors
from rest_compat.body import ClientGone
from rest_compat.request import path_segments
from rest_compat.responses import RestResponse
from rest_compat.router import split_path
from rest_compat.table import ENDPOINTS
from rest_compat.unknown_paths import NOTHING, describe_unknown


def install(app: FastAPI) -> None:
    """Install a handler for every exception of the management routes, and for unknown paths."""
    app.add_exception_handler(Refusal, _refused)
    app.add_exception_handler(StorageUnavailable, _storage)
    app.add_exception_handler(RequestValidationError, _invalid)
    app.add_exception_handler(HTTPException, _http)
    app.add_exception_handler(ClientGone, _gone)
    app.add_exception_handler(Exception, _refused)  # a bug: 500, without its message


async def _refused(request: Request, refusal: Exception) -> Response:
    request_id = request_state(request.scope).request_id
    return _answer(errors.refuse(refusal, request_id=request_id))


async def _storage(request: Request, _failure: Exception) -> Response:
    return await _refused(request, Overloaded())


async def _invalid(request: Request, error: Exception) -> Response:
    errors = error.errors() if isinstance(error, RequestValidationError) else ()
    refusal = InvalidInput("The request cannot be read.", details=details_of(errors, skip=1))
    return await _refused(request, refusal)


async def _gone(_request: Request, _gone: Exception) -> Response:
    return Response(status_code=400)  # the client is gone and does not read it


async def _http(request: Request, refusal: Exception) -> Response:
    if not isinstance(refusal, HTTPException):
        raise refusal
    status = refusal.status_code
    code, message = _HTTP.get(status, (Code.INVALID_REQUEST, "The request is invalid."))
    if status == 404:
        message = describe_unknown(path_segments(request.scope), _known_paths(request))
    request_id = request_state(request.scope).request_id
    extensions = {"code": code, "httpStatus": status, "requestId": request_id}
    error = {"message": message, "extensions": extensions}
    answer = _answer(errors.error_response(error, refusal, surface=None))
    if status == 405:
        answer.headers["Allow"] = _allow(request)
    return answer


def _known_paths(request: Request) -> list[tuple[str, ...]]:
    """Return the paths of the surfaces, in the order of the table, and of the application."""
    routes = iter_route_contexts(request.app.routes)
    own = {tuple(map(openapi.camel, split_path(each.path))) for each in routes if each.path}
    return [split_path(endpoint.path) for endpoint in ENDPOINTS] + sorted(own)


def _allow(request: Request) -> str:
    """Return every method of the path: the framework keeps one route per method."""
    methods: set[str] = set()
    for context in iter_route_contexts(request.app.routes):
        match, _ = context.original_route.matches(request.scope)
        if match is not Match.NONE:
            methods |= context.methods or set()
    return ", ".join(sorted(methods))


_HTTP = {
    404: (Code.NOT_FOUND, NOTHING),
    405: (Code.METHOD_NOT_ALLOWED, "This path does not allow this method."),
    413: (Code.PAYLOAD_TOO_LARGE, "The request body is too large."),
}


def _answer(answer: RestResponse) -> Response:
    headers = {**dict(answer.headers), "Content-Type": "application/json"}
    return Response(answer.body, status_code=answer.status, headers=headers)
