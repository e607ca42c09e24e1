"""The page on systemd is executed line by line, below a scratch root instead of `/`."""

import os
import re
import shutil
import signal
import subprocess

import pytest
from page_commands import SECRETS, below, commands, fill_in, run, until_ready, variables
from paths import REPOSITORY
from ports import free_port

THIS = "repository/test_systemd_page.py"


@pytest.mark.slow  # a wheel, an environment and a process
def test_the_page_installs_and_starts_a_gateway(tmp_path):
    for folder in ("opt", "etc/systemd/system", "var/lib/access-gateway"):
        (tmp_path / folder).mkdir(parents=True)
    for line in commands("docs/operate/deployment.md", "## systemd"):
        if not line.startswith(("useradd", "systemctl")):
            run(below(tmp_path, line))
    settings = tmp_path / "etc/access-gateway/gateway.env"
    fill_in(settings, {**SECRETS, "AGW_PUBLIC_URL": "http://127.0.0.1"})
    unit = tmp_path / "etc/systemd/system/access-gateway@.service"
    unit.write_text(below(tmp_path, unit.read_text()))

    assert settings.stat().st_mode & 0o777 == 0o600
    if analyze := shutil.which("systemd-analyze"):
        verified = subprocess.run(
            [analyze, "verify", "--man=no", unit], capture_output=True, text=True, check=False
        )
        ours = [line for line in verified.stderr.splitlines() if "access-gateway" in line]
        assert ours == []

    port = free_port()
    [start] = re.findall(r"^ExecStart=(.+)$", unit.read_text(), re.MULTILINE)
    environment = variables(settings)
    environment["AGW_DATA_DIR"] = str(tmp_path / "var/lib/access-gateway")
    process = subprocess.Popen(
        start.replace("%i", str(port)).split(),
        cwd=tmp_path,
        env={"PATH": os.environ["PATH"], **environment},
        stderr=subprocess.DEVNULL,
    )
    try:
        assert until_ready(f"http://127.0.0.1:{port}")["status"] == "ready"
    finally:
        process.terminate()
        assert process.wait(60) in {0, -signal.SIGTERM}  # uvicorn raises it again after its end


FROM_REGISTRY = re.compile(
    r"\b(?:pip3?|pipx|uvx?|poetry|pdm|conda|apt|apt-get|brew|npm|npx|docker (?:pull|run)|helm)\b"
    r"(?![^\n]*(?:--tag|exec))[^\n`]*?[ '\"]access[-_]gateway(?=[\s'\"`\[=:@]|$)"
)


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("/opt/access-gateway/bin/pip install access-gateway", True),
        ("pip install 'access-gateway[traces]'", True),
        ("uvx access-gateway serve", True),
        ("docker pull access-gateway:1.0.0", True),
        ("/opt/access-gateway/bin/pip install --no-deps dist/access_gateway-*.whl", False),
        ("pip install 'dist/access_gateway-1.0-py3-none-any.whl[traces]'", False),
        ("docker compose exec gateway access-gateway doctor", False),
    ],
)
def test_names_in_registries_are_recognised(text, names):
    assert bool(FROM_REGISTRY.search(text)) is names


def test_nothing_installs_the_gateway_from_a_registry():
    """The name is free there: whoever took it would be installed by our own page."""
    listed = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard"],
        cwd=REPOSITORY,
        capture_output=True,
        text=True,
        check=True,
    )
    texts = (".md", ".py", ".yaml", ".service", ".example", ".toml", ".html", "run", "Dockerfile")
    names = [
        name
        for name in listed.stdout.splitlines()
        if name.endswith(texts) and "static/" not in name and name != f"tests/{THIS}"
    ]
    found = {
        f"{name}: {match[0]}"
        for name in names
        if (REPOSITORY / name).is_file()
        for match in FROM_REGISTRY.finditer((REPOSITORY / name).read_text("utf-8"))
    }

    assert len(names) > 500
    assert found == set()
