"""What one process is made of, put together once at start-up."""

from collections.abc import Mapping
from dataclasses import dataclass

from gateway.auth.authenticator import Authenticator
from gateway.connections.reconnect_links import ReconnectLinks
from gateway.http.client_addresses import Network
from gateway.secrets.keyring import Keyring
from gateway.settings import Settings
from gateway.store.database import Database
from policy.quota import RequestCounter, Window


@dataclass(frozen=True, kw_only=True)
class Services:
    """
    The objects that the parts of the gateway share.

    Attributes:
        admin_digest: SHA-256 of the admin token.
        windows: The rate limits of every bucket.
        proxies: Whose `X-Forwarded-For` is believed.
    """

    settings: Settings
    database: Database
    keyring: Keyring
    links: ReconnectLinks
    authenticator: Authenticator
    counter: RequestCounter
    windows: Mapping[str, tuple[Window, ...]]
    proxies: tuple[Network, ...]
    admin_digest: bytes
