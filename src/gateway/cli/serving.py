"""
`serve` without the library of the command line, which would stay in the memory of the server.

The options are those of `gateway.cli.commands.serve`. Whatever is not plain, help and wrong usage
among it, is left to that command.
"""

import gc
import os
import sys
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING

if TYPE_CHECKING:  # imported when it runs
    from gateway.store.database import Database

PORTS, WORKERS = range(65536), range(1, 65)
_NUMBERS = MappingProxyType({"--port": PORTS, "--admin-port": PORTS, "--workers": WORKERS})
_SWITCHES = MappingProxyType({"--migrate": "true", "--no-migrate": "false"})


def plain_options(words: Sequence[str]) -> Mapping[str, str] | None:
    """Return variable -> text of the options in *words*; None when one is not plain."""
    variables = {}
    remaining = iter(words)
    for word in remaining:
        if word in _SWITCHES:
            variables["AGW_MIGRATE"] = _SWITCHES[word]
            continue
        value = next(remaining, "")
        if word in _NUMBERS:
            is_plain = value.isdecimal() and len(value) <= 5 and int(value) in _NUMBERS[word]
        else:
            is_plain = word == "--host" and value != "" and not value.startswith("-")
        if not is_plain:
            return None
        variables[f"AGW_{word[2:].replace('-', '_').upper()}"] = value
    return variables


def run(variables: Mapping[str, str]) -> None:
    """Serve until told to stop; the exit codes are those of every command."""
    gc.disable()  # until the server tunes it: see `gateway.cli.main.run`
    try:
        serve(variables)
    except KeyboardInterrupt:
        sys.exit(130)
    except Exception as problem:
        from gateway.cli.console import tell_failure

        if not tell_failure(problem):
            raise
        sys.exit(1)
    finally:
        gc.freeze()  # else the end of the process collects it all
        gc.enable()


def serve(variables: Mapping[str, str]) -> None:
    """Set *variables*, which workers read, too, and serve as the environment then says."""
    import asyncio

    from gateway import server
    from gateway.settings import Settings
    from gateway.store.database import Database, guard_processes
    from gateway.unknown_variables import unknown_variables

    os.environ.update(variables)
    settings = Settings().ready_to_serve()
    for sentence in unknown_variables():
        print(sentence, file=sys.stderr)
    settings.data_dir.mkdir(parents=True, exist_ok=True)
    database = Database.open(settings.database, pooler=settings.database_pooler)
    guard_processes(database, settings.workers)
    # Before a worker would fail at it, with more words.
    asyncio.run(_prepare(database, migrates=settings.migrate))
    if settings.workers > 1:
        server.run_many(settings)
    else:
        server.run(settings)


async def _prepare(database: "Database", *, migrates: bool) -> None:
    from gateway.store.clock_check import ClockCheck

    try:
        await database.prepare(migrates=migrates)
        await ClockCheck(database).require_agreement()
    finally:
        await database.close()
