"""
The composition: each part of a process, with what it is made of.

A part is made when it is first asked for. The server makes nearly all of them, a command those
that it uses.
"""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from gateway.audit.changes import ChangeLog
from gateway.audit.log import DecisionLog
from gateway.audit.provider_errors import ProviderErrorLog
from gateway.auth.authenticator import Authenticator
from gateway.auth.last_uses import LastUses
from gateway.child_tokens.store import ChildTokenStore
from gateway.connections.accounts import Accounts
from gateway.connections.credentials import CredentialRepository
from gateway.connections.oauth_flow import OAuthFlow
from gateway.connections.one_time_links import OneTimeLinks
from gateway.connections.reconnect_links import ReconnectLinks
from gateway.connections.revocation import ConsentRevoker
from gateway.connections.token_endpoints import TokenEndpoints
from gateway.documents import prepared
from gateway.documents.stored import StoredDocuments
from gateway.feed_polls import Polls
from gateway.feeds.push.arrivals import Arrivals
from gateway.feeds.push.calls import PREFIX as NOTIFICATIONS
from gateway.feeds.push.calls import NotificationReceiver
from gateway.feeds.push.holds import Holds, Receiver
from gateway.feeds.push.registrations import RegistrationStore
from gateway.feeds.states import FeedStateStore
from gateway.feeds.streams import Streams
from gateway.feeds.subscriptions import SubscriptionStore
from gateway.feeds.wakes import Waiters, WakeStore
from gateway.held_writes.store import HeldWriteStore
from gateway.http.attachment_links import AttachmentLinks
from gateway.http.calls import Calls
from gateway.http.client_addresses import AddressLimits
from gateway.http.entry import RequestEntry
from gateway.infrastructure import Infrastructure, milliseconds, open_counter, secret_text
from gateway.ratelimit.windows import configured_windows
from gateway.releases import Releases
from gateway.rule_intents.log import RuleIntentLog
from gateway.secrets.keyring import Keyring
from gateway.settings import Settings
from gateway.store.database import Database
from gateway.store.idempotency.store import IdempotencyStore
from gateway.store.uploads import UploadStore
from gateway.webhooks.sender import WebhookSender
from policy.vocabulary import Surface
from providers.catalogue.tables import SERVICES, WAITED_FOR
from rest_compat.table import ENDPOINTS, Endpoint

if TYPE_CHECKING:
    from gateway.explain.explainer import Explainer
    from gateway.feeds.push.mail_pulls import MailPulls
    from gateway.ratelimit.redis_client import RedisStore

INTERNAL = "/internal"


