"""
The rights that people have in the shared mailbox, as an administrator of Exchange gives them.

A right to send is not one to open the mailbox, and the reverse. See
docs/spec/upstream/outlook-mail.md#shared-mailboxes.
"""

import json
from collections.abc import Iterable
from enum import StrEnum

from sandbox.storage.database import Database


class Right(StrEnum):
    """A right of a person in a mailbox of somebody else."""

    READ = "read"
    FULL_ACCESS = "full-access"
    SEND_AS = "send-as"
    SEND_ON_BEHALF = "send-on-behalf"


OPENS = frozenset({Right.READ, Right.FULL_ACCESS})
SENDS = frozenset({Right.SEND_AS, Right.SEND_ON_BEHALF})


def grant(database: Database, mailbox: str, person: str, rights: Iterable[Right]) -> None:
    """Give a person these rights in a mailbox, and no others."""
    database.set_meta(_key(mailbox, person), json.dumps(sorted(rights)))


def rights_in(database: Database, mailbox: str, person: str) -> frozenset[Right]:
    """Return the rights of the person with this address."""
    stored = json.loads(database.meta(_key(mailbox, person), "[]") or "[]")
    return frozenset(map(Right, stored))


def _key(mailbox: str, person: str) -> str:
    return f"mailbox-rights:{mailbox}:{person.casefold()}"
