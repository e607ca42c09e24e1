"""`docs/reference/metrics.md`: every metric with its kind, labels and meaning."""

from gateway.telemetry.metrics import Family, Metrics

_HEAD = """# Metrics

What `GET /metrics` returns, in Prometheus' text format. A counter ends in `_total`; a histogram `x`
has `x_bucket`, `x_sum` and `x_count`. This table is written by code from
`src/gateway/telemetry/metrics.py`; [monitoring](../guides/monitoring.md) says how to scrape it.

| Metric | Kind | Labels | Meaning |
|---|---|---|---|
"""


def metrics_page() -> str:
    """Return the table of every metric of the gateway, by name."""
    return _HEAD + "".join(map(_row, Metrics().families()))


def _row(family: Family) -> str:
    labels = ", ".join(f"`{label}`" for label in family.labels)
    return f"| `{family.name}` | {family.kind} | {labels} | {family.meaning} |\n"
