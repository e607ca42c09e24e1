"""Header that tells what became of the consents of removed connections at their providers."""

from collections.abc import Mapping

from fastapi import Response

from gateway.connections.revocation import Revocation

HEADER = "X-Consent-Revocation"


def tell_revocations(revocations: Mapping[int, Revocation], response: Response) -> None:
    """Name each result once in the header; *revocations* are by connection id."""
    if revocations:
        response.headers[HEADER] = ", ".join(sorted(set(revocations.values())))
