"""Checks without network: settings, secrets, data folder, pages, SQLite, processes, address."""

import os
import platform
import stat
import tempfile
from collections.abc import Iterator
from pathlib import Path

from pydantic import ValidationError

import graph
from gateway.cli.checkup.findings import Finding, fail, ok, warn
from gateway.cli.console import settings_errors
from gateway.operations.overviews.deployment import State, further_settings, settings_that_matter
from gateway.provider_settings import client_variables
from gateway.secrets.keyring import Keyring, WeakSecret
from gateway.settings import NotConfigured, Settings
from gateway.store import sqlite
from gateway.store.serving import lacking
from gateway.unknown_variables import unknown_variables
from gateway.version import API_VERSION, VERSION
from providers.catalogue.tables import CONSENTS

_PAGES = ("explorer/index.html", "docs/index.html")
_ANYWHERE = frozenset({"0.0.0.0", "::"})  # noqa: S104 - compared, not bound
_TABLE = "docs/reference/settings.md lists every setting."


def read() -> tuple[Settings | None, list[Finding]]:
    """Read the settings; None when they cannot be read."""
    try:
        settings = Settings()
    except ValidationError as problem:
        return None, [fail("settings", " ".join(settings_errors(problem)), _TABLE)]
    if settings.rate_limits == "off":
        remedy = "Set AGW_RATE_LIMITS=on; off is for load tests."
        return settings, [warn("settings", "read, but there are no rate limits", remedy)]
    return settings, [ok("settings", "read")]


def version() -> Finding:
    """Name the versions; there is nothing to check."""
    return ok("version", f"{VERSION}, API {API_VERSION}, Python {platform.python_version()}")


def variables() -> Finding:
    """Check that each `AGW_` variable is a setting."""
    sentences = unknown_variables()
    if sentences:
        remedy = f"Correct or remove the variables. {_TABLE}"
        return warn("variables", " ".join(sentences), remedy)
    return ok("variables", "each AGW_ variable is a setting")


def essentials(settings: Settings) -> Finding:
    """Name the settings that matter for this deployment; all others have their defaults or not."""
    listed = settings_that_matter(settings)
    needed = [each.variable for each in listed if each.state is State.NEEDED]
    chosen = [each.variable for each in listed if each.state is State.SET]
    changed, hidden = further_settings(settings)
    detail = f"set: {', '.join(chosen) or 'none'}; {len(changed)} others are; {hidden} are not"
    if needed:
        return warn("essentials", detail, f"Set {', '.join(needed)}. {_TABLE}")
    return ok("essentials", detail)


def secrets(settings: Settings) -> Finding:
    """Check the admin token and the secret keys."""
    try:
        settings.ready_to_serve()
        keyring_of(settings)
    except (NotConfigured, WeakSecret) as problem:
        return fail("secrets", str(problem), "`access-gateway secret new` makes one.")
    texts = [part.strip() for part in _keys(settings).split(",") if part.strip()]
    if settings.admins.keys() & set(texts):
        remedy = "Give each its own: `access-gateway secret new`."
        return warn("secrets", "an admin token is also a secret key", remedy)
    if len(set(texts)) < len(texts):
        return warn("secrets", "a secret key is listed twice", "Remove one of them.")
    names = ", ".join(sorted(settings.admins.values()))
    return ok("secrets", f"admin tokens: {names}; secret keys: {len(texts)}")


def keyring_of(settings: Settings) -> Keyring:
    """
    Return the keys.

    Raises:
        WeakSecret: There is none, or a short one.
    """
    return Keyring.read(_keys(settings))


def folder(settings: Settings) -> Finding:
    """Check that the data folder is writable, and readable by its owner alone."""
    data_dir = settings.data_dir.absolute()
    existing = next(path for path in (data_dir, *data_dir.parents) if path.exists())
    if not existing.is_dir():
        return fail("data folder", f"{existing} is not a folder", "Set AGW_DATA_DIR to a folder.")
    try:
        with tempfile.TemporaryFile(dir=existing):
            pass
    except OSError as problem:
        remedy = "Make it writable for the user that serves, or set AGW_DATA_DIR."
        return fail("data folder", f"{existing}: {problem.strerror}", remedy)
    open_files = [file.name for file in data_dir.glob("*.db") if _open_to_others(file)]
    if open_files:
        remedy = f"chmod 600 {' '.join(open_files)}"
        return warn("data folder", f"others may read {', '.join(open_files)}", remedy)
    possible = "can be written" if data_dir == existing else "can be made"
    return ok("data folder", f"{data_dir} {possible}")


