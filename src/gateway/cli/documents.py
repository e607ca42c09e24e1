"""Files that commands read: JSON documents, checked before anything is touched."""

import json
import sys
from pathlib import Path
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

from gateway.errors import CommandError
from gateway.management.validation_messages import details_of
from policy.refusals import InvalidInput
from policy.vocabulary import Code

Model = TypeVar("Model", bound=BaseModel)
STANDARD_INPUT = Path("-")


def reading(file: Path) -> str:
    """
    Return the text of *file*; `-` is standard input.

    Raises:
        OSError: It cannot be read.
        CommandError: It is no text.
    """
    try:
        return sys.stdin.read() if file == STANDARD_INPUT else file.read_text("utf-8")
    except UnicodeDecodeError:
        raise CommandError(f"{file} is no UTF-8 text.") from None


def read(model: type[Model], text: str) -> Model:
    """
    Read *text* as *model*; a key that the model does not know is refused, and one given twice.

    Raises:
        CommandError: No JSON.
        InvalidInput: `VALIDATION_ERROR`, one detail per complaint.
    """
    try:
        value = json.loads(text, object_pairs_hook=_once)
    except ValueError as problem:
        raise CommandError(f"The file is not JSON: {problem}.") from None
    return checked(model, value, subject="The file")


def checked(model: type[Model], value: Any, *, subject: str = "What was given") -> Model:
    """
    Read *value* as *model*; *subject* is what the refusal calls it.

    Raises:
        InvalidInput: `VALIDATION_ERROR`, one detail per complaint.
    """
    try:
        return model.model_validate(value)
    except ValidationError as problem:
        details = details_of(problem.errors(include_url=False, include_input=False))
        message = f"{subject} cannot be used."
        raise InvalidInput(message, code=Code.VALIDATION_ERROR, details=details) from None


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    read = dict(pairs)
    if len(read) < len(pairs):
        names = [name for name, _ in pairs]
        raise ValueError(f"{next(one for one in names if names.count(one) > 1)!r} stands twice")
    return read
