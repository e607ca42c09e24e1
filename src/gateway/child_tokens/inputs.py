"""Input of `createChildToken`."""

from collections.abc import Mapping
from typing import Annotated, Any

from pydantic import Field

from gateway.operations import rules
from gateway.operations.inputs import FutureTime, Input, Name
from gateway.operations.rules import NewRule, RuleKey
from gateway.operations.validation import validated


class NewChild(Input):
    name: Name
    settings: dict[str, Any] = Field(default_factory=dict)
    expires_at: FutureTime | None = None
    quota: dict[str, Any] = Field(default_factory=dict)
    rules: Annotated[list[NewRule], Field(max_length=1000)] = Field(default_factory=list)


async def read(members: Mapping[str, object]) -> tuple[NewChild, Mapping[RuleKey, str | None]]:
    """
    Return a new child token, and its rules: key to description.

    Raises:
        InvalidInput, Conflict: A member cannot be read, or a rule is there twice.
    """
    new = validated(NewChild, members, subject="The child token")
    return new, await rules.distinct_keys(new.rules)
