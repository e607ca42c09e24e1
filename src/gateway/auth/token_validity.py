"""
Whether the row of a token makes it valid now, and until when it does.

Columns are those of the queries of `gateway.auth.authenticator`.
"""

from collections.abc import Sequence

from gateway.auth.token_lookup import Row
from policy.refusals import Unauthenticated
from policy.vocabulary import UnauthorizedReason


def require_alive(token: Row, digest: bytes, now: int) -> None:
    """
    Check the row of a *token* whose text has *digest*, at *now* in milliseconds.

    Raises:
        Unauthenticated: It is revoked, replaced by a rotation, or expired.
    """
    current, previous_until, revoked = token[3], token[4], token[8]
    is_replaced = bytes(current) != digest and (previous_until is None or previous_until <= now)
    if revoked is None and is_replaced:  # by a rotation
        raise Unauthenticated(UnauthorizedReason.REVOKED)
    require_unended(token, now)


def require_unended(token: Row, now: int) -> None:
    """
    Check that a *token* is neither revoked nor expired at *now*, in milliseconds.

    Raises:
        Unauthenticated: It is.
    """
    expires, revoked = token[7], token[8]
    if revoked is not None:
        raise Unauthenticated(UnauthorizedReason.REVOKED)
    if expires is not None and expires <= now:
        raise Unauthenticated(UnauthorizedReason.EXPIRED)


def end_of(rows: Sequence[Row], ancestors: Sequence[Sequence[Row]], digest: bytes) -> int | None:
    """Return when the token with *rows*, whose text has *digest*, ends without a commit."""
    ends = [row[0][7] for row in (rows, *ancestors)]
    current, previous_until = rows[0][3], rows[0][4]
    if bytes(current) != digest:
        ends.append(previous_until)
    return min((end for end in ends if end is not None), default=None)
