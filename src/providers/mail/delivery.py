"""
Sending once: what to do when the answer to a send is lost.

A message is sent under a Message-ID that stays the same for every try of one intent, so that it
can be looked up. Source: decisions 16 (Email); reliability report, F2.
"""

import asyncio
import re
from collections.abc import Awaitable, Callable
from typing import TypeVar

from providers.failures import Broken, OutcomeUnknown, ProviderFailure
from providers.outcomes import may_have_happened
from providers.records import mail as mail_records

CONTROL_CHARACTERS = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]")
_MESSAGE_ID = re.compile(r"[A-Za-z0-9!#$%&'*+/=?^_`{|}~.-]+@[A-Za-z0-9.\[\]:-]+")

LOOKUP_DELAYS_SECONDS = (0.0, 0.4, 0.8, 1.5)  # seconds to wait before each look: about three in all

T = TypeVar("T")
Send = Callable[[], Awaitable[mail_records.SentMessage]]
LookUp = Callable[[], Awaitable[mail_records.SentMessage | None]]


async def send_once(send: Send, look_up: LookUp, *, maybe_sent: bool) -> mail_records.SentMessage:
    """
    Send, unless it was sent already.

    Args:
        send: Sends; a failure of it may be ambiguous.
        look_up: Returns what is known of the message when upstream has it as sent, else None.
        maybe_sent: Whether an earlier try may have gone out.

    Raises:
        OutcomeUnknown: It may have gone out, and looking it up did not settle it.
        ProviderFailure: From *send*, when it surely did not go out: also when upstream says that it
            failed (5xx) and, asked again, has no such message.
    """
    if maybe_sent and (found := await look_up()) is not None:
        return found
    try:
        return await send()
    except ProviderFailure as failure:
        if not is_ambiguous(failure):
            raise
        looked = _Counted(look_up)
        found = await poll(looked)
        if found is not None:
            return found
        if isinstance(failure, Broken) and failure.failed and looked.answers:
            raise
        raise OutcomeUnknown from failure


class _Counted:
    """A look-up that counts how often upstream answered it."""

    def __init__(self, look_up: LookUp) -> None:
        self._look_up = look_up
        self.answers = 0

    async def __call__(self) -> mail_records.SentMessage | None:
        found = await self._look_up()
        self.answers += 1
        return found


def is_message_id(text: str) -> bool:
    """Whether *text* can stand between the angle brackets of a Message-ID."""
    return len(text) <= 900 and _MESSAGE_ID.fullmatch(text) is not None


def is_ambiguous(failure: ProviderFailure) -> bool:
    """Whether a send that failed so is looked up: also when upstream says that it failed (5xx)."""
    return isinstance(failure, Broken) or may_have_happened(failure)


async def poll(look_up: Callable[[], Awaitable[T | None]]) -> T | None:
    """Look a few times within about three seconds; a look that fails finds nothing."""
    for pause in LOOKUP_DELAYS_SECONDS:
        await asyncio.sleep(pause)
        try:
            found = await look_up()
        except ProviderFailure:
            continue
        if found is not None:
            return found
    return None
