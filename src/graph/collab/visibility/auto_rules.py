"""
Keeping what a token makes within its reach.

In block-all mode whatever a token makes gets an allow rule of its own. That it will be needed is
written down before anything is made upstream, with what the thing will be known by, and the rule
is stored before the answer is sent: a failure in between is told with the new id, and what was
written down stays until the rule is there, or surely nothing was made. Source: decisions 4.
"""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import TypeVar

from graph.context import Context
from policy.refusals import Refusal
from policy.vocabulary import Code, RuleType
from providers.content.fingerprints import Fingerprint
from providers.failures import OutcomeUnknown, ProviderFailure
from providers.records.collab import File, Row

Created = TypeVar("Created", File, Row)


class RuleNotStored(Refusal):
    """Something was made, but the token could not be allowed to see it."""

    code = Code.INTERNAL_ERROR

    def __init__(self, member: str, created: str) -> None:
        super().__init__("It was made, but the rule that lets this token see it was not stored.")
        self.created = {member: created}


@dataclass(frozen=True, slots=True)
class CreatedKind:
    """How things of one kind are named: the rule about one of them, and the member of answers."""

    rule_type: RuleType
    member: str


FILES = CreatedKind(RuleType.FILE_ID, "fileId")
ROWS = CreatedKind(RuleType.LIST_ITEM_ID, "itemId")


async def create_with_rule(
    context: Context, kind: CreatedKind, trace: Fingerprint, make: Callable[[], Awaitable[Created]]
) -> Created:
    """
    Make something, and let the token see it.

    Raises:
        RuleNotStored: It was made, but the rule was not stored.
    """
    if context.caller.rules.allow_by_default or context.rule_intents is None:
        return await make()
    book = context.rule_intents
    intent = await book.intend(context.caller.token_id, kind.rule_type, trace)
    try:
        made = await make()
    except OutcomeUnknown:
        book.abandon(intent)  # it may be there: somebody will look
        raise
    except (ProviderFailure, Refusal):
        await book.drop(intent)
        raise
    except BaseException:
        book.abandon(intent)
        raise
    try:
        await book.allow(intent, _pattern(made))
    except Exception as failure:
        raise RuleNotStored(kind.member, made.id) from failure
    return made


def _pattern(made: File | Row) -> str:
    if isinstance(made, File):
        return f"{made.drive}:{made.item}"
    return f"{made.list}:{made.number}"
