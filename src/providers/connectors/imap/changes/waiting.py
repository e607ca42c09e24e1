"""Waits until the inbox of an account changes: docs/spec/upstream/imap.md#waiting."""

import time

from providers.connectors.imap import reading
from providers.failures import Inaccessible
from providers.imap.idling import IdleSession
from providers.imap.session import Session

# RFC 2177 says 29 minutes; gateways on the way forget a silent connection after 240 seconds or
# later, and some servers stop to tell changes.
RENEW_SECONDS = 180.0


async def wait(session: Session, seconds: float) -> bool:
    """
    Return whether the inbox may have changed, within *seconds*.

    It may have when the session is new.

    Raises:
        Inaccessible: The server has no IDLE.
        ProviderFailure: As `Session.command`.
    """
    if "IDLE" not in session.capabilities or not isinstance(session, IdleSession):
        raise Inaccessible("is with a mail server that cannot be waited for", status=501)
    if session.selected is None:
        inbox = b"INBOX" if session.root is None else session.root.inbox
        await reading.open_folder(session, inbox)
        session.has_changed = False
        return True
    ends = time.monotonic() + seconds
    while (left := ends - time.monotonic()) > 0:
        if await session.idle(min(left, RENEW_SECONDS)):
            return True
    return False
