"""The checks of each kind and provider."""

from collections.abc import Mapping, Sequence
from types import MappingProxyType

from providers.account_checks import google, microsoft, tasks
from providers.account_checks.checks import ByHand, Check

CHECKS: Mapping[tuple[str, str], Sequence[Check | ByHand]] = MappingProxyType(
    {
        ("email", "PROVIDER_A"): google.MAIL,
        ("calendar", "PROVIDER_A"): google.CALENDAR,
        ("email", "PROVIDER_B"): microsoft.MAIL,
        ("calendar", "PROVIDER_B"): microsoft.CALENDAR,
        ("collab", "COLLAB"): microsoft.CONTENT,
        ("tasks", "BOARDS"): tasks.BOARDS,
        ("tasks", "PROJECTS"): tasks.PROJECTS,
    }
)
