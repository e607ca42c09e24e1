"""Replies of a server for outgoing mail as failures: docs/spec/upstream/imap.md#refusals."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from providers.failures import (
    NotAccepted,
    OutOfSpace,
    ProviderFailure,
    Refused,
    Throttled,
    Unreachable,
)
from providers.imap.refusals import LATER_SECONDS

TOO_LARGE = "The message is too large for the mail server."


class RecipientsRefused(NotAccepted):
    """
    The server does not accept a recipient; nothing was sent.

    Attributes:
        indexes: Those of the recipients that it refuses, from 0.
        is_full: Whether it refuses them because their mailboxes are full.
    """

    def __init__(self, indexes: Sequence[int], *, is_full: bool = False) -> None:
        super().__init__("The mail server does not accept a recipient. Nothing was sent.")
        self.indexes = tuple(indexes)
        self.is_full = is_full


@dataclass(frozen=True, slots=True)
class Reply:
    """A reply of the server: its code, its enhanced code such as "5.1.1", and its lines."""

    code: int
    enhanced: str
    lines: tuple[str, ...]

    @property
    def is_done(self) -> bool:
        return 200 <= self.code < 300


_FULL: Final = frozenset({"5.2.2", "4.2.2", "4.3.1"})
_TOO_MANY: Final = frozenset({"4.5.3", "5.5.3"})
_TOO_MANY_WORDS = re.compile(r"too many (?:recipients|rcpt)|recipients? limit", re.IGNORECASE)
_MAILBOX_FULL: Final = frozenset({"4.2.2", "5.2.2"})


def closed(reply: Reply) -> ProviderFailure:
    """Return the failure of a server that does not begin a session."""
    return Throttled(LATER_SECONDS) if reply.code < 500 else Unreachable(sent=False)


def refused_recipients(refused: Mapping[int, Reply], *, accepted: int) -> ProviderFailure:
    """Return the failure of a message some of whose recipients the server refuses, by index."""
    replies = list(refused.values())
    if any(_is_too_many(reply) for reply in replies):
        return NotAccepted(_TOO_MANY_RECIPIENTS.format(accepted))
    is_full = all(reply.enhanced in _MAILBOX_FULL for reply in replies)
    if is_full or any(reply.code >= 500 for reply in replies):
        return RecipientsRefused(tuple(refused), is_full=is_full)
    if all(reply.code == 452 for reply in replies):
        return OutOfSpace()
    return Throttled(LATER_SECONDS)


def _is_too_many(reply: Reply) -> bool:
    # 552 is the code of before RFC 2821: RFC 5321, 4.5.3.1.10.
    is_said = _TOO_MANY_WORDS.search(" ".join(reply.lines)) is not None
    return reply.code >= 400 and (reply.enhanced in _TOO_MANY or is_said)


_TOO_MANY_RECIPIENTS = (
    "The mail server takes at most {} recipients in one message. Nothing was sent."
)


def refusal(reply: Reply, sentence: str) -> ProviderFailure:
    """Return the failure that a reply means; its text is not shown."""
    if _is_too_many(reply):
        return NotAccepted("The mail server does not take so many recipients. Nothing was sent.")
    if reply.enhanced in _FULL or reply.code == 452:
        return OutOfSpace()
    if reply.enhanced in {"5.3.4", "5.2.3"} or reply.code == 552:
        return Refused(TOO_LARGE, status=413)
    if reply.code < 500:
        return Throttled(LATER_SECONDS)
    return NotAccepted(sentence)
