"""
Data loaders of one request: what is asked for twice is fetched once.

They live in the context, so nothing is ever shared between tokens. Keys are typed tuples, because
what was fetched for one selection may lack what another wants.
"""

import asyncio
from collections.abc import Awaitable, Callable
from functools import cached_property
from typing import TypeVar, cast

from aiodataloader import DataLoader

from providers.mail.merged_mailbox import MergedMailbox
from providers.records import mail as mail_records
from providers.records.base import Record

Key = tuple[str, frozenset[str]]
Found = TypeVar("Found", bound=Record)


class Loaders:
    """Made inside the event loop, once per request; *alone*: a single root field will ask, once."""

    def __init__(self, mail: MergedMailbox, *, alone: bool = False) -> None:
        self._mail = mail
        self._alone = alone

    async def email(self, email_id: str, wanted: frozenset[str]) -> mail_records.Email:
        """Read one message by its prefixed id."""
        if self._alone:
            return await self._mail.get(email_id, wanted=wanted)
        return await self._emails.load((email_id, wanted))

    async def thread(self, thread_id: str, wanted: frozenset[str]) -> mail_records.Thread:
        """Read one conversation by its prefixed id."""
        if self._alone:
            return await self._mail.thread(thread_id, wanted=wanted)
        return await self._threads.load((thread_id, wanted))

    @cached_property
    def _emails(self) -> DataLoader[Key, mail_records.Email]:
        return _loader(lambda key: self._mail.get(key[0], wanted=key[1]))

    @cached_property
    def _threads(self) -> DataLoader[Key, mail_records.Thread]:
        return _loader(lambda key: self._mail.thread(key[0], wanted=key[1]))


def _loader(read: Callable[[Key], Awaitable[Found]]) -> DataLoader[Key, Found]:
    async def read_all(keys: list[Key]) -> list[Found]:
        found = await asyncio.gather(*map(read, keys), return_exceptions=True)
        return cast("list[Found]", found)  # the loader raises the exceptions among them

    return DataLoader(read_all)
