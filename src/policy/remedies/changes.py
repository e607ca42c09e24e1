"""
Changes to one token's policy, in parts that cannot be parted further.

A part is what an operator would tick in one place: a switch, one word more in a list, a rule more
or less. Applied to stored settings and rules, parts give others; nothing is stored here.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from policy.rules import Rule
from policy.vocabulary import RuleAction, RuleType

NEW_RULE_ID = -1  # the id of rules that are not stored


@dataclass(frozen=True, slots=True)
class SetValue:
    """A setting takes another value."""

    setting: str
    value: object

    def __str__(self) -> str:
        return f"set {self.setting} to {_json(self.value)}"


@dataclass(frozen=True, slots=True)
class AddEntry:
    """A list of the settings gets one entry more; null, which means all, stays."""

    setting: str
    entry: object

    def __str__(self) -> str:
        return f"add {_json(self.entry)} to {self.setting}"


@dataclass(frozen=True, slots=True)
class AddAllowRule:
    """An allow rule more; *pattern* in raw form."""

    rule_type: RuleType
    pattern: str

    def __str__(self) -> str:
        return f"add a rule: allow {self.rule_type} {self.pattern}"


@dataclass(frozen=True, slots=True)
class RemoveRule:
    """A rule less."""

    rule: Rule

    def __str__(self) -> str:
        rule = self.rule
        return f"remove rule {rule.id}: {rule.action} {rule.rule_type} {rule.pattern}"


@dataclass(frozen=True, slots=True)
class ExtendLifetime:
    """The token ends at another time: *expires_at*, milliseconds since the epoch."""

    expires_at: int

    def __str__(self) -> str:
        return "let the token live for another day"


PolicyChange: TypeAlias = SetValue | AddEntry | AddAllowRule | RemoveRule | ExtendLifetime


def apply_to_settings(
    stored: Mapping[str, object], parts: Iterable[PolicyChange]
) -> dict[str, object]:
    """Return *stored* settings as *parts* change them."""
    changed = dict(stored)
    for part in parts:
        match part:
            case SetValue(setting, value):
                changed[setting] = value
            case AddEntry(setting, entry):
                listed = changed.get(setting)
                if listed is not None:
                    changed[setting] = [*(listed if isinstance(listed, list) else ()), entry]
    return changed


def apply_to_rules(stored: Sequence[Rule], parts: Sequence[PolicyChange]) -> Sequence[Rule]:
    """Return *stored* rules as *parts* change them; the same object when they do not."""
    gone = {part.rule.id for part in parts if isinstance(part, RemoveRule)}
    new = [part for part in parts if isinstance(part, AddAllowRule)]
    if not gone and not new:
        return stored
    added = [Rule(NEW_RULE_ID, part.rule_type, part.pattern, RuleAction.ALLOW) for part in new]
    return [*(rule for rule in stored if rule.id not in gone), *added]


def settings_patch(
    stored: Mapping[str, object], parts: Iterable[PolicyChange]
) -> dict[str, object]:
    """Return the settings that *parts* change, as the management API takes them."""
    changed = apply_to_settings(stored, parts)
    return {name: value for name, value in changed.items() if value != stored.get(name)}


def describe(parts: Sequence[PolicyChange]) -> str:
    """Say what *parts* change."""
    said = "; ".join(map(str, parts))
    return said[:1].upper() + said[1:] + "."


def _json(value: object) -> str:
    match value:
        case bool():
            return str(value).lower()
        case str():
            return value
        case Mapping():
            return ", ".join(f"{name} {_json(one)}" for name, one in value.items())
        case _:
            return str(value)
