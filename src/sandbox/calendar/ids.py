"""Ids of the sandbox's calendars and events, derived from counters: the same in every run."""

import hashlib
import re
from base64 import b32hexencode, urlsafe_b64encode
from datetime import UTC, date, datetime

from sandbox.calendar.records import EventTime
from sandbox.mail.ids import PROVIDER_A

_STORE_GUID = "NDM4YTQ0ZDAtYjU2Yy00ZWEyLTk4MzctZmUzMjgzYTRhN2QwAEYAAAAAA"
_A_INSTANCE = re.compile(r"^(.+)_(\d{8}(?:T\d{6}Z)?)$", re.ASCII)
_B_INSTANCE = re.compile(r"^(.+)_O([0-9a-f]{16,32})=$", re.ASCII)


def calendar_id(mailbox: str, seq: int) -> str:
    """Return a calendar's id; provider A uses the account's address for the primary one instead."""
    if mailbox == PROVIDER_A:
        return f"c_{_hex(f'calendar/{seq}')}@group.calendar.example"
    return f"AAMkAG{_STORE_GUID}-{_text(f'calendar/{seq}', 45)}_AAA="


def event_id(mailbox: str, seq: int) -> str:
    """Return the id of an event or series: base32hex, or a long text with ``-``, ``_``, ``=``."""
    if mailbox == PROVIDER_A:
        return b32hexencode(_bytes(f"event/{seq}", 16)).decode().lower().rstrip("=")
    return f"AAMkAG{_STORE_GUID}-{_text(f'event/{seq}', 45)}_AAA="


def immutable_id(mailbox: str, seq: int) -> str:
    """Return the id that an event keeps for ever; on provider A the plain id."""
    if mailbox == PROVIDER_A:
        return event_id(mailbox, seq)
    return f"AAkALgAA-{_text(f'event/immutable/{seq}', 60)}_AA="


def instance_id(mailbox: str, series: str, original: EventTime) -> str:
    """Return the id of the occurrence of *series* whose original start is *original*."""
    if mailbox == PROVIDER_A:
        return f"{series}_{original.stamp}"
    return f"{series[:-1]}_O{original.stamp.encode().hex()}="


def split_instance(mailbox: str, name: str, zone: str) -> tuple[str, EventTime] | None:
    """Split an occurrence's id into series id and original start; None for any other id."""
    match = (_A_INSTANCE if mailbox == PROVIDER_A else _B_INSTANCE).match(name)
    if match is None:
        return None
    series, stamp = match[1], match[2]
    if mailbox != PROVIDER_A:
        series, stamp = f"{series}=", bytes.fromhex(stamp).decode("ascii", "replace")
    start = parse_stamp(stamp, zone)
    return None if start is None else (series, start)


def parse_stamp(stamp: str, zone: str) -> EventTime | None:
    """Parse an `EventTime.stamp`; None if it is invalid."""
    try:
        if len(stamp) == 8:
            return EventTime(zone, day=date.fromisoformat(stamp))
        return EventTime(zone, at=datetime.strptime(stamp, "%Y%m%dT%H%M%SZ").replace(tzinfo=UTC))
    except ValueError:
        return None


def _bytes(seed: str, size: int) -> bytes:
    return hashlib.shake_256(seed.encode()).digest(size)


def _hex(seed: str) -> str:
    return _bytes(seed, 16).hex()


def _text(seed: str, size: int) -> str:
    return urlsafe_b64encode(_bytes(seed, size)).decode().rstrip("=")
