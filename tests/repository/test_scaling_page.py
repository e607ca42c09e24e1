"""The page on several processes is executed in a fresh clone, over PostgreSQL and Redis."""

import os
import re
import subprocess
from contextlib import ExitStack, contextmanager

import pytest
from database_servers import postgres_server, redis_server
from page_commands import clone, commands, until_ready
from ports import free_port

pytestmark = pytest.mark.slow

PAGE, HEADING = "docs/guides/scaling.md", "## Start two processes"


@contextmanager
def started(line, folder, environment):
    """Run a line of the page that serves, as in a terminal of its own."""
    with (folder / "serve.log").open("ab") as log:
        process = subprocess.Popen(
            ["bash", "-euc", f"exec {line}"], cwd=folder, env=environment, stdout=log, stderr=log
        )
    try:
        yield process
    finally:
        process.terminate()
        process.wait(120)


def exported(lines, folder, environment):
    """Return the environment of a shell that has run *lines*."""
    script = "\n".join([*lines, "env -0"])
    done = subprocess.run(
        ["bash", "-euc", script],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        check=True,
    )
    return dict(each.split("=", 1) for each in done.stdout.split("\0") if each)


def plain_environment(folder):
    """Return the environment without settings; `python3` is that of the clone."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("AGW_")}
    return {**kept, "PATH": f"{folder}/.venv/bin:{kept['PATH']}"}


@pytest.mark.parametrize("workers", [False, True], ids=["two ports", "workers"])
def test_the_page_starts_two_processes_that_share_all(workers, tmp_path):
    folder = clone(tmp_path)
    lines = commands(PAGE, HEADING)
    with ExitStack() as stack:
        postgres = stack.enter_context(postgres_server())
        redis = stack.enter_context(redis_server(tmp_path))
        ports = [free_port(), free_port()]
        for before, after in {
            "db.internal/": f"127.0.0.1:{postgres.port}/",
            "redis.internal:6379": f"127.0.0.1:{redis.port}",
            "8001": str(ports[0]),
            "8002": str(ports[1]),
        }.items():
            assert sum(before in line for line in lines) == 1, before
            lines = [line.replace(before, after) for line in lines]
        client = {"PGHOST": "127.0.0.1", "PGPORT": str(postgres.port), "PGUSER": "postgres"}
        environment = exported(
            [line for line in lines if line.startswith(("psql", "export"))],
            folder,
            {**plain_environment(folder), **client},
        )
        serving = [line for line in lines if line.startswith("./run serve")]
        [doctor] = [line for line in lines if line.startswith("./run doctor")]
        assert len(lines) == 1 + 5 + len(serving) + 1
        if workers:
            [line] = re.findall(r"`(\./run serve --workers)", (folder / PAGE).read_text())
            serving = [f"{line} 2 --port {ports[0]}"]
            del ports[1]
        for line in serving:
            stack.enter_context(started(line, folder, environment))
        for port in ports:
            assert until_ready(f"http://127.0.0.1:{port}")["status"] == "ready"
        shown = subprocess.run(
            ["bash", "-euc", f"{doctor} --offline"],
            cwd=folder,
            env=environment,
            capture_output=True,
            text=True,
            check=False,
        )

        assert shown.returncode == 0, shown.stdout
        [named] = re.findall(r"^ok +serving +(.+)$", shown.stdout, re.MULTILINE)
        assert named.count("(process ") == 2
        assert not re.search(r"^(warn|fail) +(processes|serving|redis)", shown.stdout, re.MULTILINE)
        assert "serve one database" not in (folder / "serve.log").read_text()
