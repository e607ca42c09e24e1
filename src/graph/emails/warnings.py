"""`authWarnings`: one sentence per mailbox that could not be read. Source: decisions 5.4."""

from collections.abc import Mapping, Sequence
from types import MappingProxyType

from graph.context import Context
from policy.gates import Connection
from policy.vocabulary import Surface
from providers.failures import Broken, NeedsReauth, ProviderFailure, TimedOut
from providers.mailbox import AllFailed, ConnectionWarning

_NAMES: Mapping[str, str] = MappingProxyType(
    {"PROVIDER_A": "Provider A", "PROVIDER_B": "Provider B"}
)

# Connections in these states are not asked at all, so their mail is missing just the same.
_OUT_OF_ORDER: Mapping[str, ProviderFailure] = MappingProxyType(
    {"needs_reauth": NeedsReauth(), "error": Broken()}
)


def warnings(context: Context, failed: Sequence[ConnectionWarning]) -> tuple[str, ...] | None:
    """
    Name the mailboxes whose mail is missing: those of *failed*, and those out of order already.

    Returns:
        One sentence each, by connection id; None when all were read.

    Raises:
        ProviderFailure: The caller asked to fail when any provider fails.
    """
    sentences = {one.connection.id: _sentence(one.connection, one.failure) for one in failed}
    for connection in context.caller.connections:
        problem = _OUT_OF_ORDER.get(connection.status)
        mine = connection.kind == Surface.EMAIL and not context.caller.excludes(connection)
        if mine and problem is not None:
            sentences[connection.id] = _sentence(connection, problem)
    if not sentences:
        return None
    ordered = tuple(sentences[key] for key in sorted(sentences))
    if context.require_all:
        raise ProviderFailure(" ".join(ordered))
    return ordered


def told(failure: AllFailed) -> ProviderFailure:
    """Say of a search that reached no mailbox what is wrong with each."""
    sentences = (_sentence(one.connection, one.failure) for one in failure.warnings)
    return ProviderFailure(" ".join([failure.message, *sentences]))


def _sentence(connection: Connection, failure: ProviderFailure) -> str:
    name = _NAMES.get(connection.provider, connection.provider)
    said = f"{name} ({connection.account_email}): {_what(failure)}."
    if connection.reconnect_url:
        said += f" Reconnect: {connection.reconnect_url}"
    return said


def _what(failure: ProviderFailure) -> str:
    match failure:
        case NeedsReauth():
            return "needs to be reconnected"
        case TimedOut():
            return "did not answer in time"
        case _:
            return "failed"
