"""
Opens the ports of connections, by the descriptors of their connectors.

A connector is imported when the first of its accounts is opened, or before by `load`.
"""

from collections.abc import Callable, Sequence
from typing import Any

from providers.bounded_map import BoundedMap
from providers.catalogue import tables as catalogue
from providers.catalogue.descriptors import Http, resolve
from providers.failures import (
    DENIED_BY_POLICY,
    NOT_SHARED,
    Inaccessible,
    MissingScope,
    ProviderFailure,
    Refused,
)
from providers.http.attempt import Classify
from providers.http.client import Credentials, Origins, Upstream
from providers.http.events import CallListener
from providers.http.response import Response
from providers.http.urls import BaseUrl
from providers.imap.logins import Logins
from providers.ports.connection import ConnectionInfo
from providers.ports.opening import Memory, Opening

_MAX_PORTS = 16_384


def load(kind: str, provider: str) -> None:
    """Import the connector of *kind* and *provider*, if there is one, before it is needed."""
    if service := catalogue.SERVICES.get((kind, provider)):
        resolve(service.port)


def open_upstream(
    origins: Origins,
    info: ConnectionInfo,
    credentials: Credentials,
    *,
    missing_scopes: Sequence[str] = (),
    reconnect_url: Callable[[], str | None] = lambda: None,
) -> Upstream:
    """
    Return the HTTP client of a connection, with its provider's limits and error mapping.

    Args:
        origins: The process's clients.
        info: The connection.
        credentials: Its tokens.
        missing_scopes: What its recorded consent lacks; a refusal for a missing scope names them.
        reconnect_url: Returns where a person can consent again; None: nowhere.

    Raises:
        KeyError: The provider has no connector, or is not called by HTTP.
        ValueError: The connection's base URL is not valid.
    """
    http = catalogue.CONNECTORS[info.provider].http
    if http is None:
        raise KeyError(info.provider)
    return Upstream(
        origins,
        BaseUrl.parse(info.base_url).origin if http.from_origin else info.base_url,
        connection=info.id,
        account=(info.provider, info.account_email.casefold() or info.id),
        name=info.provider,
        credentials=credentials,
        classify=_naming_scopes(http, info, missing_scopes, reconnect_url),
        concurrency=http.concurrency,
        hosts=http.content_hosts,
    )


def _naming_scopes(
    http: Http,
    info: ConnectionInfo,
    missing_scopes: Sequence[str],
    reconnect_url: Callable[[], str | None],
) -> Classify:
    """Add the missing scopes to failures that are about scopes, or may be."""
    classify: Classify = resolve(http.classify)

    def named(response: Response) -> ProviderFailure | None:
        failure = classify(response)
        has_all = bool(info.granted_scopes) and not missing_scopes
        if isinstance(failure, MissingScope) and failure.may_be_policy and has_all:
            reason = DENIED_BY_POLICY if info.shared_on is None else NOT_SHARED
            return Inaccessible(reason, status=response.status)
        if isinstance(failure, MissingScope):
            return MissingScope(missing_scopes, reconnect_url=reconnect_url())
        if http.forbidden_may_lack_scope and response.status == 403 and missing_scopes:
            return Refused(status=403, scopes=missing_scopes)
        return failure

    return named


class PortRegistry:
    """The open ports; a port is reused while its connection does not change. One per process."""

    def __init__(
        self,
        upstream_for: Callable[[ConnectionInfo], Upstream],
        *,
        logins: Logins | None = None,
        notify: CallListener | None = None,
    ) -> None:
        """
        Take what connectors open ports with.

        Args:
            upstream_for: Returns the HTTP client of a connection.
            logins: Those at own servers; None: no mailbox there can be opened.
            notify: Learns of calls that are not made by HTTP.
        """
        self._upstream_for = upstream_for
        self._logins = logins
        self._notify = notify
        self._memory = Memory()
        self._ports = BoundedMap[ConnectionInfo, Any](_MAX_PORTS)

    def open(self, info: ConnectionInfo) -> Any:
        """
        Return the port behind a connection, of its kind. Makes no call.

        Raises:
            KeyError: The provider has no connector of the kind, or there are no logins for it.
        """
        port = self._ports.get(info)
        if port is None:
            service = catalogue.SERVICES[info.kind, info.provider]
            port = self._ports[info] = resolve(service.port)(self.opening(info))
        return port

    def opening(self, info: ConnectionInfo) -> Opening:
        """Return what a connector gets to open *info*."""
        return Opening(info, self._upstream_for, self._memory, self._logins, self._notify)

    def forget(self, connection: int) -> None:
        """Drop the ports and the memory of a connection that was changed or removed."""
        for info in [known for known in self._ports if known.id == connection]:
            del self._ports[info]
        self._memory.forget(connection)

    def close(self) -> None:
        """End the connections to servers that are kept open."""
        self._memory.close()
