"""What is wrong with an input, in our words: pydantic's complaints, never the input itself."""

from collections.abc import Mapping, Sequence
from typing import Any

from policy.refusals import Detail

_WORDS = {
    "missing": "is required",
    "extra_forbidden": "is not known here",
    "string_type": "must be a text",
    "int_type": "must be a whole number",
    "int_parsing": "must be a whole number",
    "bool_type": "must be true or false",
    "list_type": "must be a list",
    "dict_type": "must be an object",
    "model_type": "must be an object",
    "model_attributes_type": "must be an object",
}


def details_of(complaints: Sequence[Mapping[str, Any]], *, skip: int = 0) -> list[Detail]:
    """Say each of *complaints* about its field; *skip* leading places ("query") are left out."""
    return [
        Detail(field(complaint["loc"][skip:]), _sentence(complaint)) for complaint in complaints
    ]


def field(place: Sequence[str | int]) -> str:
    """Write a place as a path: ``resourceIds[0]``, ``credentials.apiToken``."""
    written = ""
    for step in place:
        if isinstance(step, int):
            written += f"[{step}]"
        else:
            written += f".{step}" if written else step
    return written or "$"


def _sentence(complaint: Mapping[str, Any]) -> str:
    kind, context = complaint["type"], complaint.get("ctx", {})
    match kind:
        case "string_too_short":
            return f"must have at least {context['min_length']} characters"
        case "string_too_long":
            return f"must have at most {context['max_length']} characters"
        case "too_short":
            return f"must have at least {context['min_length']} entries"
        case "too_long":
            return f"must have at most {context['max_length']} entries"
        case "greater_than_equal":
            return f"must be at least {context['ge']}"
        case "less_than_equal":
            return f"must be at most {context['le']}"
        case "literal_error" | "enum":
            return f"must be one of {context['expected']}"
        case "value_error":
            return str(context["error"])
        case _:
            return _WORDS.get(kind, "cannot be read")
