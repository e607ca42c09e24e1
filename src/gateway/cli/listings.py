"""Listings, read by the database's driver alone where the store is the embedded file."""

from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import TYPE_CHECKING, TypeVar

from gateway.cli.console import failures_as_sentences
from gateway.secrets.keyring import Keyring
from gateway.settings import Settings
from gateway.store import file_reader
from gateway.store.file_reader import FileReader

if TYPE_CHECKING:  # most of the time of a command
    from sqlmodel.ext.asyncio.session import AsyncSession

Result = TypeVar("Result")


def read_listing(
    from_file: Callable[[FileReader], Result],
    from_session: "Callable[[AsyncSession], Awaitable[Result]]",
) -> Result:
    """
    Return what *from_file* reads; failures become sentences and exit code 1.

    From PostgreSQL, from a file that must be created or upgraded first, and from one that the
    driver cannot read, *from_session* reads the same.
    """
    with failures_as_sentences():
        settings = Settings().ready_to_open()
        Keyring.read(settings.secret_keys.get_secret_value() if settings.secret_keys else "")
        if (path := file_reader.path_of(settings.database)) is not None:
            with (
                suppress(file_reader.Error),  # the session below says what is wrong
                file_reader.open_current(path) as reader,
            ):
                if reader is not None:
                    return from_file(reader)
    from gateway.cli.stores import read_store

    return read_store(from_session)
