"""Sentences for the holder of a token: what would let a refused call pass, in general words."""

from collections.abc import Mapping, Sequence
from types import MappingProxyType

from policy.vocabulary import Layer

_SENTENCES: Mapping[Layer, str] = MappingProxyType(
    {
        Layer.DOCUMENT: (
            "Run a saved document that the token allows; an operator can change its `documents`."
        ),
        Layer.SURFACE: "An operator can switch this surface on in the token's settings.",
        Layer.CONNECTIONS: "An operator can connect an account of this kind to the token.",
        Layer.OPERATION: "An operator can allow the operation in the token's settings.",
        Layer.INPUT: "Correct the document or its variables.",
        Layer.USABLE_CONNECTION: (
            "An operator can reconnect the account, let the token use it, or make it writable."
        ),
        Layer.SCOPE: (
            "The token's rules, scopes or time window do not reach this, or it does not exist. "
            "An operator can look the request up by its id."
        ),
        Layer.UPSTREAM: (
            "The token allows it; the provider did not carry it out, or knows no such thing."
        ),
        Layer.MASK: (
            "Leave out what would reveal the hidden field, or ask an operator to make it visible."
        ),
    }
)
_OTHERWISE = "Try again later."


def remedy(layer: Layer, required_operations: Sequence[str] = ()) -> str:
    """Return the sentence for a refusal by *layer*; one of *required_operations* is missing."""
    if layer is Layer.OPERATION and required_operations:
        words = " or ".join(required_operations)
        return f"An operator can add {words} to the token's operations."
    return _SENTENCES.get(layer, _OTHERWISE)
