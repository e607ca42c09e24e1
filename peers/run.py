"""
Run the vendors' own clients against the sandbox: every ``peers/*/check.py``, or those named.

Each folder has its own environment under ``.peers/``, made from its ``requirements.txt``, and from
its ``package-lock.json`` if it has one and npm is at hand, when these changed; or it uses the one of
the folder that its ``environment.txt`` names. Exits with 1 when any check failed.
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
    done = subprocess.run([python, str(folder / "check.py")], env=variables, check=False)
    return done.returncode == 0


def environment(folder: Path) -> Path | None:
    """Return the interpreter of the folder's environment, made or renewed; None when that failed."""
    other = folder / "environment.txt"
    if other.is_file():
        folder = HERE / other.read_text().strip()
    place = ENVIRONMENTS / folder.name
    python = place / ("Scripts" if os.name == "nt" else "bin") / "python"
    requirements = folder / "requirements.txt"
    locked = folder / "package-lock.json"
    known = requirements.read_bytes() + (locked.read_bytes() if locked.exists() else b"")
    wanted = hashlib.sha256(known).hexdigest()
    stamp = place / ".installed"
    if stamp.is_file() and stamp.read_text() == wanted and python.exists():
        return python
    venv.create(place, with_pip=True, clear=True)
    done = subprocess.run(
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
    if done.returncode:
        print(done.stderr, file=sys.stderr)
        return None
    if locked.exists() and shutil.which("npm"):
        for name in ("package.json", "package-lock.json", ".npmrc"):
            shutil.copy(folder / name, place / name)
        if subprocess.run(["npm", "ci", "--silent"], cwd=place, check=False).returncode:
            return None
    stamp.write_text(wanted)
    return python


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
