"""`seed`: the demo's invented accounts and tokens, in the store that the environment configures."""

from typing import TYPE_CHECKING

from gateway.cli.console import answer, carried_out, give, say
from gateway.cli.options import AsJson

if TYPE_CHECKING:
    from gateway.demo.launcher import Filled


def seed(as_json: AsJson = False) -> None:
    """
    Fill an empty store with the demo's operator, resources, connections and tokens.

    For `serve` with AGW_SANDBOX=true, on SQLite or PostgreSQL. The tokens' texts are shown once.
    """
    filled = carried_out(_filled)
    made = {
        "operatorId": filled.operator_id,
        "resources": dict(filled.resources),
        "tokens": dict(filled.tokens),
    }

    def words() -> None:
        say("This is the only time that the tokens' texts are shown:")
        for name, text in filled.tokens.items():
            give(f"{name}\t{text}")

    answer(made, words, as_json=as_json)


async def _filled() -> "Filled":
    from sqlmodel import select

    from gateway.cli.stores import opened
    from gateway.demo.launcher import fill
    from gateway.demo.world import open_sandbox
    from gateway.errors import CommandError
    from gateway.store.tables import Operator

    async with opened() as (database, keyring, settings):
        if not settings.sandbox:
            raise CommandError("These accounts are the sandbox's: set AGW_SANDBOX=true.")
        async with database.reading() as session:
            if (await session.exec(select(Operator.id).limit(1))).first() is not None:
                raise CommandError("The store is not empty: there are operators.")
        sandbox = open_sandbox(settings.data_dir, public_base=f"{settings.base_url}/sandbox")
        return await fill(database, keyring, sandbox)
