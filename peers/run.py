"""
Run the vendors' own clients against the sandbox: every ``peers/*/check.py``, or the named ones.

Each folder has its own environment under ``.peers/``, installed from its ``requirements.txt``, and
from its ``package-lock.json`` if it has one and npm is installed. The environment is rebuilt when
these files change. A folder with an ``environment.txt`` uses the environment of the folder that the
file names. The exit status is 1 when any check failed.
"""

import hashlib
import os
import shutil
import subprocess
import sys
import venv
from pathlib import Path

HERE = Path(__file__).resolve().parent
ENVIRONMENTS = HERE.parent / ".peers"


def main(names: list[str]) -> int:
    folders = sorted(path.parent for path in HERE.glob("*/check.py"))
    if names:
        folders = [folder for folder in folders if folder.name in names]
    failed = [folder.name for folder in folders if not check(folder)]
    print(f"{len(folders) - len(failed)} of {len(folders)} peers agree", flush=True)
    return 1 if failed or not folders else 0


def check(folder: Path) -> bool:
    print(f"== {folder.name}", flush=True)
    python = environment(folder)
    if python is None:
        return False
    variables = {**os.environ, "PEERS_PROJECT_PYTHON": sys.executable, "PYTHONPATH": str(HERE)}
    completed = subprocess.run([python, str(folder / "check.py")], env=variables, check=False)
    return completed.returncode == 0


def environment(folder: Path) -> Path | None:
    """Return the interpreter of the folder's environment, updated; None when that failed."""
    shared = folder / "environment.txt"
    if shared.is_file():
        folder = HERE / shared.read_text().strip()
    target = ENVIRONMENTS / folder.name
    python = target / ("Scripts" if os.name == "nt" else "bin") / "python"
    requirements = folder / "requirements.txt"
    locked = folder / "package-lock.json"
    content = requirements.read_bytes() + (locked.read_bytes() if locked.exists() else b"")
    expected = hashlib.sha256(content).hexdigest()
    stamp = target / ".installed"
    if stamp.is_file() and stamp.read_text() == expected and python.exists():
        return python
    venv.create(target, with_pip=True, clear=True)
    completed = subprocess.run(
        [
            python,
            "-m",
            "pip",
            "install",
            "--quiet",
            "--disable-pip-version-check",
            "-r",
            requirements,
        ],
        stderr=subprocess.PIPE,
        text=True,
        check=False,
    )
    if completed.returncode:
        print(completed.stderr, file=sys.stderr)
        return None
    if locked.exists() and shutil.which("npm"):
        for name in ("package.json", "package-lock.json", ".npmrc"):
            shutil.copy(folder / name, target / name)
        if subprocess.run(["npm", "ci", "--silent"], cwd=target, check=False).returncode:
            return None
    stamp.write_text(expected)
    return python


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
