"""The two preferences of the `Prefer` header (RFC 7240)."""

from collections.abc import Collection
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Preferences:
    """
    Preferences of the caller (docs/spec/requests.md#preferences).

    Attributes:
        strict: `handling=strict`: unknown query and body keys are refused.
        partial_fail: `partial=fail`: an error instead of a response without some providers.
    """

    strict: bool = False
    partial_fail: bool = False

    @property
    def applied(self) -> tuple[tuple[str, str], ...]:
        """The `Preference-Applied` header; empty without preferences."""
        names = [
            name
            for name, applied in (
                ("handling=strict", self.strict),
                ("partial=fail", self.partial_fail),
            )
            if applied
        ]
        return (("Preference-Applied", ", ".join(names)),) if names else ()


NO_PREFERENCES = Preferences()


def read_preferences(values: Collection[str]) -> Preferences:
    """Read the values of all `Prefer` headers; unknown ones are ignored, as RFC 7240 asks."""
    if not values:
        return NO_PREFERENCES
    stated = {
        part.split(";", 1)[0].replace(" ", "").replace('"', "").lower()
        for value in values
        for part in value.split(",")
    }
    return Preferences(strict="handling=strict" in stated, partial_fail="partial=fail" in stated)
