"""`doctor`: checks everything that a deployment needs, and names the remedies."""

from dataclasses import asdict
from typing import Annotated

import typer

from gateway.cli.console import info, output, report, run_async
from gateway.cli.options import AsJson


def doctor(
    offline: Annotated[bool, typer.Option("--offline", help="Call no upstream.")] = False,
    as_json: AsJson = False,
) -> None:
    """
    Check settings, secrets, stores, clocks, connections and providers; change nothing.

    Every check is ok, warn or fail. Exit code 1 when any fails.
    """
    from gateway.cli.checkup.findings import Outcome
    from gateway.cli.checkup.runner import run_checks

    findings = run_async(lambda: run_checks(offline=offline))
    failed = [finding for finding in findings if finding.outcome is Outcome.FAIL]

    def write_text() -> None:
        for finding in findings:
            output(f"{finding.outcome.value:<5} {finding.name:<12} {finding.detail}")
            if finding.remedy is not None:
                output(f"{'':<18} {finding.remedy}")
        info(f"{len(failed)} of {len(findings)} checks failed.")

    report({"ok": not failed, "checks": list(map(asdict, findings))}, write_text, as_json=as_json)
    if failed:
        raise typer.Exit(1)
