"""
Programs of other projects that tests run: where they are, and which of their versions tests know.

A test whose program is missing, or is there in other versions alone, is left out with a sentence
that names program and version; in CI it fails.
"""

import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import NoReturn, Protocol

import pytest
from paths import REPOSITORY

# Installed by `.ci/run`, from the locks; elsewhere by hand.
CALENDAR_SERVERS = REPOSITORY / ".peers/calendar_servers/bin"
CALENDAR_LOCK = REPOSITORY / "tests/servers/caldav/requirements.lock"
VALIDATORS = REPOSITORY / ".peers/manifests/bin"
VALIDATOR_LOCK = REPOSITORY / "tests/repository/manifests/requirements.lock"
_VERSION = re.compile(r"\d+(?:\.\d+)+")


@dataclass(frozen=True)
class Needed:
    """
    What the tests need of a program.

    Attributes:
        since: The oldest version that fits.
        before: The oldest newer one that does not fit; "" if none is known.
        folders: Where it may be besides the path; searched first when it is `locked`.
        locked: The file that pins its version; no other one fits.
        asked: The command that prints the version; its first word is a program beside this one.
        names: Other names of the program.
    """

    since: str = ""
    before: str = ""
    folders: tuple[str, ...] = ("/usr/sbin",)
    locked: Path | None = None
    asked: tuple[str, ...] = ("", "--version")
    names: tuple[str, ...] = ()

    def wanted(self, name: str) -> str:
        """Return the versions that fit, for a sentence."""
        if self.locked is not None:
            return f"{_pinned(self.locked, name)}, of {self.locked.relative_to(REPOSITORY)}"
        return f"from {self.since} on{f', before {self.before}' if self.before else ''}"

    def fits(self, name: str, version: str) -> bool:
        """Return whether a version fits; it need not be one."""
        if self.locked is not None:
            return version == _pinned(self.locked, name)
        if not version or _parts(version) < _parts(self.since):
            return False
        return not self.before or _parts(version) < _parts(self.before)


_POSTGRES = Needed("15", folders=tuple(map(str, sorted(Path("/usr/lib/postgresql").glob("*/bin")))))
_CALENDAR_SERVER = Needed(folders=(str(CALENDAR_SERVERS),), locked=CALENDAR_LOCK)
_VALIDATOR = Needed(folders=(str(VALIDATORS),), locked=VALIDATOR_LOCK)
NEEDED = {
    "check-jsonschema": _VALIDATOR,
    "chromium": Needed("120", names=("chromium-browser",)),
    "dnsmasq": Needed("2.80"),
    "faketime": Needed("0.9.8"),
    "initdb": _POSTGRES,
    "kubernetes-validate": _VALIDATOR,
    "nginx": Needed("1.19.5", asked=("", "-v")),  # the first that has the option -e
    "pg_isready": _POSTGRES,
    "pgbouncer": Needed("1.18", "2"),
    "postfix": Needed("3.4", "4", asked=("postconf", "-dh", "mail_version")),  # maillog_file
    "postgres": _POSTGRES,
    "radicale": _CALENDAR_SERVER,
    "redis-server": Needed("7"),
    "xandikos": _CALENDAR_SERVER,
}


def program(name: str) -> str:
    """Return the path of a program in a version that the tests know; else leave the test out."""
    found, others = find(name, os.environ.get("PATH", ""))
    if found is None:
        state = f"only in version {', '.join(others)}" if others else "not"
        leave_out(f"{name} is {state} installed; the tests need {NEEDED[name].wanted(name)}")
    return found


@cache
def find(name: str, path: str) -> tuple[str | None, tuple[str, ...]]:
    """Return the program in *path* or its own folders that fits, and versions that do not."""
    needed, others = NEEDED[name], []
    for candidate in _candidates(name, needed, path):
        version = _version(candidate, needed)
        if needed.fits(name, version):
            return candidate, ()
        others.append(version or "unknown")
    return None, tuple(dict.fromkeys(others))


class OfDemo(Protocol):
    """A server that the demo starts too, which looks for the program by itself."""

    def missing(self) -> str | None:
        """Return why there can be none; None when there can."""


def require(*servers: OfDemo) -> None:
    """Leave the test out where one of the demo's servers is missing, or is another version's."""
    for server in servers:
        if (reason := server.missing()) is not None:
            leave_out(reason)


def leave_out(reason: str) -> NoReturn:
    """Skip a test whose server cannot run here; in CI it fails."""
    if os.environ.get("CI") == "true":
        pytest.fail(f"{reason}; CI must not skip its tests")
    pytest.skip(reason)


def _candidates(name: str, needed: Needed, path: str) -> Iterator[str]:
    own, listed = list(needed.folders), path.split(os.pathsep)
    for folder in own + listed if needed.locked else listed + own:
        for each in (name, *needed.names):
            if folder and (found := shutil.which(each, path=folder)):
                yield found


def _version(candidate: str, needed: Needed) -> str:
    """Ask a program for its version; "" when it tells none."""
    teller, *words = needed.asked
    command = [str(Path(candidate).with_name(teller)) if teller else candidate, *words]
    try:
        done = subprocess.run(
            command,
            capture_output=True,
            text=True,
            check=False,
            timeout=60,
            stdin=subprocess.DEVNULL,
        )
    except OSError:
        return ""
    version = _VERSION.search(done.stdout) or _VERSION.search(done.stderr)
    return version[0] if version else ""


@cache
def _pinned(lock: Path, name: str) -> str:
    return re.findall(rf"^{name}==(\S+)", lock.read_text(), re.MULTILINE)[0]


def _parts(version: str) -> tuple[int, ...]:
    return tuple(map(int, version.split(".")))
