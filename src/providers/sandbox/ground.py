"""What every sandbox wire stands on."""

import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from providers.sandbox.calendarstore import CalendarStore
from providers.sandbox.collab.shelf import Shelf
from providers.sandbox.mailstore import MailStore
from providers.sandbox.mime import Trees
from providers.sandbox.store import Store, open_store
from providers.sandbox.tokens import Tokens


@dataclass(frozen=True, slots=True, kw_only=True)
class Ground:
    """
    The store and what is kept over it.

    Attributes:
        shelf: The collaboration content.
        trees: Parsed messages, shared by both mail wires.
        clock: Seconds since the epoch.
    """

    store: Store
    mails: MailStore
    calendars: CalendarStore
    trees: Trees
    tokens: Tokens
    shelf: Shelf
    clock: Callable[[], float] = time.time


def open_ground(data_dir: Path | None, *, clock: Callable[[], float] = time.time) -> Ground:
    """Open the store of *data_dir*; None keeps everything in memory."""
    store = Store(":memory:") if data_dir is None else open_store(data_dir)
    return Ground(
        store=store,
        mails=MailStore(store, clock=clock),
        calendars=CalendarStore(store, clock=clock),
        trees=Trees(),
        tokens=Tokens(store, clock=clock),
        shelf=Shelf.beside(store, clock=clock),
        clock=clock,
    )
