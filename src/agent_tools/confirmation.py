"""
Writes that are shown before they run: docs/spec/agents.md#confirmation.

The first call runs dry and shows the effect. A client that can show forms gets one, and a sealed
state that binds the person's answer to the token, the call and the effect; another client gets
the digest as text. Nothing is kept between the calls.
"""

import hashlib
from collections.abc import Mapping
from typing import Any

import msgspec
import orjson

from agent_tools.answers import MAX_TEXT, Answer, compact, fenced, shortened
from agent_tools.ports import Agents
from agent_tools.wire import INVALID_PARAMS, WireError

MAX_AGE_SECONDS = 600
_FORM = "effect"  # the key of the form among the requested inputs
_MAX_MESSAGE = 4_000  # characters of a form's message


class Confirmed(msgspec.Struct, frozen=True):
    """
    The answer of a person to the form of a call.

    Attributes:
        digest: That of the effect that was shown.
        key: An idempotency key that each form has once: an accepted form runs once.
    """

    digest: str
    key: str
    accepted: bool


def input_required(
    effect: Mapping[str, Any], *, agents: Agents, token_id: int, call: bytes, now: float
) -> Mapping[str, Any]:
    """Return the result that asks a person about *effect* of the *call*; see `call_digest`."""
    expires = int(now) + MAX_AGE_SECONDS
    state = agents.seal(orjson.dumps([token_id, call.hex(), effect["digest"], expires]))
    shown = {name: value for name, value in effect.items() if name not in ("digest", "allowedBy")}
    text = orjson.dumps(
        shortened(compact(shown), _MAX_MESSAGE), option=orjson.OPT_INDENT_2
    ).decode()
    form = {
        "mode": "form",
        "message": f"Carry this out? Nothing was done so far.\n{text}",
        "requestedSchema": {
            "type": "object",
            "properties": {"confirm": {"type": "boolean", "title": "Carry it out"}},
            "required": ["confirm"],
        },
    }
    return {
        "resultType": "input_required",
        "inputRequests": {_FORM: {"method": "elicitation/create", "params": form}},
        "requestState": state,
    }


def as_text(effect: Mapping[str, Any]) -> Answer:
    """Return *effect* for a client without forms."""
    digest = effect["digest"]
    shown = {name: value for name, value in effect.items() if name != "digest"}
    return fenced(
        {"effect": shortened(compact(shown), 2 * MAX_TEXT)},
        f"Nothing was done. To carry out exactly this, call again with confirm: {digest}",
    )


def call_digest(name: str, sent: Mapping[str, Any]) -> bytes:
    """Return a digest of a call: the tool and its arguments."""
    return hashlib.sha256(orjson.dumps([name, sent], option=orjson.OPT_SORT_KEYS)).digest()


def read_confirmation(
    params: Mapping[str, Any], *, agents: Agents, token_id: int, call: bytes, now: float
) -> Confirmed | None:
    """
    Return the person's answer that *params* carry; None: there is no state, or no answer to it.

    Raises:
        WireError: The state is damaged, expired, or of another token or call.
    """
    state, answers = params.get("requestState"), params.get("inputResponses")
    if state is None:
        return None
    try:
        owner, digest_of_call, digest, expires = orjson.loads(agents.unseal(str(state)))
    except ValueError:
        raise WireError(INVALID_PARAMS, "The requestState is not valid.") from None
    if owner != token_id or digest_of_call != call.hex():
        raise WireError(INVALID_PARAMS, "The requestState is of another token or another call.")
    if expires < now:
        raise WireError(INVALID_PARAMS, "The requestState has expired; call again without it.")
    answer = answers.get(_FORM) if isinstance(answers, dict) else None
    if not isinstance(answer, dict):
        return None
    content = answer.get("content")
    accepted = answer.get("action") == "accept" and (
        isinstance(content, dict) and content.get("confirm") is True
    )
    key = f"form-{hashlib.sha256(str(state).encode()).hexdigest()[:32]}"
    return Confirmed(digest, key, accepted)
