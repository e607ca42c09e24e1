"""
Prometheus metrics; labels are fixed words and route templates, never text of callers.

One `Metrics` per process. With several workers, each writes its values into the folder of
`PROMETHEUS_MULTIPROC_DIR` (made by `server.run_many`), and the worker that is scraped adds them up.
"""

import os
import platform
from bisect import bisect_left
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Literal

import msgspec
import prometheus_client as prometheus
from prometheus_client.metrics import MetricWrapperBase
from prometheus_client.multiprocess import MultiProcessCollector, mark_process_dead

from gateway.audit.decision import Decision
from gateway.version import API_VERSION, VERSION
from providers.http.events import CallEvent

FOLDER = "PROMETHEUS_MULTIPROC_DIR"
CONTENT_TYPE = prometheus.CONTENT_TYPE_LATEST
OTHER = "other"  # label of an unknown path or method

_SECONDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0)
_METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})

_Add = Callable[[float], None]
Mode = Literal["livesum", "livemin", "mostrecent"]  # how the values of several workers combine

prometheus.disable_created_metrics()  # type: ignore[no-untyped-call]  # one more series for each


class Family(msgspec.Struct, frozen=True, kw_only=True):
    """A metric as scrapers see it; a histogram without the suffixes of its series."""

    name: str
    kind: str
    labels: tuple[str, ...]
    meaning: str


def method_label(method: str) -> str:
    """Return *method*, or "other" for one that is not answered."""
    return method if method in _METHODS else OTHER


