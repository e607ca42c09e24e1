"""
Sends whose response is lost, and failures of other mail writes.

A message is sent under a Message-ID that stays the same for every attempt of one intent, so that
it can be looked up: docs/spec/email.md#sending-once.
"""

import asyncio
import re
from collections.abc import Awaitable, Callable
from typing import TypeVar

from providers import failures
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
    Send a message, unless it was sent already.

    Args:
        send: Sends the message.
        look_up: Returns the ids of the message when upstream has it as sent, else None.
        maybe_sent: Whether an earlier attempt may have sent it.

    Raises:
        OutcomeUnknown: It may have been sent, and looking it up did not settle that.
        ProviderFailure: From *send*, when it was surely not sent. That includes a 5xx after which
            upstream, looked up successfully, has no such message.
    """
    if maybe_sent and (sent := await look_up()) is not None:
        return sent
    try:
        return await send()
    except failures.ProviderFailure as failure:
        if not is_ambiguous(failure):
            raise
        counted = _CountedLookUp(look_up)
        sent = await poll(counted)
        if sent is not None:
            return sent
        if isinstance(failure, failures.Broken) and failure.failed and counted.successes:
            raise
        raise failures.OutcomeUnknown from failure


class _CountedLookUp:
    """A look-up that counts its successful calls."""

    def __init__(self, look_up: LookUp) -> None:
        self._look_up = look_up
        self.successes = 0

    async def __call__(self) -> mail_records.SentMessage | None:
        sent = await self._look_up()
        self.successes += 1
        return sent


def is_message_id(text: str) -> bool:
    """Tell whether *text* is a valid Message-ID, without its angle brackets."""
    return len(text) <= 900 and _MESSAGE_ID.fullmatch(text) is not None


def is_ambiguous(failure: failures.ProviderFailure) -> bool:
    """Tell whether a message must be looked up after a failed send; true of a 5xx as well."""
    return isinstance(failure, failures.Broken) or may_have_happened(failure)


async def poll(look_up: Callable[[], Awaitable[T | None]]) -> T | None:
    """Look up a few times within about three seconds; None when no look-up found anything."""
    for pause in LOOKUP_DELAYS_SECONDS:
        await asyncio.sleep(pause)
        try:
            result = await look_up()
        except failures.ProviderFailure:
            continue
        if result is not None:
            return result
    return None


def failure_of_change(failure: failures.ProviderFailure) -> failures.ProviderFailure:
    """
    Return the failure that a failed change or deletion is reported as.

    Callers see 404 for everything but throttles and timeouts:
    docs/spec/email.md#change-and-delete-failures.
    """
    return (
        failure
        if isinstance(failure, failures.Throttled | failures.TimedOut)
        else failures.Missing()
    )
