"""A process imports what it uses: a start and a command are short, and a worker small."""

import subprocess
import sys

import pytest

HEAVY = (
    *("alembic", "fastapi", "redis", "rich", "graphql", "sqlalchemy", "httpx"),
    *("typer", "starlette.requests"),
)
STORE = "from gateway.cli import stores; from gateway.operations import tokens"
SERVE = "import gateway.__main__, gateway.server"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("program", "imported"),
    [
        pytest.param("import gateway.cli.main", ("typer",), id="the help page"),
        pytest.param(STORE, ("sqlalchemy", "typer"), id="a command that works on the store"),
        pytest.param(SERVE, ("graphql", "sqlalchemy", "httpx"), id="a worker"),
    ],
)
def test_heavy_libraries_are_imported_when_they_are_used(program, imported):
    names = f"print(*[name for name in {HEAVY} if name in sys.modules])"
    done = subprocess.run(
        [sys.executable, "-c", f"import sys; {program}; {names}"],
        capture_output=True,
        text=True,
        check=True,
    )

    assert tuple(done.stdout.split()) == imported


async def test_the_framework_is_built_for_the_first_request_that_needs_it(client, gateway):
    await client.get("/healthz")
    await client.get("/api/access/email/messages")
    before = gateway.app._app
    answers = [await client.get(path) for path in ("/openapi.json", "/api/operators")]

    assert before is None
    assert [answer.status_code for answer in answers] == [200, 401]
