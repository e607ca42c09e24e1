"""The ids of the sandbox's calendars and events: counted up, and the same in every run."""

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
    """Name a calendar (provider A's primary one is called by the account's address instead)."""
    if mailbox == PROVIDER_A:
        return f"c_{_hex(f'calendar/{seq}')}@group.calendar.example"
    return f"AAMkAG{_STORE_GUID}-{_text(f'calendar/{seq}', 45)}_AAA="


def event_id(mailbox: str, seq: int) -> str:
    """Name an event or series: 26 letters of base32hex, or a long text with ``-``, ``_``, ``=``."""
    if mailbox == PROVIDER_A:
        return b32hexencode(_bytes(f"event/{seq}", 16)).decode().lower().rstrip("=")
    return f"AAMkAG{_STORE_GUID}-{_text(f'event/{seq}', 45)}_AAA="


def immutable_id(mailbox: str, seq: int) -> str:
    """Name an event for its whole life; the plain id on provider A."""
    if mailbox == PROVIDER_A:
        return event_id(mailbox, seq)
    return f"AAkALgAA-{_text(f'event/immutable/{seq}', 60)}_AA="


def instance_id(mailbox: str, series: str, original: EventTime) -> str:
    """Name the occurrence of *series* that its rule starts at *original*."""
    if mailbox == PROVIDER_A:
        return f"{series}_{original.stamp}"
    return f"{series[:-1]}_O{original.stamp.encode().hex()}="


def split_instance(mailbox: str, name: str, zone: str) -> tuple[str, EventTime] | None:
    """Read the id of an occurrence as series and original start; None for any other id."""
    found = (_A_INSTANCE if mailbox == PROVIDER_A else _B_INSTANCE).match(name)
    if found is None:
        return None
    series, stamp = found[1], found[2]
    if mailbox != PROVIDER_A:
        series, stamp = f"{series}=", bytes.fromhex(stamp).decode("ascii", "replace")
    start = read_stamp(stamp, zone)
    return None if start is None else (series, start)


def read_stamp(stamp: str, zone: str) -> EventTime | None:
    """Read `EventTime.stamp`; None for what is none."""
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