def pages() -> Finding:
    """Check that the explorer and the REST reference are installed."""
    static = Path(graph.__file__).parent / "static"
    missing = [page for page in _PAGES if not (static / page).is_file()]
    if missing:
        remedy = "Install the package again; it contains these files."
        return fail("pages", f"missing: {', '.join(missing)}", remedy)
    return ok("pages", "explorer and REST reference are there")


def library() -> Finding:
    """Check the SQLite library."""
    installed = ".".join(map(str, sqlite.version()))
    if sqlite.safe_for_many_processes():
        return ok("sqlite", f"SQLite {installed}")
    safe = ".".join(map(str, sqlite.SAFE_VERSION))
    return warn(
        "sqlite",
        f"SQLite {installed} may corrupt a file that several processes write",
        f"Serve with one worker and stop it for commands, or install {safe} (pysqlite3).",
    )


def processes(settings: Settings, *, embedded: bool) -> Finding:
    """Check that the configured processes can share database and counters; *embedded*: SQLite."""
    name, counting = "processes", settings.limiting_processes
    count = f"workers here: {settings.workers}, processes in all: {counting}"
    if settings.workers > 1 and embedded and not sqlite.safe_for_many_processes():
        return fail(name, f"{count}, on an old SQLite", "Set AGW_WORKERS=1 or use PostgreSQL.")
    if counting > settings.workers and embedded:
        remedy = "Set AGW_DATABASE_URL to a PostgreSQL that all machines reach."
        return fail(name, f"{count}, but the database is a file of this machine", remedy)
    if counting < settings.workers:
        remedy = "Set AGW_PROCESSES to the number on all machines, or leave it out."
        return warn(name, count, remedy)
    redis = settings.redis_url is not None
    if fault := lacking(counting, embedded=embedded, redis=redis):
        return warn(name, *fault)
    return ok(name, count)


def address(settings: Settings) -> Finding:
    """Check the address in links to this deployment."""
    if settings.public_url is None and settings.host in _ANYWHERE:
        remedy = "Set AGW_PUBLIC_URL to the address that clients use."
        return warn("address", f"links would lead to {settings.base_url}", remedy)
    if settings.public_url is None and settings.port == 0:
        return warn("address", "the port changes at every start", "Set AGW_PORT.")
    return ok("address", settings.base_url)


def oauth_clients(settings: Settings) -> Finding:
    """Check at which providers this deployment has an OAuth client, and name what is missing."""
    name = "oauth clients"
    if settings.sandbox:
        return ok(name, "those of the sandbox")
    ready, without_secret, without_id, absent = [], [], [], []
    # Services of one vendor share a client.
    vendors = {consent.vendor: code for code, consent in CONSENTS.items()}
    for vendor, provider in vendors.items():
        client_id, secret = settings.oauth_client(provider)
        variables = client_variables(provider)
        if client_id and secret:
            ready.append(vendor)
        elif client_id:
            without_secret.append(f"{vendor} ({variables[1]})")
        elif secret:
            without_id.append(f"{vendor} ({variables[0]})")
        else:
            absent.append(f"{vendor} ({variables[0]})")
    parts = {
        "ready": ready,
        "without a secret": without_secret,
        "a secret without an id": without_id,
        "not set up": absent,
    }
    detail = "; ".join(f"{state}: {', '.join(names)}" for state, names in parts.items() if names)
    if without_secret or without_id:
        remedy = (
            "Set the variables in brackets; only a public client of Microsoft works without a "
            "secret."
        )
        return warn(name, detail, remedy)
    return ok(name, detail)


def local(settings: Settings, *, embedded: bool) -> Iterator[Finding]:
    """Run every check of this module that needs readable settings."""
    yield version()
    yield variables()
    yield essentials(settings)
    yield secrets(settings)
    yield folder(settings)
    yield pages()
    yield library()
    yield processes(settings, embedded=embedded)
    yield address(settings)
    yield oauth_clients(settings)


def _keys(settings: Settings) -> str:
    return settings.secret_keys.get_secret_value() if settings.secret_keys else ""


def _open_to_others(file: Path) -> bool:
    return os.name != "nt" and bool(file.stat().st_mode & (stat.S_IRWXG | stat.S_IRWXO))
