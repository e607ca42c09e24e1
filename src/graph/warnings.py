"""`authWarnings`: one sentence per unread account (docs/spec/email.md#partial-failure)."""

from collections.abc import Mapping, Sequence
from operator import itemgetter
from types import MappingProxyType
from typing import Final

from graph.context import Context
from policy.gates import Connection
from policy.vocabulary import Surface
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
    Unreadable,
    UnreadPeople,
)
from providers.fanout import AllFailed, ConnectionWarning

# Connections in these states are not read at all; the result lacks their data.
_UNUSABLE_STATES: Mapping[str, ProviderFailure] = MappingProxyType(
    {"needs_reauth": NeedsReauth(), "error": Broken()}
)


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
    sentences = [(warning.connection.id, _sentence(warning)) for warning in failed]
    for connection in context.caller.connections:
        failure = _UNUSABLE_STATES.get(connection.status)
        if failure is None or connection.kind != surface:
            continue
        if not context.caller.excludes(connection):
            sentences.append((connection.id, _describe(connection, failure)))
    if not sentences:
        return None
    ordered = tuple(sentence for _, sentence in sorted(sentences, key=itemgetter(0)))
    doubts = [warning for warning in failed if isinstance(warning.failure, Incomplete)]
    if context.require_all and len(doubts) < len(sentences):
        raise ProviderFailure(" ".join(ordered))
    return ordered


def all_failed_error(failure: AllFailed) -> ProviderFailure:
    """Build the error for a read in which every connection failed; one reason per connection."""
    return ProviderFailure(" ".join([failure.message, *map(_sentence, failure.warnings)]))


def _sentence(warning: ConnectionWarning) -> str:
    return _describe(warning.connection, warning.failure, warning.part)


def _describe(connection: Connection, failure: ProviderFailure, part: str | None = None) -> str:
    name = NAMES.get(connection.provider, connection.provider)
    subject = f"{name} ({connection.account_email})" + (f", {part}" if part else "")
    sentence = f"{subject}: {_reason(failure)}."
    new_url = failure.reconnect_url if isinstance(failure, NeedsReauth) else None
    if url := new_url or connection.reconnect_url:
        sentence += f" Reconnect: {url}"
    return sentence


def _reason(failure: ProviderFailure) -> str:
    match failure:
        case ClientRefused():
            return failure.message[0].lower() + failure.message.removesuffix(".")[1:]
        case MissingScope() if failure.scopes:
            return failure.reason(failure.scopes)
        case Inaccessible():
            return failure.reason
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
