"""
Another clock for a process, by libfaketime.

The library is preloaded directly. The `faketime` program refuses to run when an earlier process of
the same number was killed, because it finds that process's semaphore; the library alone goes on.
"""

from pathlib import Path


def clock_library() -> str | None:
    """Return the path of libfaketime for processes with threads; None: it is not installed."""
    libraries = sorted(Path("/usr/lib").glob("*/faketime/libfaketimeMT.so.1"))
    return str(libraries[0]) if libraries else None


def clock_variables(library: str, **clock: str) -> dict[str, str]:
    """Return the environment of a process with another clock; *clock* are variables of faketime."""
    # The clock that libraries measure pauses with would be moved, too.
    return {"LD_PRELOAD": library, "FAKETIME_DONT_FAKE_MONOTONIC": "1", **clock}
