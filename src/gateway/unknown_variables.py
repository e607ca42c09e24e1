"""`AGW_` variables that no setting reads: a typing error would otherwise go unnoticed."""

import os
from collections.abc import Iterable

from pydantic_settings import DotEnvSettingsSource

from gateway.settings import Settings
from policy.vocabulary import nearest

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
    meant = nearest(name, known)
    hint = f"; did you mean {meant}?" if meant else "."
    return f"{name[:100]} is not a setting{hint}"
