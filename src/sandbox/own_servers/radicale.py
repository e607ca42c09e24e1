"""The calendars of the demo: Radicale on a loopback port, without encryption."""

from dataclasses import dataclass
from pathlib import Path

from sandbox.own_servers import processes
from sandbox.own_servers.processes import Process, free_port

_SETTINGS = """
[server]
hosts = 127.0.0.1:{port}
[auth]
type = htpasswd
htpasswd_filename = {folder}/users
htpasswd_encryption = plain
[rights]
type = owner_only
[storage]
filesystem_folder = {folder}/data
[web]
type = none
"""


@dataclass(frozen=True, slots=True)
class Radicale:
    """A running server."""

    process: Process
    port: int

    @property
    def url(self) -> str:
        """The address for the gateway."""
        return f"http://127.0.0.1:{self.port}"


def missing() -> str | None:
    """Return why there can be no Radicale; None when there can."""
    if processes.program("radicale") is None:
        return "Radicale is not installed (package radicale, from Debian or by pip)."
    return None


def start(folder: Path, *, user: str, password: str) -> Radicale:
    """
    Start it over the calendars in `data` of *folder*.

    Raises:
        CannotStart: It does not start.
    """
    port = free_port()
    users, settings = folder / "users", folder / "settings"
    users.touch(mode=0o600)
    users.write_text(f"{user}:{password}\n")
    settings.write_text(_SETTINGS.format(folder=folder, port=port))
    processes.own(folder)
    command = [*processes.as_ordinary_user(), processes.program("radicale") or "", "--config"]
    return Radicale(Process([*command, settings], port=port, log=folder / "radicale.log"), port)