class Metrics:
    """The metrics of one process; each method records one event."""

    def __init__(self) -> None:
        registry = self._registry = prometheus.CollectorRegistry()
        # Labels are fixed words, so there are few series: each is looked up once.
        self._request_series: dict[tuple[str, str | None, int], tuple[_Add, _Add]] = {}
        self._call_series: dict[tuple[str, str, str], tuple[_Add, _Add]] = {}
        self._decision_series: dict[tuple[str, str, str], _Add] = {}
        self._requests = prometheus.Counter(
            "agw_requests", "Requests answered.", ("method", "route", "status"), registry=registry
        )
        self._seconds = prometheus.Histogram(
            "agw_request_seconds",
            "Seconds from a request to the end of its response.",
            ("method", "route"),
            buckets=_SECONDS,
            registry=registry,
        )
        self._add_active = _adder(
            self._gauge("agw_requests_active", "Requests being answered.", mode="livesum")
        )
        self._upstream = prometheus.Counter(
            "agw_upstream_calls",
            "Tries at upstream calls, by how they ended.",
            ("upstream", "method", "outcome"),
            registry=registry,
        )
        self._upstream_seconds = prometheus.Histogram(
            "agw_upstream_seconds",
            "Seconds of an upstream call.",
            ("upstream",),
            buckets=_SECONDS,
            registry=registry,
        )
        self._connections = self._gauge(
            "agw_connections",
            "Connected accounts, by state.",
            ("provider", "status"),
            mode="mostrecent",
        )
        self._decisions = prometheus.Counter(
            "agw_decisions",
            "Calls of known tokens, by how they ended.",
            ("surface", "outcome", "code"),
            registry=registry,
        )
        self._decisions_lost = prometheus.Counter(
            "agw_decisions_lost",
            "Rows of the decision log that were dropped or could not be stored.",
            registry=registry,
        )
        self._declare_worker_metrics()
        self._gauge(
            "agw_build_info",
            "1; the labels are the versions of the package, the API and Python.",
            ("version", "api", "python"),
            mode="mostrecent",
        ).labels(VERSION, API_VERSION, platform.python_version()).set(1)
        if FOLDER not in os.environ:
            prometheus.ProcessCollector(registry=registry)
            prometheus.GCCollector(registry=registry)

    def _declare_worker_metrics(self) -> None:
        self._decision_head = self._gauge(
            "agw_decision_log_head",
            "Number of the last stored row of a chain of the decision log.",
            ("chain",),
            mode="livesum",
        )
        self._shared_lost = self._gauge(
            "agw_shared_limits_lost",
            "Workers that count rate limits alone, because the shared count is lost.",
            mode="livesum",
        )
        self._held_writes = self._gauge(
            "agw_held_writes",
            "Writes that wait for a person (`held`), or were released and have not ended.",
            ("state",),
            mode="mostrecent",
        )
        self._queue_seconds = prometheus.Histogram(
            "agw_queue_seconds",
            "Seconds that a request waited for a free slot of its worker; requests that found one "
            "free are not counted.",
            ("outcome",),
            buckets=_SECONDS,
            registry=self._registry,
        )
        self._declare_dependencies()
        self._declare_notifications()
        self._background = self._gauge(
            "agw_background_task_ok",
            "1 if the last run of a background task succeeded, 0 if it failed; worst worker.",
            ("task",),
            mode="livemin",
        )

    def _declare_dependencies(self) -> None:
        self._pool = self._gauge(
            "agw_database_connections",
            "Connections of this worker to the database, by whether they are in use.",
            ("state",),
            mode="livesum",
        )
        self._silence = self._gauge(
            "agw_connection_last_ok_seconds",
            "Seconds since the last response of the active account that was silent for longest.",
            ("provider",),
            mode="mostrecent",
        )
        self._dead = self._gauge(
            "agw_connections_dead",
            "Connected accounts that do not work, by cause; none: nothing tells the cause.",
            ("provider", "cause"),
            mode="mostrecent",
        )
        self._ending = self._gauge(
            "agw_connections_ending",
            "Working accounts whose credentials end within three days.",
            ("provider",),
            mode="mostrecent",
        )
        self._redis = prometheus.Histogram(
            "agw_redis_seconds",
            "Seconds of a call of Redis that counts a request.",
            buckets=_SECONDS,
            registry=self._registry,
        )
        self._limited = prometheus.Counter(
            "agw_rate_limited",
            "Requests refused by a rate limit of the gateway, by bucket.",
            ("bucket",),
            registry=self._registry,
        )
        self._webhook_calls = prometheus.Counter(
            "agw_webhook_calls",
            "Wake-up calls, by how they ended; `dead`: the last one of its target.",
            ("outcome",),
            registry=self._registry,
        )
        self._webhook_targets = self._gauge(
            "agw_webhook_targets",
            "Targets of wake-up calls: `active`, `failing` (the last call failed), `dead`.",
            ("state",),
            mode="mostrecent",
        )
        self._refused_refreshes = prometheus.Counter(
            "agw_token_refreshes_refused",
            "Renewals of an account's access token that the provider refused for good.",
            registry=self._registry,
        )

    def _declare_notifications(self) -> None:
        self._push_registrations = self._gauge(
            "agw_push_registrations",
            "Accounts whose provider is asked to tell of changes: `active`, or `failing` (the "
            "last try; then they are polled).",
            ("state",),
            mode="mostrecent",
        )
        self._late_looks = self._gauge(
            "agw_late_looks_seconds",
            "For how long the subscription to changes that waits longest has been due for a look.",
            mode="mostrecent",
        )

    def _gauge(
        self, name: str, description: str, labels: tuple[str, ...] = (), *, mode: Mode
    ) -> prometheus.Gauge:
        return prometheus.Gauge(
            name, description, labels, multiprocess_mode=mode, registry=self._registry
        )

    def start_request(self) -> None:
        self._add_active(1)

    def finish_request(self, method: str, route: str | None, status: int, seconds: float) -> None:
        """
        Count a request that ended.

        Args:
            method: See `method_label`.
            route: The template of its path; None without a route.
            status: 0 when the client left before the response.
            seconds: Since it began.
        """
        self._add_active(-1)
        key = (method, route, status)
        series = self._request_series.get(key)
        if series is None:
            label = route or OTHER
            series = self._request_series[key] = (
                _adder(self._requests.labels(method, label, str(status))),
                _observer(self._seconds.labels(method, label)),
            )
        count, observe = series
        count(1)
        observe(seconds)

    def observe_queue(self, seconds: float, *, admitted: bool) -> None:
        """Count a request that waited for a slot; without one it was refused (503)."""
        self._queue_seconds.labels("admitted" if admitted else "refused").observe(seconds)

    def count_upstream_call(self, event: CallEvent) -> None:
        key = (event.upstream, event.method, event.outcome)
        series = self._call_series.get(key)
        if series is None:
            series = self._call_series[key] = (
                _adder(self._upstream.labels(*key)),
                _observer(self._upstream_seconds.labels(event.upstream)),
            )
        count, observe = series
        count(1)
        observe(event.ended - event.began)

    def set_connections(self, counts: dict[tuple[str, str], int]) -> None:
        """Set the number of connections by (provider, status)."""
        self._connections.clear()
        for (provider, status), count in counts.items():
            self._connections.labels(provider, status).set(count)

    def set_health(self, dead: Mapping[tuple[str, str], int], ending: Mapping[str, int]) -> None:
        """Set the numbers of dead connections by (provider, cause) and ending ones by provider."""
        self._dead.clear()
        self._ending.clear()
        for (provider, cause), count in dead.items():
            self._dead.labels(provider, cause).set(count)
        for provider, count in ending.items():
            self._ending.labels(provider).set(count)

    def set_silence(self, seconds: Mapping[str, float]) -> None:
        """Set the seconds since the last answer of the most silent active account, by provider."""
        self._silence.clear()
        for provider, age in seconds.items():
            self._silence.labels(provider).set(age)

    def set_pool(self, *, used: int, idle: int) -> None:
        """Set the number of connections to the database."""
        self._pool.labels("used").set(used)
        self._pool.labels("idle").set(idle)

    def observe_redis(self, seconds: float) -> None:
        self._redis.observe(seconds)

    def count_limited(self, bucket: str) -> None:
        """Count a request that a rate limit refused; no bucket is "other"."""
        self._limited.labels(bucket or OTHER).inc()

    def count_refused_refresh(self) -> None:
        self._refused_refreshes.inc()

    def count_decision(self, row: Decision) -> None:
        """Count a call of a known token; "none" is the code of a success."""
        key = (row.surface or OTHER, row.outcome, row.code or "none")
        count = self._decision_series.get(key)
        if count is None:
            count = self._decision_series[key] = _adder(self._decisions.labels(*key))
        count(1)

    def count_lost_decisions(self, count: int) -> None:
        self._decisions_lost.inc(count)

    def set_decision_head(self, chain: str, number: int) -> None:
        """Set the end of the chain that this process writes."""
        self._decision_head.labels(chain).set(number)

    def set_held_writes(self, counts: Mapping[str, int]) -> None:
        """Set how many writes wait or run, by state."""
        for state, count in counts.items():
            self._held_writes.labels(state).set(count)

    def count_webhook_call(self, outcome: str) -> None:
        """Count a wake-up call that ended: "delivered", "failed", or "dead" for the last one."""
        self._webhook_calls.labels(outcome).inc()

    def set_webhook_targets(self, counts: Mapping[str, int]) -> None:
        """Set the numbers of targets of wake-up calls, by state."""
        for state, count in counts.items():
            self._webhook_targets.labels(state).set(count)

    def set_push_registrations(self, counts: Mapping[str, int]) -> None:
        """Set the numbers of registrations for notifications, by state."""
        for state, count in counts.items():
            self._push_registrations.labels(state).set(count)

    def set_late_looks(self, seconds: float) -> None:
        self._late_looks.set(seconds)

    def set_shared_limits_lost(self, *, lost: bool) -> None:
        self._shared_lost.set(lost)

    def set_background_tasks(self, last_runs: Mapping[str, bool]) -> None:
        """Set the state of this worker's background tasks: name -> success of the last run."""
        for name, succeeded in last_runs.items():
            self._background.labels(name).set(int(succeeded))

    def families(self) -> Sequence[Family]:
        """Describe the metrics of the gateway itself, by name."""
        collectors = {
            collector
            for collector in self._registry._collector_to_names  # noqa: SLF001 - no other way to labels
            if isinstance(collector, MetricWrapperBase)
        }
        described = [
            Family(
                name=f"{metric._name}_total" if metric._type == "counter" else metric._name,  # noqa: SLF001 - as above
                kind=str(metric._type),  # noqa: SLF001 - as above
                labels=tuple(metric._labelnames),  # noqa: SLF001 - as above
                meaning=metric._documentation,  # noqa: SLF001 - as above
            )
            for metric in collectors
        ]
        return sorted(described, key=lambda family: family.name)

    def exposition(self) -> bytes:
        """Return the metrics of all workers in Prometheus' text format."""
        folder = os.environ.get(FOLDER)
        if folder is None:
            return prometheus.generate_latest(self._registry)
        for pid in _dead_workers(Path(folder)):
            mark_process_dead(pid)  # type: ignore[no-untyped-call]
        combined = prometheus.CollectorRegistry()
        MultiProcessCollector(combined)  # type: ignore[no-untyped-call]
        return prometheus.generate_latest(combined)


def _adder(series: prometheus.Counter | prometheus.Gauge) -> _Add:
    """Return the function that adds to *series*, without the checks of prometheus_client."""
    add: _Add = series._value.inc  # noqa: SLF001 - three calls deep otherwise, at each request
    return add


def _observer(series: prometheus.Histogram) -> _Add:
    """Return `series.observe` without its checks, as `_adder`."""
    add_seconds, bounds = series._sum.inc, series._upper_bounds  # noqa: SLF001 - as above
    buckets = [bucket.inc for bucket in series._buckets]  # noqa: SLF001 - as above

    def observe(seconds: float) -> None:
        add_seconds(seconds)
        buckets[bisect_left(bounds, seconds)](1)

    return observe


def _dead_workers(folder: Path) -> set[int]:
    """Return the ids of ended workers whose live gauges remain."""
    pids = {int(file.stem.rpartition("_")[2]) for file in folder.glob("gauge_live*_*.db")}
    return {pid for pid in pids if not Path(f"/proc/{pid}").exists()}
