"""All routes of the management API, in the order of its description."""

from gateway.management import (
    connections,
    decisions,
    documents,
    explain,
    operators,
    resources,
    rules,
    tokens,
)

ROUTERS = (
    tokens.router,
    explain.router,
    rules.router,
    operators.router,
    resources.router,
    connections.router,
    documents.router,
    decisions.router,
)
