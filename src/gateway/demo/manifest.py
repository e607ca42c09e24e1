"""
The demo's state between starts (`demo.json` in its data folder), its manifest and its environment.

All hold secrets and are readable by the owner alone.
"""

import fcntl
import json
import os
import shlex
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any

from gateway.errors import CommandError
from sandbox.collab.store import FILES_FOLDER

STATE = "demo.json"
ENVIRONMENT = "environment"
LOCK = "demo.lock"  # exclusive for the process that creates or empties the folder, else shared
RESOURCES = (  # in this order: ids 1 to 6
    "main",
    "readOnly",
    "selectedSites",
    "empty",
    "secondTasks",
    "sharedMailbox",
)
UPSTREAMS = MappingProxyType(
    {
        "providerA": "provider-a",
        "providerB": "provider-b",
        "collab": "collab",
        "tasks": "tasks",
        "projects": "projects",
    }
)


@dataclass(frozen=True, kw_only=True)
class State:
    """The contents of `demo.json`; *upstreams* is upstream name -> its access token."""

    admin_token: str
    secret_key: str
    operator_id: str
    tokens: Mapping[str, str]
    upstreams: Mapping[str, str]


class FolderTaken(CommandError):
    """The data folder is another process's, or no demo's."""


@contextmanager
def locked_folder(data: Path, *, reset: bool) -> Iterator[State | None]:
    """
    Hold *data* until the process ends: exclusively within the block, shared afterwards.

    Yields:
        The state of an earlier start; None when the block has to create it, because of *reset* or
        because a part is missing. Processes that start meanwhile wait.

    Raises:
        FolderTaken: It would have to be created while others use it, or belongs to no demo.
    """
    is_demo = (data / LOCK).exists() or (data / STATE).exists()
    if not is_demo and (data / "gateway.db").exists():
        raise FolderTaken(f"The store in {data} is not a demo's: give another folder with --data.")
    lock = os.open(data / LOCK, os.O_RDWR | os.O_CREAT, 0o600)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        fcntl.flock(lock, fcntl.LOCK_SH)
        state = None if reset else read_state(data)
        if state is None:
            raise FolderTaken(
                f"Another process uses {data}: stop it first, or give another folder with --data."
            ) from None
        yield state
    else:
        yield None if reset else read_state(data)
        fcntl.flock(lock, fcntl.LOCK_SH)


def remove_stores(data: Path, *, upstreams: bool = True) -> None:
    """Remove the files of earlier demos in *data*; *upstreams*: those of the sandbox, too."""
    upstream_patterns = ("sandbox.db*", f"{FILES_FOLDER}/*") if upstreams else ()
    for pattern in ("gateway.db*", STATE, ENVIRONMENT, *upstream_patterns):
        for path in data.glob(pattern):
            path.unlink()


def read_state(data: Path) -> State | None:
    """Return the state of an earlier start; None when a part of it is missing."""
    try:
        state = State(**json.loads((data / STATE).read_text(encoding="utf-8")))
    except (OSError, ValueError, TypeError):
        return None
    complete = (data / "gateway.db").is_file() and (data / "sandbox.db").is_file()
    return state if complete else None


def write_state(data: Path, state: State) -> None:
    """Write *state* into the data folder for the next start."""
    write(data / STATE, asdict(state))


def describe(state: State, base_url: str) -> dict[str, Any]:
    """Return the manifest: addresses, ids and tokens."""
    return {
        "baseUrl": base_url,
        "internalBaseUrl": f"{base_url}/internal",
        "graphqlUrl": f"{base_url}/graphql",
        "adminToken": state.admin_token,
        "operatorId": state.operator_id,
        "resourceIds": [1],
        "resources": {name: number for number, name in enumerate(RESOURCES, start=1)},
        "tokens": dict(state.tokens),
        "upstreams": {
            name: {"url": f"{base_url}/sandbox/{path}", "accessToken": state.upstreams[name]}
            for name, path in UPSTREAMS.items()
        },
    }


def write_environment(data: Path, state: State, base_url: str) -> None:
    """Write what a shell needs to run commands on the demo's database, and the tokens by name."""
    variables = {
        "AGW_DATA_DIR": str(data.resolve()),
        "AGW_SANDBOX": "true",
        "AGW_PUBLIC_URL": base_url,
        "AGW_ADMIN_TOKEN": state.admin_token,
        "AGW_SECRET_KEYS": state.secret_key,
        "OPERATOR": state.operator_id,
        **{profile.upper(): text for profile, text in state.tokens.items()},
    }
    lines = (f"export {name}={shlex.quote(value)}\n" for name, value in variables.items())
    _write_text(data / ENVIRONMENT, "".join(lines))


def write(path: Path, value: Mapping[str, Any]) -> None:
    """Write *value* as JSON, readable by the owner alone, completely or not at all."""
    _write_text(path, json.dumps(value, indent=2))


def _write_text(path: Path, text: str) -> None:
    partial = path.with_name(path.name + ".partial")
    descriptor = os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(descriptor, "w", encoding="utf-8") as file:
        file.write(text)
    partial.replace(path)
