"""State that all sandbox protocols share: the database and the stores over it."""

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from sandbox.calendar.store import CalendarStore
from sandbox.collab.store import ContentStore
from sandbox.mail.mime import MimeTreeCache
from sandbox.mail.store import MailStore
from sandbox.oauth.tokens import TokenStore
from sandbox.outbound import Outbound
from sandbox.storage.database import Database, open_database


@dataclass(frozen=True, slots=True, kw_only=True)
class SandboxState:
    """
    The database and the stores over it.

    Attributes:
        content: The collaboration content.
        trees: Parsed messages, shared by both mail protocols.
        outbound: The calls that services make.
        attachment_uploads: Unfinished upload sessions of attachments, by the token of their URL.
        clock: Seconds since the epoch.
    """

    database: Database
    mails: MailStore
    calendars: CalendarStore
    trees: MimeTreeCache
    tokens: TokenStore
    content: ContentStore
    outbound: Outbound = field(default_factory=Outbound)
    attachment_uploads: dict[str, Any] = field(default_factory=dict)
    clock: Callable[[], float] = time.time


def open_state(data_dir: Path | None, *, clock: Callable[[], float] = time.time) -> SandboxState:
    """Open the database of *data_dir*; None keeps everything in memory."""
    database = Database(":memory:") if data_dir is None else open_database(data_dir)
    return SandboxState(
        database=database,
        mails=MailStore(database, clock=clock),
        calendars=CalendarStore(database, clock=clock),
        trees=MimeTreeCache(),
        tokens=TokenStore(database, clock=clock),
        content=ContentStore.beside(database, clock=clock),
        clock=clock,
    )
