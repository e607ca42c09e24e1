"""The two preferences a caller may state in a `Prefer` header (RFC 7240)."""

from collections.abc import Collection
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Preferences:
    """
    What the caller prefers.

    Attributes:
        strict: `handling=strict`: unknown query and body keys are refused (decisions 0).
        partial_fail: `partial=fail`: no answer with some providers missing (decisions 5.4).
    """

    strict: bool = False
    partial_fail: bool = False

    @property
    def applied(self) -> tuple[tuple[str, str], ...]:
        """The `Preference-Applied` header, or nothing."""
        names = [
            text
            for text, on in (("handling=strict", self.strict), ("partial=fail", self.partial_fail))
            if on
        ]
        return (("Preference-Applied", ", ".join(names)),) if names else ()


NONE = Preferences()


def read_preferences(values: Collection[str]) -> Preferences:
    """Read the values of all `Prefer` headers; what is not ours is ignored, as RFC 7240 asks."""
    if not values:
        return NONE
    stated = {
        part.split(";", 1)[0].replace(" ", "").replace('"', "").lower()
        for value in values
        for part in value.split(",")
    }
    return Preferences(strict="handling=strict" in stated, partial_fail="partial=fail" in stated)
