"""
Sends whose response is lost, and failures of other mail writes.

A message is sent as a draft that every attempt of one intent shares: it can be sent once, and
whether it was can be looked up. See docs/spec/email.md#sending-once.
"""

import asyncio
import re
import time
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import TypeVar

from providers import failures
from providers.http.client import deadline
from providers.outcomes import may_have_happened
from providers.ports.mail import OutgoingFile, SendAttempt, StoredContent
from providers.write_fence import TakenOver, fenced
from providers.write_previews import current_preview

CONTROL_CHARACTERS = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]")
_MESSAGE_ID = re.compile(r"[A-Za-z0-9!#$%&'*+/=?^_`{|}~.-]+@[A-Za-z0-9.\[\]:-]+")

LOOKUP_DELAYS_SECONDS = (0.0, 0.4, 0.8, 1.5)  # seconds to wait before each look: about three in all

SEND_SECONDS = 30.0  # of a whole send, its look-ups included
STORED_BYTES_PER_SECOND = 500_000  # of stored files; so much longer a send may last
LOOKUP_SECONDS = 6.0  # of them that only look-ups may use
IN_TRASH = "The email is in the trash."
STATE_LABEL = "The state or folder of an email is not a label that can be added or removed."
_DEFAULT_DOMAIN = "access-gateway.invalid"

T = TypeVar("T")


@contextmanager
def time_limit(files: Sequence[OutgoingFile] = ()) -> Iterator[None]:
    """End every upstream call of a send within `SEND_SECONDS`, and longer with stored files."""
    stored = sum(file.size for file in files if isinstance(file.content, StoredContent))
    with _ending(time.monotonic() + SEND_SECONDS + stored / STORED_BYTES_PER_SECOND):
        yield


@contextmanager
def time_for_look_ups() -> Iterator[None]:
    """End the upstream calls of the ``with`` block `LOOKUP_SECONDS` before the time limit."""
    ends = deadline.get()
    with _ending(None if ends is None else ends - LOOKUP_SECONDS):
        yield


@contextmanager
def _ending(ends: float | None) -> Iterator[None]:
    before = deadline.get()
    mark = deadline.set(ends if before is None else before if ends is None else min(before, ends))
    try:
        yield
    finally:
        deadline.reset(mark)


async def commit_draft(
    attempt: SendAttempt, draft_id: str, discard: Callable[[str], Awaitable[None]]
) -> None:
    """
    Commit the id of a new draft; *discard* deletes the draft when another attempt has begun.

    When the commit may have failed, the draft stays: a later attempt may know it.
    """
    try:
        await attempt.store(draft_id)
    except TakenOver:
        with fenced(None), suppress(failures.ProviderFailure):
            await discard(draft_id)
        raise


def full_message_id(local_part: str, account_email: str) -> str:
    """Return a Message-ID in the domain of the account; as it is when it has a domain."""
    if "@" in local_part:
        return local_part
    message_id = f"{local_part}@{account_email.rpartition('@')[2]}"
    return message_id if is_message_id(message_id) else f"{local_part}@{_DEFAULT_DOMAIN}"


def is_message_id(text: str) -> bool:
    """Return whether *text* is a valid Message-ID, without its angle brackets."""
    return len(text) <= 900 and _MESSAGE_ID.fullmatch(text) is not None


def is_ambiguous(failure: failures.ProviderFailure) -> bool:
    """Return whether a message must be looked up after a failed send; true of a 5xx as well."""
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


def note_resumed() -> None:
    """Note that an earlier attempt made the draft, after its effect was confirmed."""
    preview = current_preview()
    if preview is not None:
        preview.confirmed = True


async def find_created(
    attempt: SendAttempt,
    failure: failures.ProviderFailure,
    look_up: Callable[[], Awaitable[T | None]],
) -> T:
    """
    Return the draft to be held whose creation failed with *failure*, if it was made all the same.

    Raises:
        OutcomeUnknown: It may have been made.
        ProviderFailure: It was not made.
    """
    if is_ambiguous(failure):
        looked_up: list[T | None] = []

        async def look() -> T | None:
            looked_up.append(await look_up())
            return looked_up[-1]

        draft = await poll(look)
        if draft is not None:
            return draft
        if not (isinstance(failure, failures.Broken) and failure.failed and looked_up):
            raise failures.OutcomeUnknown from failure
    await attempt.store(None)
    raise not_sent(failure)


def not_sent(failure: failures.ProviderFailure) -> failures.ProviderFailure:
    """Return the failure to raise when a message was not sent after all; it may be sent again."""
    if isinstance(failure, failures.TimedOut) or may_have_happened(failure):
        return failures.Unreachable(sent=False)
    return failure


def failure_of_change(failure: failures.ProviderFailure) -> failures.ProviderFailure:
    """
    Return the failure that a failed change or deletion is reported as.

    Callers see 404 for everything but throttles and timeouts, with a message that says why when the
    message is not missing: docs/spec/email.md#change-and-delete-failures.
    """
    if isinstance(failure, failures.Throttled | failures.TimedOut | failures.Missing):
        return failure
    reason = failure.message
    if isinstance(failure, failures.Conflicted):  # changes of mail name nothing
        reason = failures.Refused.sentence
    elif isinstance(failure, failures.Broken) and failure.failed:
        reason = failures.ProviderFailure.sentence
    return failures.Impossible(f"The email could not be changed. {reason}")
