"""Writes that wait for a person: docs/spec/agents.md#held-writes."""

from collections.abc import Mapping
from typing import Any

from msgspec.structs import replace

from agent_tools import answers, refusals
from agent_tools.answers import Answer
from policy.vocabulary import Code

_OPEN = ("held", "releasing")


def waits(held: Mapping[str, Any]) -> bool:
    """Return whether a write has not ended."""
    return held["state"] in _OPEN


def input_required(held: Mapping[str, Any], page: str, state: str) -> Mapping[str, Any]:
    """Return the result that asks a person to open the *page* of a write that waits."""
    message = f"Release or reject it until {held['expiresAt']}. Nothing was done so far."
    params = {"mode": "url", "message": message, "url": page}
    return {
        "resultType": "input_required",
        "inputRequests": {"release": {"method": "elicitation/create", "params": params}},
        "requestState": state,
    }


def answer_of(held: Mapping[str, Any]) -> Answer:
    """Return the answer to the call of a write that waits or waited for a person."""
    if waits(held):
        return refusals.refusal(
            Code.WRITE_HELD,
            f"Nothing was done so far: a person releases or rejects it until {held['expiresAt']}.",
            f"Do not make this call again. pending_write tells how it stands: id {held['id']}.",
        )
    members = ("id", "state", "reason", "status", "result")
    answer = answers.whole({name: held[name] for name in members})
    if held["state"] != "done":
        return replace(answer, is_error=True)
    return answer
