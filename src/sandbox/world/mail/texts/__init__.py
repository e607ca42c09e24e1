"""The prose of the world, kept as text files beside this module."""

from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from types import MappingProxyType

from sandbox.world.mail import screenplays


@cache
def conversation_scripts(name: str) -> tuple[screenplays.ConversationScript, ...]:
    """Return the stories told in ``<name>.txt``."""
    return screenplays.parse_scripts(prose(name))


@cache
def phrases() -> Mapping[str, tuple[str, ...]]:
    """Return the phrases of ``phrases.txt`` by their heading, one per line."""
    found: dict[str, tuple[str, ...]] = {}
    for chunk in prose("phrases").removeprefix("== ").split("\n== "):
        heading, *lines = chunk.strip().split("\n")
        found[heading] = tuple(lines)
    return MappingProxyType(found)


def prose(name: str) -> str:
    """Return the text of ``<name>.txt``."""
    return files(__name__).joinpath(f"{name}.txt").read_text(encoding="utf-8")
