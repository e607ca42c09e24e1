"""
Metrics for Prometheus: how many, how long, how full. Labels are words of ours, never of callers.

One `Metrics` per process. When several workers serve, each writes its figures into the folder of
`PROMETHEUS_MULTIPROC_DIR` (`server.run_many` makes it) and whoever is scraped adds them up.
"""

import os
from pathlib import Path

from prometheus_client import (
    CONTENT_TYPE_LATEST,
    CollectorRegistry,
    Counter,
    Gauge,
    GCCollector,
    Histogram,
    ProcessCollector,
    disable_created_metrics,
    generate_latest,
)
from prometheus_client.multiprocess import MultiProcessCollector, mark_process_dead

from gateway.audit.decision import Decision
from providers.http.events import CallEvent

FOLDER = "PROMETHEUS_MULTIPROC_DIR"
CONTENT_TYPE = CONTENT_TYPE_LATEST
OTHER = "other"  # what stands for a path or method that is not ours

_SECONDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0)
_METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})

disable_created_metrics()  # type: ignore[no-untyped-call]  # a series more for each


def known(method: str) -> str:
    """Return *method*, or "other" for one that nobody here would answer."""
    return method if method in _METHODS else OTHER


class Metrics:
    """What is counted; each method is one thing that happened."""

    def __init__(self) -> None:
        held = self._registry = CollectorRegistry()
        self._requests = Counter(
            "agw_requests", "Requests answered.", ("method", "route", "status"), registry=held
        )
        self._seconds = Histogram(
            "agw_request_seconds",
            "Seconds from a request to the end of its answer.",
            ("method", "route"),
            buckets=_SECONDS,
            registry=held,
        )
        self._active = Gauge(
            "agw_requests_active",
            "Requests being answered.",
            multiprocess_mode="livesum",
            registry=held,
        )
        self._upstream = Counter(
            "agw_upstream_calls",
            "Tries at upstream calls, by how they ended.",
            ("upstream", "method", "outcome"),
            registry=held,
        )
        self._upstream_seconds = Histogram(
            "agw_upstream_seconds",
            "Seconds of an upstream call.",
            ("upstream",),
            buckets=_SECONDS,
            registry=held,
        )
        self._connections = Gauge(
            "agw_connections",
            "Connected accounts, by state.",
            ("provider", "status"),
            multiprocess_mode="mostrecent",
            registry=held,
        )
        self._decisions = Counter(
            "agw_decisions",
            "Calls of known tokens, by how they ended.",
            ("surface", "outcome", "code"),
            registry=held,
        )
        self._decisions_lost = Counter(
            "agw_decisions_lost",
            "Rows of the decision log that were dropped or could not be stored.",
            registry=held,
        )
        self._shared_lost = Gauge(
            "agw_shared_limits_lost",
            "Workers that count rate limits alone, because the shared count is lost.",
            multiprocess_mode="livesum",
            registry=held,
        )
        if FOLDER not in os.environ:
            ProcessCollector(registry=self._registry)
            GCCollector(registry=self._registry)

    def start_request(self) -> None:
        """Count a request that came."""
        self._active.inc()

    def finish_request(self, method: str, route: str | None, status: int, seconds: float) -> None:
        """
        Count a request that went.

        Args:
            method: As `known` says it.
            route: The template of its path; None: no route of ours.
            status: 0 when nobody waited for the answer.
            seconds: Since it came.
        """
        route = route or OTHER
        self._active.dec()
        self._requests.labels(method, route, str(status)).inc()
        self._seconds.labels(method, route).observe(seconds)

    def count_upstream_call(self, told: CallEvent) -> None:
        """Count a try at an upstream call."""
        self._upstream.labels(told.upstream, told.method, told.outcome).inc()
        self._upstream_seconds.labels(told.upstream).observe(told.ended - told.began)

    def set_connections(self, counts: dict[tuple[str, str], int]) -> None:
        """Set how many connections there are, by (provider, status)."""
        self._connections.clear()
        for (provider, status), count in counts.items():
            self._connections.labels(provider, status).set(count)

    def count_decision(self, row: Decision) -> None:
        """Count a call of a known token; "none" is the code of what nothing stopped."""
        self._decisions.labels(row.surface or OTHER, row.outcome, row.code or "none").inc()

    def count_lost_decisions(self, count: int) -> None:
        """Count rows of the decision log that nobody will read."""
        self._decisions_lost.inc(count)

    def set_shared_limits_lost(self, *, lost: bool) -> None:
        """Say whether the shared count of the rate limits is lost to this process."""
        self._shared_lost.set(lost)

    def exposition(self) -> bytes:
        """Return everything in Prometheus' text format, all workers together."""
        folder = os.environ.get(FOLDER)
        if folder is None:
            return generate_latest(self._registry)
        for pid in _dead(Path(folder)):
            mark_process_dead(pid)  # type: ignore[no-untyped-call]
        whole = CollectorRegistry()
        MultiProcessCollector(whole)  # type: ignore[no-untyped-call]
        return generate_latest(whole)


def _dead(folder: Path) -> set[int]:
    """Return the workers that left live gauges behind."""
    pids = {int(file.stem.rpartition("_")[2]) for file in folder.glob("gauge_live*_*.db")}
    return {pid for pid in pids if not Path(f"/proc/{pid}").exists()}
