"""The objects of one process that its routes share, built once at start-up."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from gateway.audit.log import DecisionLog
    from gateway.audit.provider_errors import ProviderErrorLog
    from gateway.auth.authenticator import Authenticator
    from gateway.auth.last_uses import LastUses
    from gateway.connections.accounts import Accounts
    from gateway.connections.credentials import CredentialRepository
    from gateway.connections.oauth_flow import OAuthFlow
    from gateway.connections.reconnect_links import ReconnectLinks
    from gateway.connections.revocation import ConsentRevoker
    from gateway.documents.stored import StoredDocuments
    from gateway.explain.explainer import Explainer
    from gateway.http.entry import RequestEntry
    from gateway.ratelimit.redis_client import RedisStore
    from gateway.rule_intents.log import RuleIntentLog
    from gateway.secrets.keyring import Keyring
    from gateway.settings import Settings
    from gateway.store.database import Database
    from gateway.store.idempotency.store import IdempotencyStore
    from gateway.store.uploads import UploadStore


@dataclass(frozen=True, kw_only=True)
class Services:
    """
    The services of one process; `app.state.services` of the application.

    Attributes:
        explainer: Imports and makes it when it is first called.
        admins: SHA-256 of an admin token -> its name.
    """

    settings: "Settings"
    database: "Database"
    keyring: "Keyring"
    links: "ReconnectLinks"
    authenticator: "Authenticator"
    last_uses: "LastUses"
    redis: "RedisStore | None"
    entry: "RequestEntry"
    accounts: "Accounts"
    credentials: "CredentialRepository"
    oauth: "OAuthFlow"
    revoker: "ConsentRevoker"
    decisions: "DecisionLog"
    provider_errors: "ProviderErrorLog"
    rule_intents: "RuleIntentLog"
    idempotency: "IdempotencyStore"
    uploads: "UploadStore"
    explainer: "Callable[[], Explainer]"
    documents: "StoredDocuments"
    admins: "Mapping[bytes, str]"
