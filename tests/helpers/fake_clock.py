"""A wrong clock for a process of its own, by libfaketime."""

from pathlib import Path

from preloaded_clock import clock_library, clock_variables
from programs import program


def faked_clock(offset: str | None = None, file: Path | None = None) -> dict[str, str]:
    """
    Return the environment variables of a process whose clock is *offset* ahead, as `+40s`.

    With a *file*, the offset stands in it (seconds, with a sign) and is read again every second.
    Skips the test where libfaketime is not installed, and fails it in CI.
    """
    library = clock_library()
    if library is None:
        program("faketime")  # skips or fails as the tests do
    clock = {"FAKETIME": offset} if offset is not None else {}
    if file is not None:
        clock = {"FAKETIME_TIMESTAMP_FILE": str(file), "FAKETIME_CACHE_DURATION": "1"}
    return clock_variables(str(library), **clock)
