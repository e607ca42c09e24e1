"""Findings of axe, the checker of accessibility, on a page."""

from axe_playwright_python.sync_playwright import Axe

AXE = Axe()


def findings(page, options=None):
    """Return the serious and critical findings: rule, elements and what is wrong with the first."""
    violations = AXE.run(page, options=options).response["violations"]
    return [
        (
            violation["id"],
            [" ".join(map(str, node["target"])) for node in violation["nodes"]],
            violation["nodes"][0]["failureSummary"],
        )
        for violation in violations
        if violation["impact"] in ("serious", "critical")
    ]
