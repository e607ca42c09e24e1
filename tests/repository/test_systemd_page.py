"""The page on systemd is executed line by line, below a scratch root instead of `/`."""

import os
import re
import shutil
import signal
import subprocess
import time

import httpx
import pytest
from paths import REPOSITORY
from ports import free_port

PAGE = REPOSITORY / "docs/operate/deployment.md"
OF_ROOT = re.compile(r"(?<![\w.])/(?=(?:opt|etc|var)/)")
SECRETS = {"AGW_ADMIN_TOKEN": "a" * 64, "AGW_SECRET_KEYS": "b" * 64}


def commands():
    """Return the lines of the section's code blocks, without comments."""
    section = PAGE.read_text().partition("\n## systemd\n")[2].partition("\n## ")[0]
    blocks = re.findall(r"^```bash\n(.+?)^```$", section, re.MULTILINE | re.DOTALL)
    return [line.partition("  #")[0].rstrip() for block in blocks for line in block.splitlines()]


def run(root, line):
    done = subprocess.run(
        ["bash", "-euc", OF_ROOT.sub(f"{root}/", line)],
        cwd=REPOSITORY,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, f"{line}\n{done.stdout}{done.stderr}"


def fill_in(settings, values):
    """Write *values* behind the names that the operator fills in."""
    for name, value in values.items():
        text, count = re.subn(
            rf"^{name}=.*$", f"{name}={value}", settings.read_text(), flags=re.MULTILINE
        )
        assert count == 1, f"{name} is not a line of the example"
        settings.write_text(text)


def until_ready(url):
    for _ in range(600):
        try:
            response = httpx.get(f"{url}/readyz")
        except httpx.TransportError:
            time.sleep(0.1)
        else:
            return response.json()
    raise AssertionError("It did not answer.")


@pytest.mark.slow  # a wheel, an environment and a process
def test_the_page_installs_and_starts_a_gateway(tmp_path):
    for folder in ("opt", "etc/systemd/system", "var/lib/access-gateway"):
        (tmp_path / folder).mkdir(parents=True)
    for line in commands():
        if not line.startswith(("useradd", "systemctl")):
            run(tmp_path, line)
    settings = tmp_path / "etc/access-gateway/gateway.env"
    fill_in(settings, {**SECRETS, "AGW_PUBLIC_URL": "http://127.0.0.1"})
    unit = tmp_path / "etc/systemd/system/access-gateway@.service"
    unit.write_text(OF_ROOT.sub(f"{tmp_path}/", unit.read_text()))

    assert settings.stat().st_mode & 0o777 == 0o600
    if analyze := shutil.which("systemd-analyze"):
        verified = subprocess.run(
            [analyze, "verify", "--man=no", unit], capture_output=True, text=True, check=False
        )
        ours = [line for line in verified.stderr.splitlines() if "access-gateway" in line]
        assert ours == []

    port = free_port()
    [start] = re.findall(r"^ExecStart=(.+)$", unit.read_text(), re.MULTILINE)
    lines = [line for line in settings.read_text().splitlines() if line[:1].isalpha()]
    environment = dict(line.split("=", 1) for line in lines)
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


def test_no_page_installs_the_gateway_from_a_registry():
    """The name is free there: whoever took it would be installed by our own page."""
    files = [REPOSITORY / "README.md", REPOSITORY / "Dockerfile"]
    for folder in ("docs", "deploy", "src"):
        for ending in ("*.md", "*.py", "*.yaml", "*.service", "*.example"):
            files += (REPOSITORY / folder).rglob(ending)
    naming = re.compile(r"(?:pip|pipx|uv|uvx)[^\n'\"`]*(?:install|run) +['\"]?access-gateway\b")
    texts = {path: path.read_text("utf-8") for path in files}

    assert [path for path, text in texts.items() if naming.search(text)] == []
