"""
Atomic changes of a token's policy: a setting, a list entry, a rule, the lifetime.

The functions apply changes to copies of stored settings and rules; nothing is stored here.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias, cast

from policy.rule_facts import Rule
from policy.vocabulary import RuleAction, RuleType

NEW_RULE_ID = -1  # id of rules that are not stored


@dataclass(frozen=True, slots=True)
class SetValue:
    """Give a setting another value; *account* is the connection whose setting it is, if any."""

    setting: str
    value: object
    account: int | None = None

    def __str__(self) -> str:
        return f"set {_path(self)} to {_json(self.value)}"


@dataclass(frozen=True, slots=True)
class AddEntry:
    """
    Add an entry to a list setting; a null list, which means all, stays null.

    *account* is the connection whose setting it is, if any.
    """

    setting: str
    entry: object
    account: int | None = None

    def __str__(self) -> str:
        entry = f"'{self.entry}'" if isinstance(self.entry, str) else _json(self.entry)
        return f"add {entry} to {_path(self)}"


@dataclass(frozen=True, slots=True)
class AddAllowRule:
    """Add an allow rule; *pattern* is in raw form."""

    rule_type: RuleType
    pattern: str

    def __str__(self) -> str:
        return f"add a rule: allow {self.rule_type} {self.pattern}"


@dataclass(frozen=True, slots=True)
class RemoveRule:
    """Remove a rule."""

    rule: Rule

    def __str__(self) -> str:
        rule = self.rule
        return f"remove rule {rule.id}: {rule.action} {rule.rule_type} {rule.pattern}"


@dataclass(frozen=True, slots=True)
class ExtendLifetime:
    """Move the end of the token to *expires_at*, in milliseconds since the epoch."""

    expires_at: int

    def __str__(self) -> str:
        return "extend the lifetime of the token by a day"


PolicyChange: TypeAlias = SetValue | AddEntry | AddAllowRule | RemoveRule | ExtendLifetime


def apply_to_settings(
    stored: Mapping[str, object], changes: Iterable[PolicyChange]
) -> dict[str, object]:
    """Return a copy of the *stored* settings with *changes* applied."""
    changed = dict(stored)
    for change in changes:
        if not isinstance(change, SetValue | AddEntry):
            continue
        if change.account is None:
            _apply(change, changed)
            continue
        accounts = cast("Mapping[str, Mapping[str, object]]", changed["accounts"])
        account = dict(accounts[str(change.account)])
        _apply(change, account)
        changed["accounts"] = {**accounts, str(change.account): account}
    return changed


def _apply(change: SetValue | AddEntry, settings: dict[str, object]) -> None:
    if isinstance(change, SetValue):
        settings[change.setting] = change.value
        return
    listed = settings.get(change.setting)
    if listed is not None:
        settings[change.setting] = [*(listed if isinstance(listed, list) else ()), change.entry]


def _path(change: SetValue | AddEntry) -> str:
    return (
        change.setting if change.account is None else f"accounts.{change.account}.{change.setting}"
    )


def apply_to_rules(stored: Sequence[Rule], changes: Sequence[PolicyChange]) -> Sequence[Rule]:
    """Return *stored* rules with *changes* applied; the same object when no rule changes."""
    removed = {change.rule.id for change in changes if isinstance(change, RemoveRule)}
    new = [change for change in changes if isinstance(change, AddAllowRule)]
    if not removed and not new:
        return stored
    added = [
        Rule(NEW_RULE_ID, change.rule_type, change.pattern, RuleAction.ALLOW) for change in new
    ]
    return [*(rule for rule in stored if rule.id not in removed), *added]


def settings_patch(
    stored: Mapping[str, object], changes: Iterable[PolicyChange]
) -> dict[str, object]:
    """Return the settings that *changes* alter, as a patch for the management API."""
    changed = apply_to_settings(stored, changes)
    return {name: value for name, value in changed.items() if value != stored.get(name)}


def describe(changes: Sequence[PolicyChange]) -> str:
    """Describe *changes* in one sentence."""
    text = "; ".join(map(str, changes))
    return text[:1].upper() + text[1:] + "."


def _json(value: object) -> str:
    match value:
        case bool():
            return str(value).lower()
        case str():
            return value
        case Mapping():
            return ", ".join(f"{name} {_json(member)}" for name, member in value.items())
        case _:
            return str(value)
