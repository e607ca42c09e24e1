"""What every sandbox wire stands on."""

import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from sandbox.calendar.store import CalendarStore
from sandbox.collab.store import Shelf
from sandbox.mail.mime import Trees
from sandbox.mail.store import MailStore
from sandbox.oauth.tokens import Tokens
from sandbox.storage.database import Store, open_store


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
