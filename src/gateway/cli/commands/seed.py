"""`seed`: fills the configured store with the demo's accounts and tokens."""

from typing import TYPE_CHECKING

from gateway.cli.console import info, output, report
from gateway.cli.options import AsJson

if TYPE_CHECKING:
    from gateway.cli.stores import Store
    from gateway.demo.launcher import SeededAccounts


def seed(as_json: AsJson = False) -> None:
    """
    Fill an empty store with the demo's operator, resources, connections and tokens.

    For `serve` with AGW_SANDBOX=true, on SQLite or PostgreSQL. The tokens' texts are shown once.
    """
    from gateway.cli.stores import in_store

    seeded = in_store(_seed)
    value = {
        "operatorId": seeded.operator_id,
        "resources": dict(seeded.resources),
        "tokens": dict(seeded.tokens),
    }

    def write_text() -> None:
        info("This is the only time that the tokens' texts are shown:")
        for name, text in seeded.tokens.items():
            output(f"{name}\t{text}")

    report(value, write_text, as_json=as_json)


async def _seed(store: "Store") -> "SeededAccounts":
    from gateway.errors import CommandError

    if not store.settings.sandbox:
        raise CommandError("These accounts are the sandbox's: set AGW_SANDBOX=true.")
    from gateway.demo.launcher import fill, require_empty
    from gateway.demo.world import open_sandbox

    async with store.database.reading() as session:
        await require_empty(session)
    public_base = f"{store.settings.base_url}/sandbox"
    sandbox = open_sandbox(store.settings.data_dir, public_base=public_base)
    return await fill(store.database, store.keyring, sandbox)
