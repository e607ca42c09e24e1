"""A gateway made in this process, for commands that ask one themselves."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from pydantic import SecretStr

from gateway.app import Gateway, assemble
from gateway.http.server import sandbox_of
from gateway.secrets.keyring import new_secret
from gateway.settings import Settings


@asynccontextmanager
async def running() -> AsyncIterator[Gateway]:
    """
    Run a gateway as the environment configures it, for the length of the block.

    Raises:
        NotConfigured: There are no secret keys.
    """
    # Nobody manages it: what would admit them is made here and shown to nobody.
    nobody = {"admin_token": SecretStr(new_secret())}
    settings = Settings().ready_to_open().model_copy(update=nobody)
    settings.data_dir.mkdir(parents=True, exist_ok=True)
    async with assemble(settings, sandbox=sandbox_of(settings)).running() as gateway:
        yield gateway
