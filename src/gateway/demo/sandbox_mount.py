"""The sandbox upstreams at `/sandbox` of this process. Source: decisions 14."""

from starlette.types import ASGIApp, Receive, Scope, Send

from providers.http.origins import Origins


def forgetting(sandbox: ASGIApp, clients: Origins) -> ASGIApp:
    """
    Return *sandbox* such that setting or clearing a fault begins anew.

    What *clients* remember of the upstreams' health (a throttle's end, an open breaker) was about
    the faults before: it would outlast them, and refuse calls that upstream would answer.
    """

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        await sandbox(scope, receive, send)
        if scope["type"] == "http" and _changes_faults(scope):
            clients.forget_all()

    return app


def _changes_faults(scope: Scope) -> bool:
    path: str = scope["path"].removeprefix(scope.get("root_path", ""))
    method: str = scope["method"]
    return method != "GET" and path.split("/")[1:2] == ["faults"]
