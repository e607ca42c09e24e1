"""Failures of the process itself: an unavailable database, and a command that cannot be done."""

from collections.abc import Mapping
from types import MappingProxyType

from gateway.version import VERSION
from policy.refusals import Refusal
from policy.vocabulary import Code


class Overloaded(Refusal):
    """
    503: the request was shed, or the database did not answer.

    Without the database, authorization could be neither granted nor refused.
    """

    code = Code.OVERLOADED

    def __init__(self) -> None:
        super().__init__("The service is overloaded. Try again shortly.")


class CommandError(Exception):
    """A command failed for a reason that its message states and the operator may read."""


# Module -> its extra, and what needs it.
_EXTRAS: Mapping[str, tuple[str, str]] = MappingProxyType(
    {"opentelemetry": ("traces", "AGW_TRACES_ENDPOINT")}
)


def may_be_missing(module: str) -> bool:
    """Return whether an installation may lack a module: an extra's, or the sandbox's."""
    package = module.partition(".")[0]
    return package == "sandbox" or package in _EXTRAS


def missing_module(module: str) -> str:
    """Name a module that is not installed, and what to do about it."""
    package = module.partition(".")[0]
    sentence = f"The module {package} is not installed."
    if package == "sandbox":  # the image leaves it out
        return f"{sentence} The sandbox and the demo run in a checkout: ./run demo."
    if package not in _EXTRAS:
        return sentence
    extra, user = _EXTRAS[package]
    wheel = f"access_gateway-{VERSION}-py3-none-any.whl"
    return (
        f"{sentence} {user} needs the extra packages: pip install 'dist/{wheel}[{extra}]' "
        "(./run build makes the wheel)."
    )
