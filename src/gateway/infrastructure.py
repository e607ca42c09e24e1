"""Infrastructure of the process below its services: it knows neither tokens nor requests."""

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from gateway.audit import recorder
from gateway.auth.last_uses import LastUses
from gateway.auth.token_lookup import RowReader, open_row_reader
from gateway.connections.health import LastSuccess
from gateway.http.sandbox_mount import SandboxApp, in_process
from gateway.ratelimit.memory import MemoryLimiter
from gateway.ratelimit.windows import UnlimitedCounter
from gateway.settings import NotConfigured, Settings
from gateway.store.database import Database
from gateway.store.leases import Leases
from gateway.telemetry.account_times import AccountTimes
from gateway.telemetry.metrics import Metrics
from policy.quota import RequestCounter
from providers.http.events import CallEvent
from providers.http.origins import Origins
from providers.http.proxies import Proxies, environment_tls_context
from providers.http.slots import SharedSlots

if TYPE_CHECKING:
    from gateway.ratelimit.redis_client import RedisStore
    from gateway.ratelimit.redis_slots import RedisSlots
    from gateway.telemetry.tracing import Tracing

Clock = Callable[[], float]  # seconds since the epoch


@dataclass(frozen=True, kw_only=True)
class Infrastructure:
    """Infrastructure below the services; it knows neither tokens nor requests."""

    database: Database
    reader: RowReader
    leases: Leases
    last_uses: LastUses
    clients: Origins
    redis: "RedisStore | None"
    slots: "RedisSlots | None"
    clock: Clock
    last_success: LastSuccess
    metrics: Metrics
    account_times: AccountTimes
    tracing: "Tracing | None"

    @classmethod
    def open(
        cls,
        settings: Settings,
        *,
        sandbox: SandboxApp | None = None,
        clock: Clock = time.time,
        origins: Origins | None = None,
        database: Database | None = None,
    ) -> "Infrastructure":
        """
        Build it, and have every upstream call counted and traced; nothing is connected yet.

        *origins* and *database* are used as they are, if they are not None.
        """
        database = database or Database.open(
            settings.database,
            connections=settings.database_connections,
            pooler=settings.database_pooler,
        )
        metrics, tracing = Metrics(), open_tracing(settings)
        account_times = AccountTimes(clock)
        last_success = LastSuccess(database, clock=milliseconds(clock))
        redis = open_redis(settings)
        slots = open_slots(settings, redis)
        clients = origins or open_origins(
            settings,
            apps=in_process(settings.origin, sandbox),
            shared_slots=None if slots is None else slots.open,
        )
        listeners = [
            metrics.count_upstream_call,
            recorder.count_upstream_call,
            account_times.record,
            last_success.record,
            *([tracing.record_upstream_call] if tracing else []),
        ]

        def notify(event: CallEvent) -> None:
            for listener in listeners:
                listener(event)

        clients.listener = notify
        return cls(
            database=database,
            reader=open_row_reader(database),
            leases=Leases(database),
            last_uses=LastUses(database),
            clients=clients,
            redis=redis,
            slots=slots,
            clock=clock,
            last_success=last_success,
            metrics=metrics,
            account_times=account_times,
            tracing=tracing,
        )


def open_origins(
    settings: Settings,
    *,
    apps: Mapping[str, Any] = MappingProxyType({}),
    shared_slots: SharedSlots | None = None,
) -> Origins:
    """
    Open the clients of the upstreams, with the proxy and the certificates of the environment.

    Raises:
        NotConfigured: The proxy is not one that they can use, or the certificates cannot be read.
    """
    try:
        tls, proxies = environment_tls_context(), Proxies.from_environment()
    except ValueError as problem:
        raise NotConfigured(str(problem)) from None
    except OSError:
        raise NotConfigured("SSL_CERT_FILE or SSL_CERT_DIR cannot be read.") from None
    return Origins(
        apps=apps,
        tls=tls,
        proxies=proxies,
        user_agent=settings.user_agent,
        processes=settings.limiting_processes,
        shared_slots=shared_slots,
    )


def open_tracing(settings: Settings) -> "Tracing | None":
    """Open the exporter of traces; None when the settings name no collector."""
    if settings.traces_endpoint is None:
        return None
    from gateway.telemetry.tracing import Tracing  # noqa: PLC0415 - heavy, and rarely used

    return Tracing.to(settings.traces_endpoint, share=settings.traces_share)


def open_counter(settings: Settings, base: Infrastructure) -> RequestCounter:
    """Open the counter of rate limits: in Redis, in this process, or one without limits."""
    if settings.rate_limits == "off":
        return UnlimitedCounter()
    if base.redis is not None:
        from gateway.ratelimit.redis import RedisLimiter  # noqa: PLC0415 - a heavy client

        return RedisLimiter(
            base.redis,
            processes=settings.limiting_processes,
            clock=base.clock,
            on_answer=base.metrics.observe_redis,
        )
    return MemoryLimiter(clock=base.clock)


def open_redis(settings: Settings) -> "RedisStore | None":
    """Open the Redis that processes share; None without one."""
    if not settings.redis_url:
        return None
    from gateway.ratelimit.redis_client import RedisStore  # noqa: PLC0415 - a heavy client

    return RedisStore(settings.redis_url.get_secret_value(), prefix=settings.redis_prefix or "")


def open_slots(settings: Settings, redis: "RedisStore | None") -> "RedisSlots | None":
    """Open the slots of upstream accounts that processes share; None where one has them all."""
    if redis is None or settings.processes == 1:
        return None
    from gateway.ratelimit.redis_slots import RedisSlots  # noqa: PLC0415 - a heavy client

    return RedisSlots(redis, processes=settings.limiting_processes)


def milliseconds(clock: Clock) -> Callable[[], int]:
    """Return *clock* in whole milliseconds."""
    return lambda: int(clock() * 1000)


def secret_text(setting: Any) -> str:
    """Return the text of a secret setting; empty when it is not set."""
    return str(setting.get_secret_value()) if setting is not None else ""
