"""Failures of response statuses and transport errors."""

from collections.abc import Mapping
from types import MappingProxyType

import httpx

from providers import failures
from providers.catalogue import causes
from providers.http.messages import Request

# Statuses after which the same call may succeed in a moment.
TRANSIENT_STATUSES = frozenset({408, 500, 502, 503, 504})

_BEFORE_SENDING = (
    *(httpx.ConnectError, httpx.ConnectTimeout),
    *(httpx.PoolTimeout, httpx.ProxyError),
)
_REFUSALS: Mapping[int, type[failures.Refused]] = MappingProxyType(
    {409: failures.Conflicted, 412: failures.Stale, 423: failures.Locked, 507: failures.OutOfSpace}
)


def failure_of_status(status: int) -> failures.ProviderFailure:
    """Return the failure of a status that the protocol does not explain further."""
    if status in (404, 410):
        return failures.Missing()
    if status in (408, 504):
        return failures.TimedOut()
    refusal = _REFUSALS.get(status)
    if refusal is not None:
        return refusal(status=status)
    return failures.Refused(status=status) if 400 <= status < 500 else failures.Broken(failed=True)


def failure_of_error(error: Exception, *, sent: bool, is_read: bool) -> failures.ProviderFailure:
    """Return the failure of a transport error; *sent*: whether a byte may have left."""
    if isinstance(error, httpx.TimeoutException):
        return failures.TimedOut(sent=sent)
    if isinstance(error, httpx.RemoteProtocolError) and is_read:
        return failures.Broken()
    if isinstance(error, httpx.ProxyError):
        return failures.Unreachable("The outbound proxy refused the connection.", sent=sent)
    return failures.Unreachable(sent=sent, cause=causes.of_error(error))


def may_have_sent(request: Request, error: Exception | None = None) -> bool:
    """Return whether a byte of *request* may have left."""
    return request.sent and not isinstance(error, _BEFORE_SENDING)
