"""
Allow rules that the gateway makes for what a token creates.

In block-all mode a token could not read back what it creates. The intent to store a rule is
recorded before anything is created upstream, and the rule is stored before the answer is sent. A
failure in between answers with the new id, and the intent stays until the rule is stored or surely
nothing was created: docs/spec/rules.md#rules-made-by-the-gateway.
"""

from collections.abc import Awaitable, Callable
from functools import partial
from typing import TypeVar

import msgspec

from graph.context import Context
from policy.refusals import Refusal
from policy.vocabulary import Code, RuleType
from providers.content.fingerprints import FileFingerprint, Fingerprint, TimeWindow, find_file
from providers.content.merged_content import MergedContent
from providers.dry_run import in_dry_run
from providers.failures import Missing, OutcomeUnknown, ProviderFailure, TimedOut, Unreachable
from providers.records.collab import File, ListItem

Created = TypeVar("Created", File, ListItem)


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
    content: MergedContent,
    kind: CreatedKind,
    fingerprint: Fingerprint,
    make: Callable[[], Awaitable[Created]],
) -> Created:
    """
    Create a resource with *make*; in block-all mode, also store the rule that allows it.

    It is found in *content* by its *fingerprint*: at once where the response was lost and it is a
    file or a folder, and by the recovery after a crash.

    Raises:
        RuleNotStored: It was created, but the rule was not stored.
    """
    intents = None if context.caller.rules.allow_by_default else context.rule_intents
    recovered = intents is not None
    make = partial(_make_and_look_up, context, content, fingerprint, make, is_recovered=recovered)
    if intents is None:
        return await make()
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


async def _make_and_look_up(
    context: Context,
    content: MergedContent,
    fingerprint: Fingerprint,
    make: Callable[[], Awaitable[Created]],
    *,
    is_recovered: bool,
) -> Created:
    """
    Create a resource; look it up when the response was lost: docs/spec/collab.md#lost-responses.

    *is_recovered*: whether the recovery looks for it too.

    Raises:
        Unreachable: Surely nothing was created.
    """
    began = context.now()
    try:
        return await make()
    except OutcomeUnknown as unknown:
        if not isinstance(fingerprint, FileFingerprint):
            raise
        window = TimeWindow(began, context.now())
        try:
            file = await find_file(content, fingerprint, window)
        except Missing:
            # Upstream may go on with the request; the recovery looks again later.
            if is_recovered or isinstance(unknown.__cause__, TimedOut):
                raise unknown from None
            raise Unreachable from unknown
        except ProviderFailure:
            raise unknown from None
        if file is None:
            raise
        return file  # type: ignore[return-value] # with the fingerprint of a file


def _pattern(made: File | ListItem) -> str:
    if isinstance(made, File):
        return f"{made.drive}:{made.item}"
    return f"{made.list}:{made.number}"
