"""
Run the peers, most of them the vendors' own clients against the sandbox: every
``peers/*/check.py``, or the named ones.

Each folder has its own environment under ``.peers/``, installed from its ``requirements.txt``, and
from its ``package-lock.json`` if it has one and npm is installed. The environment is rebuilt when
these files change. A folder with an ``environment.txt`` uses the environment of the folder that the
file names. Two checks run at a time; the output of each is printed when it has ended. The exit
status is 1 when any check failed.
"""

import hashlib
import os
import shutil
import subprocess
import sys
import time
import venv
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

HERE = Path(__file__).resolve().parent
ENVIRONMENTS = HERE.parent / ".peers"


def main(names: list[str]) -> int:
    folders = sorted(path.parent for path in HERE.glob("*/check.py"))
    if names:
        folders = [folder for folder in folders if folder.name in names]
    groups: dict[Path, list[Path]] = {}
    for folder in folders:
        groups.setdefault(environment_folder(folder), []).append(folder)
    # The environments with most packages take longest, so they come first.
    by_size = sorted(groups, key=lambda folder: -len((folder / "requirements.txt").read_bytes()))
    with ThreadPoolExecutor(2) as workers:
        failed = sum(workers.map(lambda folder: check_all(folder, groups[folder]), by_size), [])
    print(f"{len(folders) - len(failed)} of {len(folders)} peers agree", flush=True)
    return 1 if failed or not folders else 0


def environment_folder(folder: Path) -> Path:
    """Return the folder whose environment *folder* uses: itself, unless it names another."""
    shared = folder / "environment.txt"
    return HERE / shared.read_text().strip() if shared.is_file() else folder


def check_all(owner: Path, folders: Sequence[Path]) -> list[str]:
    """Run the checks that use the environment of *owner*; return the names of those that fail."""
    began = time.monotonic()
    python, problem = environment(owner)
    made = time.monotonic() - began
    failed = []
    for folder in folders:
        began = time.monotonic()
        status, output = (1, problem) if python is None else check(folder, python)
        seconds = time.monotonic() - began
        title = f"== {folder.name}: {made:.0f} s for the environment, {seconds:.0f} s for the check"
        print(f"{title}\n{output.rstrip()}", flush=True)
        made = 0
        if status:
            failed.append(folder.name)
    return failed


def check(folder: Path, python: Path) -> tuple[int, str]:
    """Run one check; return its exit status and its output."""
    variables = {**os.environ, "PEERS_PROJECT_PYTHON": sys.executable, "PYTHONPATH": str(HERE)}
    return run(python, folder / "check.py", env=variables)


def environment(folder: Path) -> tuple[Path | None, str]:
    """Return the interpreter of the folder's environment, updated; None, and why, on failure."""
    target = ENVIRONMENTS / folder.name
    python = target / ("Scripts" if os.name == "nt" else "bin") / "python"
    requirements = folder / "requirements.txt"
    locked = folder / "package-lock.json"
    content = requirements.read_bytes() + (locked.read_bytes() if locked.exists() else b"")
    expected = hashlib.sha256(content).hexdigest()
    stamp = target / ".installed"
    if stamp.is_file() and stamp.read_text() == expected and python.exists():
        return python, ""
    venv.create(target, clear=True)
    status, output = run(*installer(python), "-r", requirements)
    if not status and locked.exists() and shutil.which("npm"):
        for name in ("package.json", "package-lock.json", ".npmrc"):
            shutil.copy(folder / name, target / name)
        status, output = run("npm", "ci", "--silent", cwd=target)
    if status:
        return None, output
    stamp.write_text(expected)
    return python, ""


def installer(python: Path) -> list[str | Path]:
    """
    Return the command that installs into the environment of *python*.

    It is uv's where uv is installed, else that of pip in this environment, which is not copied into
    each. No bytecode is compiled: one client has 18,000 modules and imports a few hundred.
    """
    if uv := shutil.which("uv"):
        return [uv, "pip", "install", "--quiet", "--python", python]
    pip = [sys.executable, "-m", "pip", "--python", str(python), "install"]
    return [*pip, "--quiet", "--no-compile", "--disable-pip-version-check"]


def run(*command: str | Path, **options: object) -> tuple[int, str]:
    """Run a command; return its exit status, and its output with its errors."""
    completed = subprocess.run(
        command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False, **options
    )
    return completed.returncode, completed.stdout


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
