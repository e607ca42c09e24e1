"""A change that `explain` offers: what it would mean, and its application as a whole."""

from collections.abc import Sequence
from typing import Annotated, Any

import msgspec
from pydantic import Field
from sqlmodel.ext.asyncio.session import AsyncSession

from gateway.operations import rows, rules, tokens, views
from gateway.operations.inputs import Input
from gateway.operations.overviews import token_changes
from gateway.operations.overviews.token_changes import Difference
from gateway.operations.rules import NewRule
from gateway.operations.tokens import TokenChange
from gateway.operations.validation import validated
from gateway.store.tables import AccessToken
from policy.containment import Direction, direction
from policy.refusals import Conflict
from policy.vocabulary import Code, RuleAction

CHANGED_MEANWHILE = (
    "The token was changed after its difference was shown. Nothing was saved: ask again why the "
    "call is refused."
)
MOST_RULES = 100  # `explain` offers a few

_Number = Annotated[int, Field(ge=1, le=2**63 - 1)]


class Remedy(Input):
    """A change as `explain` returns it, but for its words."""

    settings: dict[str, Any] = Field(default_factory=dict)
    expires_at: str | None = None
    add_rules: Annotated[list[NewRule], Field(max_length=MOST_RULES)] = Field(default_factory=list)
    remove_rules: Annotated[list[_Number], Field(max_length=MOST_RULES)] = Field(
        default_factory=list
    )

    def token_change(self) -> TokenChange:
        """Return the part that is a change of the token itself; it may be empty."""
        end = {"expiresAt": self.expires_at} if "expires_at" in self.model_fields_set else {}
        return validated(TokenChange, {"settings": self.settings, **end})


async def compare(
    session: AsyncSession, token_id: int, remedy: Remedy
) -> tuple[Difference, Sequence[tuple[str, NewRule | views.CollabRule]]]:
    """
    Return the difference that a remedy makes, and its rules: (`added` or `removed`, rule).

    Raises:
        InvalidInput: A setting cannot be read.
        NotFound: The token or one of its rules is not there.
    """
    difference = await token_changes.compare(session, token_id, remedy.token_change())
    removed = [await rules.read(session, token_id, number) for number in remedy.remove_rules]
    widens = [rule.action == RuleAction.ALLOW for rule in remedy.add_rules]
    widens += [rule.action == RuleAction.BLOCK for rule in removed]
    before = difference.direction
    if widens and not (before == Direction.NEITHER and difference.members):
        whole = direction(
            widens=any(widens) or before == Direction.WIDER,
            narrows=not all(widens) or before == Direction.NARROWER,
        )
        difference = msgspec.structs.replace(difference, direction=whole)
    added = [("added", rule) for rule in remedy.add_rules]
    return difference, [*added, *(("removed", rule) for rule in removed)]


async def apply(session: AsyncSession, token_id: int, remedy: Remedy, *, revision: int) -> None:
    """
    Apply a remedy to a token that is still of the policy revision *revision*.

    Each part is the same use case, and the same row of the decision log, as if it were made alone.

    Raises:
        Conflict: The token was changed meanwhile, or has a rule already.
    """
    token = await rows.get(session, AccessToken, token_id, for_update=True)
    if token.policy_rev != revision:
        raise Conflict(CHANGED_MEANWHILE, code=Code.PRECONDITION_FAILED)
    if remedy.settings or "expires_at" in remedy.model_fields_set:
        await tokens.change(session, token_id, remedy.token_change())
    for number in remedy.remove_rules:
        await rules.remove(session, token_id, number)
    for rule in remedy.add_rules:
        await rules.add(session, token_id, rule)
