"""`doctor`: looks at everything a deployment needs, and says what to do."""

from typing import Annotated

import typer

from gateway.cli.console import answer, carried_out, give, say
from gateway.cli.options import AsJson


def doctor(
    offline: Annotated[bool, typer.Option("--offline", help="Call no upstream.")] = False,
    as_json: AsJson = False,
) -> None:
    """
    Check settings, secrets, stores, clocks, connections and upstreams; nothing is changed.

    Every check is ok, warn or fail. Exit code 1 when any fails.
    """
    from gateway.cli.checkup.findings import Outcome
    from gateway.cli.checkup.runner import findings

    found = carried_out(lambda: findings(offline=offline))
    failed = [one for one in found if one.outcome is Outcome.FAIL]

    def words() -> None:
        for one in found:
            give(f"{one.outcome.value:<5} {one.name:<12} {one.detail}")
            if one.remedy is not None:
                give(f"{'':<18} {one.remedy}")
        say(f"{len(failed)} of {len(found)} checks failed.")

    checks = [one.as_json for one in found]
    answer({"ok": not failed, "checks": checks}, words, as_json=as_json)
    if failed:
        raise typer.Exit(1)
