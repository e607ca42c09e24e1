"""
Refusals as results: the code, one sentence, and what the caller can do.

A model sees results, and mostly no protocol errors (docs/spec/agents.md#refusals).
"""

import re
from collections.abc import Mapping
from typing import Any

import orjson

from agent_tools.answers import Answer
from agent_tools.arguments import argument_of
from agent_tools.rows import ToolCall
from policy.vocabulary import LAYER_BY_CODE, Code, Layer
from rest_compat.responses import RestResponse

MAX_SENTENCE = 400  # characters
_BREAKS = re.compile(r"[\s\x00-\x1f\x7f-\x9f\u2028\u2029]+")
_CODES = {401: Code.UNAUTHENTICATED, 429: Code.RATE_LIMITED, 404: Code.NOT_FOUND}


def refusal(code: str, sentence: str, repair: str) -> Answer:
    """Return the result of a call that was refused."""
    lines = (code, _line(sentence), _line(repair))
    return Answer(text="\n".join(filter(None, lines)), is_error=True)


def refused(response: RestResponse, call: ToolCall) -> Answer:
    """Return the result of a call that ended with *response*, an error body of REST."""
    body: Mapping[str, Any] = orjson.loads(response.body)
    code = body["error"] or _CODES.get(response.status, Code.INTERNAL_ERROR).value
    details = [(str(each["field"]), str(each["message"])) for each in body.get("details", ())]
    sentence = _renamed(str(body["message"]), call)
    if details:
        named = ((argument_of(call, field), reason) for field, reason in details)
        sentence = " ".join(_sentence(field, reason) for field, reason in named)
    return refusal(code, sentence, _repair(code, body, dict(response.headers)))


def _renamed(sentence: str, call: ToolCall) -> str:
    """Return *sentence* with the caller's name of the variable that it begins with."""
    subject, blank, rest = sentence.partition(" ")
    return argument_of(call, subject) + blank + rest


def _sentence(field: str, reason: str) -> str:
    """Return a detail as a sentence; most begin with "It"."""
    if reason.startswith("It "):
        return f"{field} {reason.removeprefix('It ')}"
    return f"{field}: {reason}"


def _repair(code: str, body: Mapping[str, Any], headers: Mapping[str, str]) -> str:
    repair = _BY_CODE.get(code, _BY_LAYER.get(LAYER_BY_CODE[Code(code)], ""))
    flags = body.get("requiredOperations") or filter(None, [body.get("requiredOperation")])
    return repair.format(
        decision=f"decision {body['requestId']}",
        flags=" or ".join(flags) or "this",
        seconds=headers.get("Retry-After", "1"),
    )


_ALLOW = "The operator would have to allow it; {decision}."
_TELL = "Tell the operator: {decision}."
_FIND = "Find the id again; it may be gone, or not yours to see."
_AGAIN = "Nothing was done; try again in a minute."
_BY_LAYER: Mapping[Layer, str] = {
    **dict.fromkeys((Layer.DOCUMENT, Layer.SURFACE, Layer.SCOPE, Layer.MASK), _ALLOW),
    **dict.fromkeys((Layer.CONNECTIONS, Layer.USABLE_CONNECTION), _TELL),
    Layer.INPUT: "Change the named arguments and call again.",
}
_BY_CODE: Mapping[str, str] = {
    Code.OPERATION_NOT_ALLOWED: "The operator would have to allow {flags}; {decision}.",
    Code.READ_ONLY: _ALLOW,
    Code.RATE_LIMITED: "Wait {seconds} seconds.",
    **dict.fromkeys((Code.NOT_FOUND, Code.EVENT_NOT_FOUND, Code.CALENDAR_NOT_FOUND), _FIND),
    **dict.fromkeys((Code.OVERLOADED, Code.PROVIDER_ERROR), _AGAIN),
    **dict.fromkeys(
        (Code.PROVIDER_REFUSED, Code.SENDING_REFUSED, Code.QUOTA_EXCEEDED, Code.INTERNAL_ERROR),
        _TELL,
    ),
    **dict.fromkeys(  # no argument is wrong
        (Code.UNSUPPORTED_MEDIA_TYPE, Code.PAYLOAD_TOO_LARGE, Code.TOO_LARGE), ""
    ),
    Code.AMBIGUOUS_ACCOUNT: "Ask which one is meant, and name it by connectionId.",
    Code.INVALID_PAGE_TOKEN: "Start again without cursor.",
    Code.INVALID_CURSOR: "Start again without since, and read the listings again.",
    Code.NAME_CONFLICT: "Choose another name.",
    Code.EFFECT_CHANGED: "Nothing was done. Call again without confirm to see the effect.",
    Code.IDEMPOTENCY_KEY_REUSED: "Use another key for another call.",
    Code.IDEMPOTENCY_IN_PROGRESS: "Call again with the same key.",
    Code.OUTCOME_UNKNOWN: "It may have been done: look before you call again.",
    Code.PROVIDER_TIMEOUT: "Of a write, look whether it was done before you call again.",
    Code.QUERY_TOO_COSTLY: "Select less, or lower limit.",
    **dict.fromkeys(
        (Code.GRAPHQL_PARSE_FAILED, Code.GRAPHQL_VALIDATION_FAILED), "See graph_schema."
    ),
}


def unknown_tool(name: str, nearest: str) -> str:
    """Return the sentence about a tool that does not exist."""
    hint = f" Did you mean {nearest}?" if nearest else ""
    return f"There is no tool {_line(name)[:100]}.{hint}"


def _line(text: str) -> str:
    """Return *text* on one line, so that no text that it quotes looks like a line of ours."""
    flat = _BREAKS.sub(" ", text).strip()
    return flat if len(flat) <= MAX_SENTENCE else f"{flat[: MAX_SENTENCE - 1]}…"