@dataclass(frozen=True)
class Services:
    """The parts of one process; `app.state.services` of the application."""

    settings: Settings
    base: Infrastructure

    @cached_property
    def database(self) -> Database:
        return self.base.database

    @cached_property
    def redis(self) -> "RedisStore | None":
        return self.base.redis

    @cached_property
    def last_uses(self) -> LastUses:
        return self.base.last_uses

    @cached_property
    def keyring(self) -> Keyring:
        return Keyring.read(secret_text(self.settings.secret_keys))

    @cached_property
    def admins(self) -> Mapping[bytes, str]:
        """SHA-256 of an admin token -> its name."""
        names = self.settings.admins.items()
        return {hashlib.sha256(token.encode()).digest(): name for token, name in names}

    # -- accounts

    @cached_property
    def endpoints(self) -> TokenEndpoints:
        return TokenEndpoints(self.base.clients, self.settings)

    @cached_property
    def links(self) -> ReconnectLinks:
        has_client = self.endpoints.has_client
        return ReconnectLinks(self.keyring, self.settings.base_url, has_client=has_client)

    @cached_property
    def credentials(self) -> CredentialRepository:
        return CredentialRepository(
            self.base.reader,
            self.database,
            self.keyring,
            endpoints=self.endpoints.token_endpoint,
            leases=self.base.leases,
            links=self.links,
            on_refused=self.base.metrics.count_refused_refresh,
        )

    @cached_property
    def accounts(self) -> Accounts:
        upstreams = self.settings.upstreams
        return Accounts(self.base.clients, self.credentials, self.database, upstreams)

    @cached_property
    def oauth(self) -> OAuthFlow:
        forget = self.accounts.forget
        return OAuthFlow(self.database, self.keyring, self.endpoints, forget=forget)

    @cached_property
    def one_time_links(self) -> OneTimeLinks:
        return OneTimeLinks(
            self.database,
            self.keyring,
            self.settings.base_url,
            oauth=self.oauth,
            accounts=self.accounts,
        )

    @cached_property
    def revoker(self) -> ConsentRevoker:
        return ConsentRevoker(self.keyring, self.endpoints)

    # -- calls

    @cached_property
    def authenticator(self) -> Authenticator:
        upstreams, links = self.settings.upstreams, self.links
        return Authenticator(
            self.base.reader,
            base_url=lambda kind, provider: upstreams.get((kind, provider), ""),
            reconnect=lambda connection: links.link_for(
                connection.credential_id, provider=connection.provider, mode=connection.mode
            ),
            record_use=self.last_uses.record,
            clock=milliseconds(self.base.clock),
        )

    @cached_property
    def limits(self) -> AddressLimits:
        return AddressLimits(
            open_counter(self.settings, self.base),
            configured_windows(self.settings.rate_limit_windows),
            self.settings.proxies,
            self.base.metrics.count_limited,
        )

    @cached_property
    def entry(self) -> RequestEntry:
        return RequestEntry(self)

    @cached_property
    def calls(self) -> Calls:
        return Calls(self.entry, self.idempotency, self.held_writes)

    @cached_property
    def held_writes(self) -> HeldWriteStore:
        minutes, look_soon = self.settings.held_write_minutes, self.webhooks.look_soon
        return HeldWriteStore(self.database, self.keyring, minutes, on_held=look_soon)

    @cached_property
    def releases(self) -> Releases:
        return Releases(self)

    @cached_property
    def webhooks(self) -> WebhookSender:
        count = self.base.metrics.count_webhook_call
        return WebhookSender(self.database, self.keyring, self.base.clients, on_call=count)

    @cached_property
    def idempotency(self) -> IdempotencyStore:
        return IdempotencyStore(self.database, self.keyring)

    @cached_property
    def documents(self) -> StoredDocuments:
        return StoredDocuments(self.base.reader, prepared.graph())

    @cached_property
    def feed_states(self) -> FeedStateStore:
        return FeedStateStore(self.database, self.keyring)

    @cached_property
    def streams(self) -> Streams:
        seconds = self.settings.feed_poll_seconds
        return Streams(
            self.authenticator,
            self.feed_states,
            self.keyring,
            poll_seconds=seconds,
            waitable=self.waitable,
        )

    @cached_property
    def subscriptions(self) -> SubscriptionStore:
        seconds = self.settings.feed_poll_seconds
        return SubscriptionStore(self.database, self.keyring, self.feed_states, seconds)

    @cached_property
    def wakes(self) -> WakeStore:
        return WakeStore(self.database, self.waitable)

    @cached_property
    def waiters(self) -> Waiters:
        wait = self.holds.wait if self.receivers else self.accounts.wait_for_change
        return Waiters(self.wakes, self.streams, wait)

    @cached_property
    def waitable(self) -> frozenset[tuple[str, str]]:
        """The kinds and providers of the accounts that wake polls."""
        providers = self.settings.push_providers
        telling = (key for key, service in SERVICES.items() if service.pushes)
        return WAITED_FOR.union(key for key in telling if key[1] in providers)

    @cached_property
    def receivers(self) -> Mapping[str, Receiver]:
        """The receivers of notifications, by provider."""
        receivers = {}
        if (pulls := self.mail_pulls) is not None:
            topic = self.settings.provider_a_push_topic or ""
            receivers["PROVIDER_A"] = Receiver(topic, need=pulls.need)
        if self.settings.provider_b_push:
            url = f"{self.settings.base_url}{NOTIFICATIONS}"
            receivers["PROVIDER_B"] = Receiver(url, address=lambda mark: f"{url}{mark}")
        return receivers

    @cached_property
    def notifications(self) -> NotificationReceiver:
        receiver = self.receivers.get("PROVIDER_B")
        return NotificationReceiver(
            self.registrations,
            self.arrivals,
            target=None if receiver is None else receiver.target,
            charge=self.entry.charge_unauthenticated,
        )

    @cached_property
    def registrations(self) -> RegistrationStore:
        return RegistrationStore(self.database)

    @cached_property
    def holds(self) -> Holds:
        return Holds(
            self.registrations,
            self.wakes,
            self.receivers,
            port_of=self.accounts.pushes_of,
            wait_otherwise=self.accounts.wait_for_change,
        )

    @cached_property
    def arrivals(self) -> Arrivals:
        return Arrivals(self.wakes)

    @cached_property
    def mail_pulls(self) -> "MailPulls | None":
        """The pulls of notifications of Gmail; None where the settings name no topic."""
        if self.settings.provider_a_push_topic is None:
            return None
        from gateway.feeds.push.mail_pulls import MailPulls, open_pubsub  # noqa: PLC0415 - rare

        pubsub = open_pubsub(self.settings, self.base.clients, self.endpoints)
        return MailPulls(pubsub, self.base.leases, self.registrations, self.arrivals)

    @cached_property
    def polls(self) -> Polls:
        return Polls(self)

    @cached_property
    def uploads(self) -> UploadStore:
        return UploadStore(self.database, self.keyring)

    @cached_property
    def attachment_links(self) -> AttachmentLinks:
        clock = milliseconds(self.base.clock)
        return AttachmentLinks(self.keyring, self.settings.base_url, clock)

    @cached_property
    def rule_intents(self) -> RuleIntentLog:
        return RuleIntentLog(self.database, self.keyring)

    @cached_property
    def child_tokens(self) -> ChildTokenStore:
        return ChildTokenStore(self.database)

    @cached_property
    def rows(self) -> Sequence[Endpoint]:
        """The documented calls, those of the internal mount among them where it is served."""
        if not self.settings.internal_enabled:
            return ENDPOINTS
        collab = [row.mounted(INTERNAL) for row in ENDPOINTS if row.surface is Surface.COLLAB]
        return (*ENDPOINTS, *collab)

    @cached_property
    def explainer(self) -> "Explainer":
        from gateway.explain.explainer import Explainer  # noqa: PLC0415 - administrators ask it
        from gateway.explain.runner import DryRunner  # noqa: PLC0415

        return Explainer(DryRunner(self), self.authenticator)

    # -- logs

    @cached_property
    def decisions(self) -> DecisionLog:
        metrics = self.base.metrics
        return DecisionLog(
            self.database,
            self.keyring,
            days=self.settings.decision_days,
            clock=milliseconds(self.base.clock),
            on_dropped=metrics.count_lost_decisions,
            on_row=metrics.count_decision,
            on_head=metrics.set_decision_head,
        )

    @cached_property
    def provider_errors(self) -> ProviderErrorLog:
        days, clock = self.settings.provider_error_days, milliseconds(self.base.clock)
        return ProviderErrorLog(self.database, self.keyring, days=days, clock=clock)

    def log_changes(self) -> None:
        """Have the database store a decision for each change by an administrator."""
        days, clock = self.settings.decision_days, milliseconds(self.base.clock)
        ChangeLog(database=self.database, keyring=self.keyring, days=days, clock=clock).install()
