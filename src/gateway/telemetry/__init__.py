"""
Logs, metrics and traces; they hold no content, ids or addresses.

    logs           structured log lines
    metrics        Prometheus metrics
    account_times  seconds of upstream calls by account
    tracing        OpenTelemetry spans, loaded only when a collector is configured
"""
