"""
What the demo keeps between starts, and tells: `demo.json` in its data folder, and the manifest.

Both hold secrets and are readable by the owner alone. Source: decisions 14 and 16.
"""

import json
import os
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any

from providers.sandbox.collab.shelf import FILES

STATE = "demo.json"
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


def reset(data: Path) -> None:
    """Remove what earlier demos left in *data*, and nothing else."""
    for pattern in ("gateway.db*", "sandbox.db*", f"{FILES}/*", STATE):
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
