"""
What the demo keeps between starts, and tells: `demo.json` in its data folder, and the manifest.

Both hold secrets and are readable by the owner alone. Source: decisions 14 and 16.
"""

import fcntl
import json
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any

from sandbox.collab.store import FILES

STATE = "demo.json"
LOCK = "demo.lock"  # held alone by who makes or empties the folder, by others together
RESOURCES = (  # in this order: ids 1 to 5
    "main",
    "readOnly",
    "selectedSites",
    "empty",
    "secondTasks",
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
    """What `demo.json` keeps; *upstreams* is upstream name -> its access token."""

    admin_token: str
    secret_key: str
    operator_id: str
    tokens: Mapping[str, str]
    upstreams: Mapping[str, str]


class FolderTaken(Exception):
    """The message says what is in the way, and may be shown."""


@contextmanager
def opening(data: Path, *, anew: bool) -> Iterator[State | None]:
    """
    Hold *data* from now to the end of the process: alone within the block, then beside others.

    Yields:
        What an earlier start left; None when the block shall make it: *anew*, or anything of it
        is missing. Who comes meanwhile waits.

    Raises:
        FolderTaken: It would have to be made while others use it, or is no demo's.
    """
    ours = (data / LOCK).exists() or (data / STATE).exists()
    if not ours and (data / "gateway.db").exists():
        raise FolderTaken(f"The store in {data} is no demo's: give another folder with --data.")
    lock = os.open(data / LOCK, os.O_RDWR | os.O_CREAT, 0o600)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        fcntl.flock(lock, fcntl.LOCK_SH)
        state = None if anew else kept(data)
        if state is None:
            raise FolderTaken(
                f"Another process uses {data}: stop it first, or give another folder with --data."
            ) from None
        yield state
    else:
        yield None if anew else kept(data)
        fcntl.flock(lock, fcntl.LOCK_SH)


def reset(data: Path, *, upstreams: bool = True) -> None:
    """Remove what earlier demos left in *data* (the *upstreams* too?), and nothing else."""
    for pattern in ("gateway.db*", STATE, *(("sandbox.db*", f"{FILES}/*") if upstreams else ())):
        for path in data.glob(pattern):
            path.unlink()


def kept(data: Path) -> State | None:
    """Return what an earlier start left; None when anything of it is missing."""
    try:
        state = State(**json.loads((data / STATE).read_text(encoding="utf-8")))
    except (OSError, ValueError, TypeError):
        return None
    whole = (data / "gateway.db").is_file() and (data / "sandbox.db").is_file()
    return state if whole else None


def keep(data: Path, state: State) -> None:
    """Write *state* into the data folder, for the next start."""
    write(data / STATE, asdict(state))


def describe(state: State, base_url: str) -> dict[str, Any]:
    """Return the manifest of decisions 14 and 16."""
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


def write(path: Path, value: Mapping[str, Any]) -> None:
    """Write *value* as JSON for the owner alone, whole or not at all."""
    partial = path.with_name(path.name + ".partial")
    descriptor = os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(descriptor, "w", encoding="utf-8") as file:
        json.dump(value, file, indent=2)
    partial.replace(path)
