"""
Versions of drafts, which tell later what has changed (docs/spec/drafts.md#versions).

A version is the provider's own, and behind it short keyed digests of the members that a call has
read. So what differs can be named without a store, and nothing of what the token may not see is in
a version: it is not read.
"""

import re
from collections.abc import Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from typing import Self

import msgspec

from graph.context import Context, Sealer
from policy.refusals import Conflict, Detail
from policy.vocabulary import Code, EmailField, EmailOp
from providers.mail.drafts.merged_drafts import DraftChanged
from providers.ports.drafts import DraftChange
from providers.records.mail import Email, StoredDraft

# Attributes of emails, which are mask words and names of the API too, in the order of the digests.
_MEMBERS = ("to", "cc", "bcc", "subject", "body", "importance", "attachments")
_SEPARATOR = "~"
_DIGEST = 4  # characters: another value has the same digest once in 16 million times
_UNREAD = "." * _DIGEST
_CONTEXT = b"draft-version"
_DIGESTS = re.compile(rf"[A-Za-z0-9_.-]{{{_DIGEST * (len(_MEMBERS) + 1)}}}", re.ASCII)


@dataclass(frozen=True, slots=True)
class SeenVersion:
    """
    The version of a draft that a caller has seen.

    Attributes:
        version: The provider's own.
    """

    version: str
    _written: str = ""

    @classmethod
    def parse(cls, text: str) -> Self:
        """Read a version as `written` writes it, or the provider's own alone."""
        version, _, digests = text.partition(_SEPARATOR)
        return cls(version, digests if _DIGESTS.fullmatch(digests) else "")

    @property
    def members(self) -> frozenset[str]:
        """The members that it may have digests of."""
        return frozenset(self._digests)

    def of(self, draft_id: str, sealer: Sealer) -> Mapping[str, str]:
        """Return the digests by member; empty where others than *sealer* or another draft has."""
        is_own = self._written[:_DIGEST] == _signature(sealer, draft_id, "", self.version)
        return self._digests if is_own else {}

    @property
    def _digests(self) -> dict[str, str]:
        digests = re.findall("." * _DIGEST, self._written)[1:]
        named = zip(_MEMBERS, digests, strict=False)
        return {member: digest for member, digest in named if digest != _UNREAD}


def with_digests(context: Context, draft: StoredDraft, projection: AbstractSet[str]) -> StoredDraft:
    """Return a draft whose version has the digests of the members that were read."""
    digests = {
        member: _signature(context.sealer, draft.id, member, value)
        for member in _MEMBERS
        if member in projection and (value := _value(draft.email, member)) is not None
    }
    version = _written(context.sealer, draft.id, draft.version, digests)
    return msgspec.structs.replace(draft, version=version)


def after_change(
    context: Context, seen: SeenVersion | None, draft_id: str, version: str, change: DraftChange
) -> str:
    """Return the version after a change, which has the digests of the members that stayed."""
    digests = {} if seen is None else dict(seen.of(draft_id, context.sealer))
    named = {member for member in _MEMBERS if getattr(change, member, None) is not None}
    named |= {"attachments"} if change.files or change.removed else set()
    left = {member: digest for member, digest in digests.items() if member not in named}
    return _written(context.sealer, draft_id, version, left)


def compared(context: Context, seen: SeenVersion | None, connection: int) -> AbstractSet[str]:
    """Return the members whose change may be named: those in the version that the token sees."""
    account = context.caller.on(connection)
    if seen is None or not account.allows(EmailOp.VIEW_DRAFTS):
        return frozenset()
    return frozenset(name for name in seen.members if not account.hides(EmailField(name)))


def refusal(context: Context, seen: SeenVersion | None, changed: DraftChanged) -> Conflict:
    """Return the error for a draft that was changed, which names what differs as far as known."""
    before: Mapping[str, str] = {}
    if seen is not None and changed.email is not None:
        before = seen.of(changed.draft_id, context.sealer)
    known = {
        member: value
        for member in before
        if changed.email is not None and (value := _value(changed.email, member)) is not None
    }
    differing = [
        member
        for member, value in known.items()
        if _signature(context.sealer, changed.draft_id, member, value) != before[member]
    ]
    problem = Conflict(
        f"The draft has changed since it was read. {_explanation(list(known), differing)}",
        code=Code.PRECONDITION_FAILED,
    )
    problem.details = tuple(Detail(member, "It has changed.") for member in differing)
    return problem


def _explanation(known: list[str], differing: list[str]) -> str:
    if not known:
        return "What has changed is not known: read the draft again."
    names = ", ".join(differing) or "nothing"
    return f"Changed: {names}. Compared: {', '.join(known)}."


def _written(sealer: Sealer, draft_id: str, version: str, digests: Mapping[str, str]) -> str:
    if not digests:
        return version
    own = _signature(sealer, draft_id, "", version)
    members = "".join(digests.get(member, _UNREAD) for member in _MEMBERS)
    return f"{version}{_SEPARATOR}{own}{members}"


def _value(email: Email, member: str) -> object:
    """Return what of a member stays the same while it is not changed; None: it was not read."""
    if member == "attachments" and email.attachments is not None:  # ids change with the message
        return [(file.name, file.content_type, file.size) for file in email.attachments]
    value: object = getattr(email, member)
    return value


def _signature(sealer: Sealer, draft_id: str, member: str, value: object) -> str:
    payload = msgspec.msgpack.encode((draft_id, member, value))
    return sealer.sign(payload, context=_CONTEXT)[:_DIGEST]
