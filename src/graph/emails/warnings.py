"""`authWarnings`: one sentence per mailbox that could not be read. Source: decisions 5.4."""

from collections.abc import Mapping, Sequence
from types import MappingProxyType

from graph.context import Context
from providers.failures import Broken, NeedsReauth, ProviderFailure, TimedOut
from providers.mailbox import ConnectionWarning

_NAMES: Mapping[str, str] = MappingProxyType(
    {"PROVIDER_A": "Provider A", "PROVIDER_B": "Provider B"}
)


def warnings(context: Context, failed: Sequence[ConnectionWarning]) -> tuple[str, ...] | None:
    """
    Name the mailboxes of *failed*; None when there are none.

    Raises:
        Broken: The caller asked to fail when any provider fails.
    """
    if not failed:
        return None
    if context.require_all:
        raise Broken("A provider could not be read, and the request asked for all of them.")
    return tuple(sentence(one) for one in failed)


def sentence(failed: ConnectionWarning) -> str:
    """Say which mailbox failed, how, and where to reconnect it when that is known."""
    connection = failed.connection
    name = _NAMES.get(connection.provider, connection.provider)
    said = f"{name} ({connection.account_email}): {_what(failed.failure)}."
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
