"""The preferences of the `Prefer` header (RFC 7240)."""

import re
from collections.abc import Collection, Sequence

import msgspec

from policy.vocabulary import Code
from rest_compat.errors import problem

EFFECT_HEADER = "if-effect"

_DIGEST = re.compile(r"[\x21-\x7e]{1,255}")
MAX_WAIT = 60  # seconds; docs/spec/held-writes.md#waiting
_SWITCHES = frozenset({"dry-run", "graphql", "cost"})  # preferences without a value


class Preferences(msgspec.Struct, frozen=True, kw_only=True):
    """
    Preferences of the caller (docs/spec/requests.md#preferences).

    Attributes:
        strict: `handling=strict`: unknown query parameters are refused.
        lenient: `handling=lenient`: they are ignored, though the token refuses them.
        partial_fail: `partial=fail`: an error instead of a response without some providers.
        dry_run: `dry-run`: a write is only described (docs/spec/dry-run.md). Reads ignore it.
        graphql: `graphql`: the document of the call instead of its response.
        cost: `cost`: what the request cost, in its response; `POST /graphql` alone reads it.
        wait: `wait=30`: seconds that the caller waits for a person; 0: it does not.
    """

    strict: bool = False
    lenient: bool = False
    partial_fail: bool = False
    dry_run: bool = False
    graphql: bool = False
    cost: bool = False
    wait: int = 0

    @property
    def applied(self) -> tuple[tuple[str, str], ...]:
        """The `Preference-Applied` header; empty without preferences."""
        if self == NO_PREFERENCES:
            return ()
        names = [
            name
            for name, applied in (
                ("handling=strict", self.strict),
                ("handling=lenient", self.lenient),
                ("partial=fail", self.partial_fail),
                ("dry-run", self.dry_run),
                ("graphql", self.graphql),
                ("cost", self.cost),
            )
            if applied
        ]
        names += [f"wait={self.wait}"] if self.wait else []
        return (("Preference-Applied", ", ".join(names)),)


NO_PREFERENCES = Preferences()


def read_preferences(values: Collection[str]) -> Preferences:
    """Read the values of all `Prefer` headers; unknown ones are ignored, as RFC 7240 asks."""
    if not values:
        return NO_PREFERENCES
    stated = _stated(values)
    return Preferences(
        strict="handling=strict" in stated,
        lenient="handling=lenient" in stated and "handling=strict" not in stated,
        partial_fail="partial=fail" in stated,
        dry_run="dry-run" in stated,
        graphql="graphql" in stated,
        wait=_wait(stated),
    )


def _wait(stated: Collection[str]) -> int:
    """Return the seconds of `wait`, at most `MAX_WAIT`; 0 for what is not a number."""
    values = [name.removeprefix("wait=") for name in stated if name.startswith("wait=")]
    numbers = [int(value) for value in values if value.isascii() and value.isdigit()]
    return min(MAX_WAIT, *numbers) if numbers and len(values[0]) < 10 else 0


def wants_cost(values: Collection[str]) -> bool:
    """Return whether a request to `POST /graphql` asks what it costs."""
    return "cost" in _stated(values)


def _stated(values: Collection[str]) -> set[str]:
    """
    Return the preferences as `name=value`, in lower case; the names alone of those without values.

    A switch with a value is stated too (`dry-run=true`, and `dry-run=""`, which RFC 7240 takes for
    `dry-run`): a caller who asks for a dry run in another way must not write.
    """
    parts = (part.split(";", 1)[0] for value in values for part in value.split(","))
    stated = {"".join(part.split()).replace('"', "").lower() for part in parts}
    return stated | {name for name, _, _ in (part.partition("=") for part in stated)} & _SWITCHES


def read_expected_effect(values: Sequence[str]) -> str | None:
    """
    Read the digest from the values of `If-Effect`; None when the header was not sent.

    Raises:
        Refusal: 400 `INVALID_PARAMETER`: two values, or not 1 to 255 visible ASCII characters.
    """
    if not values:
        return None
    if len(values) > 1 or not _DIGEST.fullmatch(values[0].strip()):
        reason = "must be one digest, as a dry run returned it"
        raise problem(
            Code.INVALID_PARAMETER, f"If-Effect {reason}.", details=[("If-Effect", f"It {reason}.")]
        )
    return values[0].strip().strip('"')
