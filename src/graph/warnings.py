"""`authWarnings`: one sentence per unread account (docs/spec/email.md#partial-failure)."""

from collections.abc import Sequence
from datetime import UTC, datetime
from operator import itemgetter
from typing import Final

from graph.context import Context
from policy.counts import listed
from policy.gates import Connection
from policy.vocabulary import Surface
from providers.catalogue import causes
from providers.catalogue.causes import Cause
from providers.catalogue.tables import NAMES
from providers.failures import (
    Broken,
    ClientRefused,
    Inaccessible,
    Incomplete,
    MissingScope,
    NeedsReauth,
    ProviderFailure,
    Shortened,
    TimedOut,
    TooMuch,
    UnknownZone,
    Unreachable,
    Unreadable,
    UnreadPeople,
)
from providers.fanout import AllFailed, ConnectionWarning


def warnings(
    context: Context, surface: Surface, failed: Sequence[ConnectionWarning]
) -> tuple[str, ...] | None:
    """
    Describe the missing data: the accounts or parts in *failed*, and unusable connections.

    Returns:
        One sentence each, by connection id, then in the order of *failed*; None when everything
        was read.

    Raises:
        ProviderFailure: The caller wants an error when any provider fails.
    """
    missing = _missing(failed)
    reachable = [
        connection
        for connection in context.caller.connections
        if connection.kind == surface and not context.caller.excludes(connection)
    ]
    for connection in reachable:
        failure = _of_status(connection)
        if failure is not None:
            missing.append((connection, failure, None))
    doubts = [warning for warning in failed if isinstance(warning.failure, Incomplete)]
    if context.require_all and len(doubts) < len(missing):
        raise ProviderFailure(_listed("", missing))
    now = round(context.now().timestamp() * 1000)
    sentences = [(each[0].id, _describe(*each)) for each in missing]
    sentences += [
        (connection.id, _ending(connection, connection.expires_at))
        for connection in reachable
        if connection.status == "active"
        and connection.expires_at is not None
        and causes.is_due(connection.expires_at, now)
    ]
    return tuple(sentence for _, sentence in sorted(sentences, key=itemgetter(0))) or None


def _of_status(connection: Connection) -> ProviderFailure | None:
    """Return why a connection is not read at all, so that the result lacks its data."""
    cause = causes.known(connection.cause)
    match connection.status:
        case "needs_reauth":
            return NeedsReauth(cause=cause)
        case "error":
            return Broken() if cause is None else Unreachable(cause=cause)
        case _:
            return None


def _ending(connection: Connection, expires_at: int) -> str:
    """Return the warning before the credentials of a connection that works come to their end."""
    moment = datetime.fromtimestamp(expires_at // 1000, UTC).isoformat().replace("+00:00", "Z")
    sentence = f"must be reconnected before {moment}, when its credentials end"
    return _with_link(f"{_subject(connection)}: {sentence} ({causes.EXPIRES_SOON}).", connection)


def all_failed_error(failure: AllFailed) -> ProviderFailure:
    """Build the error for a read in which every connection failed; one reason per connection."""
    return ProviderFailure(_listed(failure.message, _missing(failure.warnings)))


_Missing = tuple[Connection, ProviderFailure, str | None]  # the part that is missing; None: all


def _missing(failed: Sequence[ConnectionWarning]) -> list[_Missing]:
    return [(warning.connection, warning.failure, warning.part) for warning in failed]


def _listed(head: str, missing: Sequence[_Missing]) -> str:
    """Return the message of an error that names what is *missing*, by connection id."""
    ordered = sorted(missing, key=lambda each: each[0].id)
    names = [
        f"{_subject(connection, part)}: {failure.cause or _reason(failure)}"
        for connection, failure, part in ordered
    ]
    return listed(head, names, in_full=[_describe(*each) for each in ordered]).lstrip()


def _describe(connection: Connection, failure: ProviderFailure, part: str | None) -> str:
    subject = _subject(connection, part)
    # A refused client has sentences of its own, as a missing scope has.
    cause = None if isinstance(failure, ClientRefused) else failure.cause
    remedy = "" if cause is None else cause.remedy
    sentence = f"{subject}: {_reason(failure)}. {remedy}".rstrip()
    new_url = failure.reconnect_url if isinstance(failure, NeedsReauth) else None
    return _with_link(sentence, connection, new_url)


def _subject(connection: Connection, part: str | None = None) -> str:
    name = NAMES.get(connection.provider, connection.provider)
    return f"{name} ({connection.account_email})" + (f", {part}" if part else "")


def _with_link(sentence: str, connection: Connection, new_url: str | None = None) -> str:
    url = new_url or connection.reconnect_url
    return f"{sentence} Reconnect: {url}" if url else sentence


def _reason(failure: ProviderFailure) -> str:
    match failure:
        case ClientRefused():
            return failure.message[0].lower() + failure.message.removesuffix(".")[1:]
        case MissingScope() if failure.scopes:
            return failure.reason(failure.scopes)
        case Inaccessible():
            return failure.reason
        case NeedsReauth(cause=Cause() as cause) if not isinstance(failure, MissingScope):
            return f"needs to be reconnected: {cause.reason}"
        case Unreachable(cause=Cause() as cause):
            return f"could not be reached: {cause.reason}"
        case _:
            reasons = (reason for kind, reason in _REASONS if isinstance(failure, kind))
            return next(reasons, "failed")


# The first that fits.
_REASONS: Final[Sequence[tuple[type[ProviderFailure], str]]] = (
    (NeedsReauth, "needs to be reconnected"),
    (TimedOut, "did not answer in time"),
    (TooMuch, "has more than can be read at once"),
    (Shortened, "has messages of more parts than are shown"),
    (Unreadable, "has events that cannot be read"),
    (UnreadPeople, "has people whose addresses cannot be read, left out"),
    (UnknownZone, "has times in an unknown time zone, read by its own"),
    (Incomplete, "may leave some out"),
)
