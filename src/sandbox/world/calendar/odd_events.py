"""The events of ``texts/odd_events.ics``, as the importer reads them, relative to a day."""

import re
from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta

from sandbox.calendar.records import NewEvent
from sandbox.importing import ical_files
from sandbox.mail.ids import PROVIDER_A
from sandbox.world.accounts import DemoAccount
from sandbox.world.mail.texts import odd_calendar

_DAY = re.compile(r"\{(-\d+)\}")  # days before the world's day
_ZONE = "Europe/Stockholm"


def odd_events(account: DemoAccount) -> Iterator[tuple[str, NewEvent]]:
    """Yield (calendar key, event): in a second calendar, some weeks ago."""

    def date_of(days: re.Match[str]) -> str:
        return f"{account.today + timedelta(days=int(days[1])):%Y%m%d}"

    text = _DAY.sub(date_of, odd_calendar())
    read = ical_files.read(text.encode(), zone=_ZONE, account=account.address)
    key = "slip" if account.mailbox == PROVIDER_A else "sites"
    for event in read.events:
        yield key, replace(event, uid=f"{account.mailbox}-{event.uid}")
