"""
Validates input against pydantic models and words the errors for people.

The sentences name the field and what it must be; they never quote the input.
"""

import json
from collections.abc import Mapping, Sequence
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

from gateway.errors import CommandError
from policy.counts import counted
from policy.refusals import Detail, InvalidInput
from policy.vocabulary import UNKNOWN_NAME, Code, sentence_about

Model = TypeVar("Model", bound=BaseModel)

_SENTENCES = {
    "missing": "is required",
    "extra_forbidden": UNKNOWN_NAME,
    "string_type": "must be a text",
    "int_type": "must be a whole number",
    "int_parsing": "must be a whole number",
    "bool_type": "must be true or false",
    "bool_parsing": "must be true or false",
    "float_parsing": "must be a number",
    "list_type": "must be a list",
    "dict_type": "must be an object",
    "model_type": "must be an object",
    "model_attributes_type": "must be an object",
}


def validated(model: type[Model], value: Any, *, subject: str = "The input") -> Model:
    """
    Validate *value* as *model*; *subject* is what the error message calls it.

    Raises:
        InvalidInput: `VALIDATION_ERROR`, one detail per error.
    """
    try:
        return model.model_validate(value)
    except ValidationError as error:
        message = f"{subject} is invalid."
        raise InvalidInput(message, code=Code.VALIDATION_ERROR, details=details(error)) from None


def parse_file(model: type[Model], text: str) -> Model:
    """
    Parse the JSON *text* of a file as *model*; unknown and repeated keys are refused.

    Raises:
        CommandError: The text is not JSON.
        InvalidInput: `VALIDATION_ERROR`, one detail per error.
    """
    try:
        value = json.loads(text, object_pairs_hook=_object_without_repeated_keys)
    except ValueError as error:
        raise CommandError(f"The file is not JSON: {error}.") from None
    return validated(model, value, subject="The file")


def details(error: ValidationError) -> list[Detail]:
    """Return one detail per error of a model."""
    return details_of(error.errors(include_url=False, include_input=False))


def details_of(errors: Sequence[Mapping[str, Any]], *, skip: int = 0) -> list[Detail]:
    """Return one detail per pydantic error; *skip* leading path steps ("query") are left out."""
    return [Detail(field_path(error["loc"][skip:]), sentence_of(error)) for error in errors]


def field_path(steps: Sequence[str | int]) -> str:
    """Write a location as a path: ``resourceIds[0]``, ``credentials.apiToken``; ``$``: all."""
    path = ""
    for step in steps:
        if isinstance(step, int):
            path += f"[{step}]"
        else:
            path += f".{step}" if path else step
    return path or "$"


def invalid(field: str, why: str, *further: Detail) -> InvalidInput:
    """Return the error for a request body whose *field* is wrong."""
    subject = "The request body" if field == "$" else field
    return InvalidInput(
        sentence_about(subject, why),
        code=Code.VALIDATION_ERROR,
        details=[Detail(field, why), *further],
    )


def invalid_query(errors: Sequence[Detail]) -> InvalidInput:
    """Return the error for query parameters; one detail per invalid or unknown name."""
    first = errors[0]
    return InvalidInput(sentence_about(first.field, first.message), details=errors)


def sentence_of(error: Mapping[str, Any]) -> str:
    """Word a pydantic error: what the value must be."""
    kind, context = error["type"], error.get("ctx", {})
    match kind:
        case "string_too_short":
            return f"must have at least {counted(context['min_length'], 'character')}"
        case "string_too_long":
            return f"must have at most {counted(context['max_length'], 'character')}"
        case "too_short":
            return f"must have at least {counted(context['min_length'], 'entry', 'entries')}"
        case "too_long":
            return f"must have at most {counted(context['max_length'], 'entry', 'entries')}"
        case "greater_than_equal":
            return f"must be at least {context['ge']}"
        case "less_than_equal":
            return f"must be at most {context['le']}"
        case "literal_error" | "enum":
            return f"must be one of {context['expected']}"
        case "value_error":
            return str(context["error"])
        case _:
            return _SENTENCES.get(kind, "cannot be read")


def _object_without_repeated_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    members = dict(pairs)
    if len(members) < len(pairs):
        names = [name for name, _ in pairs]
        repeated = next(name for name in names if names.count(name) > 1)
        raise ValueError(f"{repeated!r} appears twice")
    return members
