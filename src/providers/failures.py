"""
Failures of upstreams, as exceptions.

    ProviderFailure
    ├── Throttled          429 upstream, or the wait of an earlier one is not over
    ├── TimedOut           no whole response before the deadline
    ├── Unreachable        the connection could not be made or broke
    │   └── ClientRefused  the provider issues no token to our OAuth client; nothing was sent
    ├── NeedsReauth        credentials are refused for good: a person must reconnect
    │   ├── MissingScope   the consent lacks a permission that the request needs
    │   └── SendingRefused the server for outgoing mail refuses the login; reading works
    ├── Missing            upstream has nothing under this id
    │   └── Impossible     upstream has it, and cannot change it so; *message* says why
    ├── Refused            upstream understood the request and refused it (4xx)
    │   ├── Conflicted     409: name taken, or already there
    │   ├── Stale          412: the ETag is no longer current
    │   ├── Locked         423
    │   ├── NotAccepted    a message; *message* says to the caller why not
    │   ├── Inaccessible   the account has no such service, or a policy denies it
    │   ├── ReadOnlyGrant  403: the connection may read there, and not write or send
    │   └── OutOfSpace     507, quota
    ├── NoRoom             this machine's disk is full; nothing was sent
    ├── OutcomeUnknown     a write that may or may not have happened, even after looking it up
    └── Broken             5xx, or a response that violates the protocol
        ├── TooMuch        there is more than we read; what was read is right but incomplete
        ├── TooLarge       a response beyond our bounds, which was not read
        ├── Unreadable     some members cannot be read; the others are right
        └── Incomplete     upstream's list may lack members; what was read is right
            ├── Shortened     some members are shown in part; the others are right
            ├── UnreadPeople  some people are left out: nothing tells their address
            └── UnknownZone   some times may be wrong: nothing tells their time zone

Messages are ours and safe to show: they never quote upstream text. `graph.errors` maps each class
to a code word. Fields named *sent* are False only when surely no byte of the request reached
upstream.
"""

from collections.abc import Sequence
from typing import TypeVar

from providers.catalogue.causes import Cause

E = TypeVar("E", bound=BaseException)
T = TypeVar("T")


def without_frames(error: E) -> E:
    """
    Make *error* and its causes forget which frames they passed, and return it.

    For an exception that becomes a value. Otherwise a frame that it passed holds it in a variable
    and is held by its traceback, and what else the frame holds, such as a request's body, waits
    for the garbage collector.
    """
    cause: BaseException | None = error
    seen: set[int] = set()  # an exception that is raised from itself is its own cause
    while cause is not None and id(cause) not in seen:
        seen.add(id(cause))
        cause.__traceback__ = cause.__context__ = None
        cause = cause.__cause__
    return error


class ProviderFailure(Exception):
    """
    Root of the tree. *message* is safe to show; *sentence* is its default.

    *cause*: why the connection will not work by itself again; None: it may, or nothing tells.
    """

    sentence = "The provider failed."
    cause: Cause | None = None

    def __init__(self, detail: str | None = None) -> None:
        super().__init__(detail or self.sentence)
        self.message = detail or self.sentence


def unwrap(result: T | ProviderFailure) -> T:
    """Return a result, or raise the failure that stands for it."""
    if isinstance(result, ProviderFailure):
        raise result
    return result


class Throttled(ProviderFailure):
    """
    A throttle.

    Attributes:
        named: Seconds that upstream names; None: the wait is a guess, which
            `providers.http.resilience.Throttle` makes.
        retry_after: Whole seconds to wait, at least 1.
    """

    def __init__(self, retry_after: int | None = 1) -> None:
        self.named = retry_after
        self.retry_after = max(1, retry_after or 1)
        unit = "second" if self.retry_after == 1 else "seconds"
        super().__init__(f"The provider asks to wait {self.retry_after} {unit}.")


class TimedOut(ProviderFailure):
    sentence = "The provider did not answer in time."

    def __init__(self, detail: str | None = None, *, sent: bool = True) -> None:
        super().__init__(detail)
        self.sent = sent


class Unreachable(ProviderFailure):
    sentence = "The provider could not be reached."

    def __init__(
        self, detail: str | None = None, *, sent: bool = False, cause: Cause | None = None
    ) -> None:
        if detail is None and cause is not None:
            detail = f"{self.sentence.rstrip('.')}: {cause.reason}. {cause.remedy}"
        super().__init__(detail)
        self.sent = sent
        self.cause = cause


