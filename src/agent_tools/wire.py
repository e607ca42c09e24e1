"""
JSON-RPC over POST, in both revisions of the Model Context Protocol.

2026-07-28 is stateless: each request names its version and the client's capabilities in `_meta`,
and mirrors method and name in headers. Older clients say `initialize`; they are answered without
a session (docs/spec/agents.md#protocol, docs/adr/0050-the-wire-for-agents-is-our-own.md).
"""

import base64
import binascii
from collections.abc import Mapping
from typing import Any

import msgspec
import orjson

from rest_compat.request import RestRequest
from rest_compat.responses import RestResponse

MODERN = "2026-07-28"
LEGACY = ("2025-11-25", "2025-06-18", "2025-03-26")
SUPPORTED = (MODERN, *LEGACY)
_VERSION = "io.modelcontextprotocol/protocolVersion"
_CAPABILITIES = "io.modelcontextprotocol/clientCapabilities"
_SERVER = "io.modelcontextprotocol/serverInfo"

_NAMES = {"tools/call": "name", "resources/read": "uri"}  # what `Mcp-Name` mirrors

PARSE_ERROR = -32700
INVALID_REQUEST = -32600
METHOD_NOT_FOUND = -32601
INVALID_PARAMS = -32602
REFUSED = -32000
HEADER_MISMATCH = -32020
UNSUPPORTED_VERSION = -32022


class WireError(Exception):
    """
    A request that is answered by a protocol error.

    Attributes:
        status: The HTTP status.
        code: The code of JSON-RPC.
        data: Its `data`; None: it has none.
    """

    def __init__(
        self, code: int, message: str, *, status: int = 400, data: Mapping[str, Any] | None = None
    ) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.status = status
        self.data = data


class Message(msgspec.Struct, frozen=True, kw_only=True):
    """
    A request of a client, or a notification.

    Attributes:
        id: None: it is a notification, which gets no answer.
        is_modern: Whether it is of the revision 2026-07-28.
        elicits: Whether the client can show a form to a person.
        opens_urls: Whether it can ask a person to open a URL.
    """

    id: str | int | None
    method: str
    params: Mapping[str, Any]
    is_modern: bool
    elicits: bool = False
    opens_urls: bool = False


def read_message(request: RestRequest, body: Any) -> Message:
    """
    Check a parsed body and its headers.

    Raises:
        WireError: It is not a request or notification, or is of a version that is not spoken here.
    """
    if not isinstance(body, dict) or body.get("jsonrpc") != "2.0":
        raise WireError(INVALID_REQUEST, "The body must be one JSON-RPC 2.0 request.")
    method, params, id_ = body.get("method"), body.get("params", {}), body.get("id")
    if not isinstance(method, str) or not isinstance(params, dict):
        raise WireError(INVALID_REQUEST, "The body must have a method, and params as an object.")
    if "id" in body and (isinstance(id_, bool) or not isinstance(id_, str | int)):
        raise WireError(INVALID_REQUEST, "The id must be a string or an integer.")
    meta = params.get("_meta")
    header = request.header("mcp-protocol-version")
    if not isinstance(meta, dict) or _VERSION not in meta:
        _require_legacy(header, is_request="id" in body)
        return Message(id=id_, method=method, params=params, is_modern=False)
    _require_mirrored(request, header, method, params, meta[_VERSION])
    if meta[_VERSION] != MODERN:
        raise _unsupported(meta[_VERSION])
    capabilities = meta.get(_CAPABILITIES)
    if not isinstance(capabilities, dict):
        raise WireError(INVALID_PARAMS, f"_meta must have {_CAPABILITIES}, an object.")
    forms = capabilities.get("elicitation")
    elicits = isinstance(forms, dict) and (not forms or "form" in forms)
    return Message(
        id=id_,
        method=method,
        params=params,
        is_modern=True,
        elicits=elicits,
        opens_urls=isinstance(forms, dict) and "url" in forms,
    )


def _require_legacy(header: str | None, *, is_request: bool) -> None:
    if header == MODERN and is_request:
        raise WireError(INVALID_PARAMS, f"_meta must have {_VERSION} and {_CAPABILITIES}.")
    if header is not None and header not in SUPPORTED:
        raise _unsupported(header)


def _require_mirrored(
    request: RestRequest, header: str | None, method: str, params: Mapping[str, Any], version: Any
) -> None:
    mirrored = {
        "MCP-Protocol-Version": (header, version),
        "Mcp-Method": (request.header("mcp-method"), method),
    }
    if (named := _NAMES.get(method)) is not None:
        mirrored["Mcp-Name"] = (_decoded(request.header("mcp-name")), params.get(named))
    for name, (sent, value) in mirrored.items():
        if sent is None or sent != value:
            raise WireError(HEADER_MISMATCH, f"The header {name} must be as in the body.")


def _decoded(value: str | None) -> str | None:
    """Return the value of a header that may be in the Base64 form `=?base64?…?=`."""
    if value is None or not (value.startswith("=?base64?") and value.endswith("?=")):
        return value
    try:
        return base64.b64decode(value[9:-2], validate=True).decode()
    except (binascii.Error, UnicodeDecodeError):
        return None


def _unsupported(requested: Any) -> WireError:
    data = {"supported": list(SUPPORTED), "requested": str(requested)[:100]}
    return WireError(UNSUPPORTED_VERSION, "Unsupported protocol version", data=data)


def result_response(message: Message, result: Mapping[str, Any], version: str) -> RestResponse:
    """Return the response with *result*; *version* is that of this software."""
    if message.is_modern:
        meta = {_SERVER: server_info(version), **result.get("_meta", {})}
        result = {"resultType": "complete", **result, "_meta": meta}
    body = orjson.dumps({"jsonrpc": "2.0", "id": message.id, "result": result})
    return RestResponse(status=200, body=body)


def error_response(error: WireError, message: Message | None) -> RestResponse:
    """Return the response with a protocol error; its HTTP status is 200 for older clients."""
    described: dict[str, Any] = {"code": error.code, "message": error.message}
    if error.data is not None:
        described["data"] = error.data
    body = {"jsonrpc": "2.0", "id": message.id if message is not None else None}
    is_legacy = message is not None and not message.is_modern and error.status in (400, 404)
    return RestResponse(
        status=200 if is_legacy else error.status, body=orjson.dumps({**body, "error": described})
    )


def refused(error: Mapping[str, Any], *, bad_request: int = PARSE_ERROR) -> WireError:
    """Return the protocol error for *error*, as GraphQL describes it; *bad_request*: for 400."""
    about = error["extensions"]
    status, known = about["httpStatus"], ("code", "retryAfter")
    data = {name: about[name] for name in known if name in about}
    number = bad_request if status == 400 else REFUSED
    return WireError(number, error["message"], status=status, data=data)


def server_info(version: str) -> Mapping[str, str]:
    """Return how the gateway names itself."""
    return {"name": "access-gateway", "version": version}
