"""Header that tells what became of the consents of removed connections at their providers."""

from collections.abc import Sequence

from fastapi import Response

from gateway.connections.revocation import PendingRevocation
from gateway.services import Services

HEADER = "X-Consent-Revocation"


async def tell_revocations(
    services: Services, pending: Sequence[PendingRevocation], response: Response
) -> None:
    """Revoke the consents, and name each result once in the header."""
    results = await services.revoker.revoke(pending)
    if results:
        response.headers[HEADER] = ", ".join(sorted(set(results)))
