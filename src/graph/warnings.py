"""`authWarnings`: one sentence per account that could not be read. Source: decisions 5.4."""

from collections.abc import Mapping, Sequence
from operator import itemgetter
from types import MappingProxyType

from graph.context import Context
from policy.gates import Connection
from policy.vocabulary import Surface
from providers.failures import Broken, NeedsReauth, ProviderFailure, TimedOut, TooMuch
from providers.fanout import AllFailed, ConnectionWarning
from providers.tasks.accounts import DISPLAY_NAMES

_NAMES: Mapping[str, str] = MappingProxyType(
    {"PROVIDER_A": "Provider A", "PROVIDER_B": "Provider B", **DISPLAY_NAMES}
)

# Connections in these states are not asked at all, so what they hold is missing just the same.
_OUT_OF_ORDER: Mapping[str, ProviderFailure] = MappingProxyType(
    {"needs_reauth": NeedsReauth(), "error": Broken()}
)


def warnings(
    context: Context, surface: Surface, failed: Sequence[ConnectionWarning]
) -> tuple[str, ...] | None:
    """
    Name what is missing: the accounts or parts in *failed*, and those out of order already.

    Returns:
        One sentence each, by connection id, then in the order of *failed*; None when all was read.

    Raises:
        ProviderFailure: The caller asked to fail when any provider fails.
    """
    sentences = [(one.connection.id, _sentence(one)) for one in failed]
    for connection in context.caller.connections:
        problem = _OUT_OF_ORDER.get(connection.status)
        if problem is None or connection.kind != surface:
            continue
        if not context.caller.excludes(connection):
            sentences.append((connection.id, _told_of(connection, problem)))
    if not sentences:
        return None
    ordered = tuple(sentence for _, sentence in sorted(sentences, key=itemgetter(0)))
    if context.require_all:
        raise ProviderFailure(" ".join(ordered))
    return ordered


def all_failed_error(failure: AllFailed) -> ProviderFailure:
    """Say of a search that reached nothing what is wrong with each."""
    return ProviderFailure(" ".join([failure.message, *map(_sentence, failure.warnings)]))


def _sentence(warning: ConnectionWarning) -> str:
    return _told_of(warning.connection, warning.failure, warning.part)


def _told_of(connection: Connection, failure: ProviderFailure, part: str | None = None) -> str:
    name = _NAMES.get(connection.provider, connection.provider)
    what = f"{name} ({connection.account_email})" + (f", {part}" if part else "")
    said = f"{what}: {_what(failure)}."
    fresh = failure.reconnect_url if isinstance(failure, NeedsReauth) else None
    if link := fresh or connection.reconnect_url:
        said += f" Reconnect: {link}"
    return said


def _what(failure: ProviderFailure) -> str:
    match failure:
        case NeedsReauth():
            return "needs to be reconnected"
        case TimedOut():
            return "did not answer in time"
        case TooMuch():
            return "has more than can be read at once"
        case _:
            return "failed"
