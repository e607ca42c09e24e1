"""
Data loaders of one request: a record that is read twice is fetched once.

Loaders live in the context, so records are never shared between tokens. The wanted attributes are
part of the key, because a record fetched for one selection may lack attributes of another.
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
Loaded = TypeVar("Loaded", bound=Record)


class Loaders:
    """
    Loaders of messages and threads; made inside the event loop, once per request.

    *single_use*: only one root field reads, once, so records need not be cached.
    """

    def __init__(self, mail: MergedMailbox, *, single_use: bool = False) -> None:
        self._mail = mail
        self._single_use = single_use

    async def email(self, email_id: str, wanted: frozenset[str]) -> mail_records.Email:
        """Read one message by its prefixed id."""
        if self._single_use:
            return await self._mail.get(email_id, wanted=wanted)
        return await self._emails.load((email_id, wanted))

    async def thread(self, thread_id: str, wanted: frozenset[str]) -> mail_records.Thread:
        """Read one thread by its prefixed id."""
        if self._single_use:
            return await self._mail.thread(thread_id, wanted=wanted)
        return await self._threads.load((thread_id, wanted))

    @cached_property
    def _emails(self) -> DataLoader[Key, mail_records.Email]:
        return _loader(lambda key: self._mail.get(key[0], wanted=key[1]))

    @cached_property
    def _threads(self) -> DataLoader[Key, mail_records.Thread]:
        return _loader(lambda key: self._mail.thread(key[0], wanted=key[1]))


def _loader(read: Callable[[Key], Awaitable[Loaded]]) -> DataLoader[Key, Loaded]:
    async def read_all(keys: list[Key]) -> list[Loaded]:
        results = await asyncio.gather(*map(read, keys), return_exceptions=True)
        return cast("list[Loaded]", results)  # the loader raises the exceptions among them

    return DataLoader(read_all)
