"""`AGW_` variables that no setting reads: a typing error would otherwise go unnoticed."""

import difflib
import os
from collections.abc import Iterable

from pydantic_settings import DotEnvSettingsSource

from gateway.settings import Settings

_PREFIX = "AGW_"
_OF_COMMANDS = ("AGW_TOKEN",)  # options of commands that are variables, too


def unknown_variables() -> list[str]:
    """
    Return a sentence per unknown `AGW_` variable of the environment and of the file `.env`.

    The sentence names the nearest known variable, if one is near; it never quotes a value.
    """
    known = [*(f"{_PREFIX}{name.upper()}" for name in Settings.model_fields), *_OF_COMMANDS]
    in_file = DotEnvSettingsSource(Settings).env_vars
    names = sorted({*_names(os.environ), *_names(in_file)} - set(known))
    return [_sentence(name, known) for name in names]


def _names(variables: Iterable[str]) -> list[str]:
    upper = (name.upper() for name in variables)  # settings are read in any case
    return [name for name in upper if name.startswith(_PREFIX)]


def _sentence(name: str, known: list[str]) -> str:
    nearest = difflib.get_close_matches(name[:100], known, n=1)
    hint = f"; did you mean {nearest[0]}?" if nearest else "."
    return f"{name[:100]} is not a setting{hint}"