class ClientRefused(Unreachable):
    """
    The provider refuses the gateway's OAuth client, so there is no token to call with.

    No person can mend it by signing in again: docs/spec/upstream/oauth.md#refused-client.
    """

    sentence = "The provider refuses the OAuth client: its id or secret is wrong or expired."
    expired_sentence = "The secret of the OAuth client has expired: store a new one."

    def __init__(self, detail: str | None = None) -> None:
        is_expired = detail == self.expired_sentence
        cause = Cause.CLIENT_SECRET_EXPIRED if is_expired else Cause.CLIENT_REFUSED
        super().__init__(detail or self.sentence, cause=cause)


class NeedsReauth(ProviderFailure):
    """*reconnect_url*: where a person can do it; None when unknown."""

    sentence = "The connection needs to be reconnected."

    def __init__(
        self,
        detail: str | None = None,
        *,
        reconnect_url: str | None = None,
        cause: Cause | None = None,
    ) -> None:
        super().__init__(detail or (None if cause is None else self._sentence_of(cause)))
        self.reconnect_url = reconnect_url
        self.cause = cause

    @staticmethod
    def _sentence_of(cause: Cause) -> str:
        return f"The connection needs to be reconnected: {cause.reason}. {cause.remedy}".rstrip()


class MissingScope(NeedsReauth):
    """
    The consent lacks a permission.

    Attributes:
        scopes: What it lacks; empty: neither upstream nor its record says.
        may_be_policy: Whether upstream says the same where a policy denies access.
    """

    def __init__(
        self,
        scopes: Sequence[str] = (),
        *,
        reconnect_url: str | None = None,
        may_be_policy: bool = False,
    ) -> None:
        super().__init__(
            f"The connection {self.reason(scopes)}.",
            reconnect_url=reconnect_url,
            cause=Cause.SCOPE_MISSING,
        )
        self.scopes = tuple(scopes)
        self.may_be_policy = may_be_policy

    @staticmethod
    def reason(scopes: Sequence[str]) -> str:
        """Return the predicate of a sentence about the connection."""
        lacking = ", ".join(scopes) or "a permission that this request needs"
        return f"needs to be reconnected: its consent does not include {lacking}"


class SendingRefused(NeedsReauth):
    sentence = "The server for outgoing mail refuses the login. Nothing was sent."


class Missing(ProviderFailure):
    sentence = "The provider has no resource with this id."


class Impossible(Missing):
    sentence = "The provider cannot change the resource so."


class Refused(ProviderFailure):
    """
    A refusal.

    Attributes:
        status, word: Upstream's own status and error code; neither is shown to callers.
        scopes: Scopes that the consent lacks, which may be the reason; empty: none is known.
    """

    sentence = "The provider refused the request."

    def __init__(
        self,
        detail: str | None = None,
        *,
        status: int = 400,
        word: str = "",
        scopes: Sequence[str] = (),
    ) -> None:
        super().__init__(detail)
        self.status = status
        self.word = word
        self.scopes = tuple(scopes)


class Conflicted(Refused):
    sentence = "An object with this name already exists."


class NotAccepted(Refused):
    sentence = "The provider did not accept the message."


class Stale(Refused):
    sentence = "The resource has changed since it was read."


class Locked(Refused):
    sentence = "The resource is locked by the provider."


class Inaccessible(Refused):
    """*reason*: the predicate of a sentence about the connection; reconnecting does not help."""

    def __init__(self, reason: str, *, status: int, word: str = "") -> None:
        super().__init__(f"The connection {reason}.", status=status, word=word)
        self.reason = reason


NO_MAILBOX = "has no mailbox at the provider"
DENIED_BY_POLICY = "is denied access by a policy of its administrators"
NOT_SHARED = "is not shared with the person whose connection it uses"


class ReadOnlyGrant(Refused):
    sentence = "The connection may only read this site of the provider."


class OutOfSpace(Refused):
    sentence = "The provider's storage is full."


class NoRoom(ProviderFailure):
    sentence = "The gateway has no disk space for this upload. Try again later."


class OutcomeUnknown(ProviderFailure):
    sentence = "It is not known whether the provider made the change."


class Broken(ProviderFailure):
    """*failed*: whether upstream itself reported a failure (5xx)."""

    sentence = "The provider's response is not valid."

    def __init__(self, detail: str | None = None, *, failed: bool = False) -> None:
        super().__init__(detail)
        self.failed = failed


class TooMuch(Broken):
    sentence = "The provider has more data than can be read at once."


class TooLarge(Broken):
    sentence = "The provider's response is too large."


class Unreadable(Broken):
    sentence = "Some of the provider's data cannot be read."


class Incomplete(Broken):
    sentence = "The provider's list may be incomplete."


class Shortened(Incomplete):
    sentence = "Some of the provider's data is shown in part."


class UnreadPeople(Incomplete):
    sentence = "Some people's addresses cannot be read."


class UnknownZone(Incomplete):
    sentence = "Some times are in a time zone that is not known."
