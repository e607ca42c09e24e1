"""`If-Match` of changes: the version that the caller has seen."""

from typing import Annotated

import strawberry

from policy.refusals import InvalidInput

IfMatch = Annotated[
    str | None,
    strawberry.argument(
        description="The ETag of the version to change; 412 if another version is current."
    ),
]


def parse_if_match(if_match: str | None) -> str | None:
    """
    Return the entity tag of an `If-Match`; None when any version is accepted.

    Raises:
        InvalidInput: It has characters that no header of a request to the provider can have.
    """
    text = (if_match or "").strip()
    if not (text.isascii() and text.isprintable()):
        raise InvalidInput("ifMatch may have visible ASCII characters alone.")
    return None if text in ("", "*") else text
