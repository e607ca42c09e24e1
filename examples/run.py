"""
Generate clients from a demo's own descriptions, check their types, and run the examples with them.

usage: run.py [NAME …]

NAME is a folder beside this file. The descriptions are those of the demo's token `full`:
`/api/access/openapi.json` and `/api/access/schema.graphql`. After each example this script reads
what the example sent, created and uploaded. Installed generators and generated code are below
`.clients/`; the generators are installed again when a lock file changes. The exit status is 1 when
any example failed.
"""

import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import time
import urllib.request
import venv
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from types import MappingProxyType

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent
TARGET = ROOT / ".clients"
PYTHON = TARGET / "python" / ("Scripts" if os.name == "nt" else "bin")
NODE = TARGET / "node"
LOCKS = ("requirements.lock", "package.json", "package-lock.json", ".npmrc")
# Example -> the commands that generate its client, check its types and run it.
COMMANDS: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "python_rest": (
            (
                "openapi-python-client generate --meta none"
                " --path openapi.json --output-path rest_client"
            ),
            "mypy example.py rest_client",
            "python example.py NAME",
        ),
        "python_graphql": (
            "ariadne-codegen",
            "mypy example.py graphql_client",
            "python example.py NAME",
        ),
        "typescript_rest": (
            "openapi-typescript openapi.json --output generated/rest.ts",
            "tsc --project .",
            "node built/example.js NAME",
        ),
        "typescript_graphql": (
            "graphql-codegen --config codegen.yml",
            "tsc --project .",
            "node built/example.js NAME",
        ),
    }
)
_ROUND = re.compile(
    r"listed 2 emails\nread with a body\n"
    r"sent (?P<email>\S+)\ncreated (?P<item>\S+)\nuploaded (?P<file>\S+)\n\Z"
)


class Failed(Exception):
    """A step failed; the message has its output."""


@dataclass(frozen=True, slots=True)
class Demo:
    """A running demo, and the access token that the examples use."""

    url: str
    token: str

    def read(self, path: str) -> bytes:
        """Return the answer of a GET request."""
        url = path if "://" in path else self.url + path
        credential = {} if "://" in path else {"Authorization": f"Bearer {self.token}"}
        request = urllib.request.Request(url, headers=credential)
        with urllib.request.urlopen(request, timeout=60) as response:
            content: bytes = response.read()
        return content


def main(names: list[str]) -> int:
    """Run the examples *names*, all if there are none; return the exit status."""
    if unknown := [name for name in names if name not in COMMANDS]:
        print(f"There is no example {', '.join(unknown)}; there are {', '.join(COMMANDS)}.")
        return 2
    began = time.monotonic()
    try:
        install()
    except Failed as failure:
        print(failure)
        return 1
    print(f"== {time.monotonic() - began:.0f} s for the generators", flush=True)
    sys.path.insert(0, str(ROOT / "tests" / "helpers"))
    from demo_process import running  # noqa: PLC0415 - found by the line above

    with TemporaryDirectory() as folder, running(Path(folder)) as manifest:
        demo = Demo(manifest["baseUrl"], manifest["tokens"]["full"])
        with ThreadPoolExecutor(2) as workers:
            results = list(workers.map(lambda name: run_example(name, demo), names or COMMANDS))
    seconds = time.monotonic() - began
    print(f"{sum(results)} of {len(results)} clients work; {seconds:.0f} s", flush=True)
    return 0 if all(results) else 1


def install() -> None:
    """Install the generators of the lock files, unless they are installed already."""
    content = b"".join((HERE / name).read_bytes() for name in LOCKS)
    expected = hashlib.sha256(content + sys.version.encode()).hexdigest()
    stamp = TARGET / "installed"
    if stamp.is_file() and stamp.read_text() == expected:
        return
    shutil.rmtree(TARGET, ignore_errors=True)
    venv.create(TARGET / "python")
    uv = shutil.which("uv")
    pip = [sys.executable, "-m", "pip", "--python", str(PYTHON / "python"), "install"]
    installer = [uv, "pip", "install", "--python", str(PYTHON / "python")] if uv else pip
    run(*installer, "-q", "--require-hashes", "--only-binary", ":all:", "-r", LOCKS[0], cwd=HERE)
    NODE.mkdir()
    for name in LOCKS[1:]:
        shutil.copy(HERE / name, NODE / name)
    run("npm", "ci", "--silent", cwd=NODE)
    stamp.write_text(expected)


def run_example(name: str, demo: Demo) -> bool:
    """Generate, check and run one example, and print its output; return whether it worked."""
    began = time.monotonic()
    worked, output = True, ""
    try:
        folder = make_folder(name, demo)
        label = name.replace("_", "-")
        for command in COMMANDS[name]:
            words = [label if word == "NAME" else word for word in command.split()]
            output = run(*words, cwd=folder, GATEWAY_URL=demo.url, GATEWAY_TOKEN=demo.token)
        check(label, output, demo)
    except Failed as failure:
        worked, output = False, str(failure)
    print(f"== {name}: {time.monotonic() - began:.0f} s\n{output.rstrip()}", flush=True)
    return worked


def make_folder(name: str, demo: Demo) -> Path:
    """Return a new folder with the files of the example and the descriptions of the token."""
    folder = NODE / name  # below `node_modules`, where its imports are looked up
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(HERE / name, folder)
    if name.startswith("typescript"):
        shutil.copy(HERE / "tsconfig.json", folder)
    # The generator of the REST client runs ruff, which would apply this repository's rules.
    (folder / "ruff.toml").touch()
    (folder / "openapi.json").write_bytes(demo.read("/api/access/openapi.json"))
    (folder / "schema.graphql").write_bytes(demo.read("/api/access/schema.graphql"))
    return folder


def check(label: str, output: str, demo: Demo) -> None:
    """
    Read what an example says it sent, created and uploaded.

    Raises:
        Failed: The output lacks a step, or something does not have the name *label*.
    """
    ids = _ROUND.fullmatch(output)
    if ids is None:
        raise Failed(f"unexpected output:\n{output}")
    link = f"/api/access/collab/files/{ids['file']}/download"
    facts: Mapping[str, Callable[[], object]] = {
        "subject": lambda: _json(demo, f"/api/access/email/messages/{ids['email']}")["subject"],
        "item": lambda: _json(demo, f"/api/access/tasks/items/{ids['item']}")["item"]["name"],
        "file": lambda: demo.read(_json(demo, link)["downloadUrl"]).decode(),
    }
    for fact, read in facts.items():
        if (value := read()) != label:
            raise Failed(f"the {fact} is {value!r}, not {label!r}")


def _json(demo: Demo, path: str) -> dict:
    return json.loads(demo.read(path))


def run(*command: str | Path, cwd: Path, **variables: str) -> str:
    """
    Run a command with the installed programs on its path, and return its output.

    Raises:
        Failed: Its exit status is not 0.
    """
    path = os.pathsep.join(
        [str(PYTHON), str(NODE / "node_modules" / ".bin"), os.environ.get("PATH", "")]
    )
    completed = subprocess.run(
        [shutil.which(str(command[0]), path=path) or str(command[0]), *map(str, command[1:])],
        cwd=cwd,
        env={**os.environ, "PATH": path, **variables},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    if completed.returncode:
        raise Failed(f"{completed.stdout}\nThis step failed: {' '.join(map(str, command))}")
    return completed.stdout


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
