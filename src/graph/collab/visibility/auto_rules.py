"""
Allow rules that the gateway makes for what a token creates.

In block-all mode a token could not read back what it creates. The intent to store a rule is
recorded before anything is created upstream, and the rule is stored before the answer is sent. A
failure in between answers with the new id, and the intent stays until the rule is stored or surely
nothing was created: docs/spec/rules.md#rules-made-by-the-gateway.
"""

from collections.abc import Awaitable, Callable
from typing import TypeVar

import msgspec

from graph.context import Context
from policy.refusals import Refusal
from policy.vocabulary import Code, RuleType
from providers.content.fingerprints import Fingerprint
from providers.dry_run import in_dry_run
from providers.failures import OutcomeUnknown, ProviderFailure
from providers.records.collab import File, Row

Created = TypeVar("Created", File, Row)


class RuleNotStored(Refusal):
    """A resource was created, but its allow rule was not stored."""

    code = Code.INTERNAL_ERROR

    def __init__(self, member: str, created: str) -> None:
        super().__init__(
            "It was created, but the rule that allows this token to see it was not stored."
        )
        self.created = {member: created}


class CreatedKind(msgspec.Struct, frozen=True):
    """Rule type and response member for one kind of created resource."""

    rule_type: RuleType
    member: str


FILE = CreatedKind(RuleType.FILE_ID, "fileId")
LIST_ITEM = CreatedKind(RuleType.LIST_ITEM_ID, "itemId")


async def create_with_rule(
    context: Context,
    kind: CreatedKind,
    fingerprint: Fingerprint,
    make: Callable[[], Awaitable[Created]],
) -> Created:
    """
    Create a resource with *make*; in block-all mode, also store the rule that allows it.

    The recovery finds the resource by its *fingerprint* after a crash.

    Raises:
        RuleNotStored: It was created, but the rule was not stored.
    """
    if context.caller.rules.allow_by_default or context.rule_intents is None:
        return await make()
    intents = context.rule_intents
    if in_dry_run():
        await intents.require_room(context.caller.token_id)
        return await make()
    intent = await intents.intend(context.caller.token_id, kind.rule_type, fingerprint)
    try:
        made = await make()
    except OutcomeUnknown:
        intents.abandon(intent)  # it may exist: the recovery looks for it
        raise
    except (ProviderFailure, Refusal):
        await intents.drop(intent)
        raise
    except BaseException:
        intents.abandon(intent)
        raise
    try:
        await intents.allow(intent, _pattern(made))
    except Exception as failure:
        raise RuleNotStored(kind.member, made.id) from failure
    return made


def _pattern(made: File | Row) -> str:
    if isinstance(made, File):
        return f"{made.drive}:{made.item}"
    return f"{made.list}:{made.number}"
