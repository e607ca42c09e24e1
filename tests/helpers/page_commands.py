"""Commands of documentation pages, run line by line below a folder of a test in place of `/`."""

import hashlib
import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path

import httpx
from paths import REPOSITORY

OF_ROOT = re.compile(r"(?<![\w.:/])/(?=(?:opt|etc|var|run)/)")
SECRETS = {"AGW_ADMIN_TOKEN": "a" * 64, "AGW_SECRET_KEYS": "b" * 64}


def commands(page: str, heading: str = "") -> list[str]:
    """Return the command lines of a page's `bash` blocks, those below *heading* if there is one."""
    text = (REPOSITORY / page).read_text("utf-8")
    if heading:
        _, found, text = text.partition(f"\n{heading}\n")
        assert found, f"{page} has no heading {heading}"
        text = text.partition(f"\n{heading.split(maxsplit=1)[0]} ")[0]
    blocks = re.findall(r"^```bash\n(.+?)^```$", text, re.MULTILINE | re.DOTALL)
    joined = "".join(blocks).replace("\\\n", " ")
    lines = [re.sub(r" {2,}# .*$", "", line).rstrip() for line in joined.splitlines()]
    assert any(lines), f"{page} has no commands below {heading}"
    return [line for line in lines if line]


def below(root: Path, text: str) -> str:
    """Return *text* with the system's folders below *root*."""
    return OF_ROOT.sub(f"{root}/", text)


def run(line: str, *, cwd: Path = REPOSITORY, **environment: str) -> str:
    """Run one line as the shell does; return its output."""
    done = subprocess.run(
        ["bash", "-euc", line],
        cwd=cwd,
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, f"{line}\n{done.stdout}{done.stderr}"
    return done.stdout


def clone(folder: Path) -> Path:
    """Return a copy of this checkout's files, whose environment has the packages of ours."""
    listed = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard", "-z"],
        cwd=REPOSITORY,
        capture_output=True,
        check=True,
    )
    copy = folder / "clone"
    for name in filter(None, listed.stdout.decode().split("\0")):
        if (REPOSITORY / name).is_file():
            (copy / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(REPOSITORY / name, copy / name)
    for cache in (REPOSITORY / "src").rglob("__pycache__"):  # else each clone compiles all modules
        shutil.copytree(cache, copy / cache.relative_to(REPOSITORY))
    python = copy / ".venv/bin/python"
    python.parent.mkdir(parents=True)
    python.write_text(f'#!/bin/sh\nPYTHONPATH={copy}/src exec {sys.executable} "$@"\n')
    python.chmod(0o755)
    (python.parent / "python3").symlink_to(sys.executable)  # the version that `./run` is run with
    lock = copy / "requirements.lock"
    stamp = hashlib.sha256(lock.read_bytes() + sys.version.encode()).hexdigest()
    (copy / f".venv/.installed-{lock.stem}").write_text(stamp)  # so that `./run` installs nothing
    return copy


def fill_in(settings: Path, values: Mapping[str, str]) -> None:
    """Write *values* behind the names that the operator fills in."""
    for name, value in values.items():
        text, count = re.subn(
            rf"^{name}=.*$", f"{name}={value}", settings.read_text(), flags=re.MULTILINE
        )
        assert count == 1, f"{name} is not a line of {settings.name}"
        settings.write_text(text)


def variables(settings: Path) -> dict[str, str]:
    """Return the variables of a file of settings."""
    lines = [line for line in settings.read_text().splitlines() if line[:1].isalpha()]
    return dict(line.split("=", 1) for line in lines)


def until_ready(url: str) -> dict[str, object]:
    """Return the body of `/readyz` once there is one."""
    for _ in range(1800):
        try:
            response = httpx.get(f"{url}/readyz")
        except httpx.TransportError:
            time.sleep(0.1)
        else:
            return dict(response.json())
    raise AssertionError("It did not answer.")
