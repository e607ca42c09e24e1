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

from agent_tools import refusals
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


class CallState(msgspec.Struct, frozen=True, kw_only=True):
    """
    Seals the state with which a call is made again, and opens it: for this call, for ten minutes.

    Attributes:
        call: See `call_digest`.
        now: Seconds since the epoch.
    """

    agents: Agents
    token_id: int
    call: bytes
    now: float

    def seal(self, value: str) -> str:
        """Return the state that carries *value*."""
        expires = int(self.now) + MAX_AGE_SECONDS
        return self.agents.seal(orjson.dumps([self.token_id, self.call.hex(), value, expires]))

    def read(self, state: object) -> str | None:
        """
        Return the value of a state; None without one.

        Raises:
            WireError: It is damaged, expired, or of another token or call.
        """
        if state is None:
            return None
        try:
            owner, call, value, expires = orjson.loads(self.agents.unseal(str(state)))
        except ValueError:
            raise WireError(INVALID_PARAMS, "The requestState is not valid.") from None
        if owner != self.token_id or call != self.call.hex():
            raise WireError(INVALID_PARAMS, "The requestState is of another token or another call.")
        if expires < self.now:
            raise WireError(INVALID_PARAMS, "The requestState has expired; call again without it.")
        return str(value)


def input_required(effect: Mapping[str, Any], state: CallState) -> Mapping[str, Any]:
    """Return the result that asks a person about *effect* of a call."""
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
        "requestState": state.seal(effect["digest"]),
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


def read_confirmation(params: Mapping[str, Any], state: CallState) -> Confirmed | None:
    """
    Return the person's answer that *params* carry; None: there is no state, or no answer to it.

    Raises:
        WireError: As `CallState.read`.
    """
    sent, answers = params.get("requestState"), params.get("inputResponses")
    digest = state.read(sent)
    if digest is None:
        return None
    answer = answers.get(_FORM) if isinstance(answers, dict) else None
    if not isinstance(answer, dict):
        return None
    content = answer.get("content")
    accepted = answer.get("action") == "accept" and (
        isinstance(content, dict) and content.get("confirm") is True
    )
    key = f"form-{hashlib.sha256(str(sent).encode()).hexdigest()[:32]}"
    return Confirmed(digest, key, accepted)


def declined() -> Answer:
    """Return the answer to a call that the person did not accept."""
    sentence = "The person did not agree. Nothing was done."
    return refusals.refusal("DECLINED", sentence, "Ask the person what to change.")
