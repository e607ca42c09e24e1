"""
`access-gateway` with shorter leases of keyed sends, for tests that wait until they end.

    python tests/faults/short_leases.py 15 serve --port 8000

A send and its upstream calls then end as much sooner, and leases are renewed as often as ever: what
is left between a renewal and the end of a lease is as in the product.
"""

import runpy
import sys

from gateway.store.idempotency import leases
from providers.mail import delivery


def shorten(seconds: float) -> None:
    """Let a lease last *seconds*."""
    sooner = leases.LEASE_MS / 1000 - seconds
    leases.LEASE_MS -= int(sooner * 1000)
    leases.CALL_SECONDS -= sooner
    delivery.SEND_SECONDS -= sooner


if __name__ == "__main__":
    shorten(float(sys.argv.pop(1)))
    runpy.run_module("gateway", run_name="__main__")
