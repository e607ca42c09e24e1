"""
`RuleSet`: which collab resources a token may reach (docs/spec/rules.md).

The rules of a token are compiled once into dictionaries keyed by what they match, so that a
decision costs the same at 10 rules and at 100,000. Every fact has three states: known, known to be
absent, unknown. An unknown fact matches block rules and never allow rules, so a missing fact never
grants more.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from enum import Enum, auto
from functools import cached_property

import msgspec

from policy.rule_facts import Facts, Rule
from policy.rule_index import CONTAINER_TYPES, MATCHERS, RuleIndex
from policy.vocabulary import RuleAction, RuleType


class Reason(Enum):
    """Ground of a decision."""

    RULE = auto()
    UNKNOWN_FACT = auto()
    DEFAULT = auto()


class Disclosure(Enum):
    """
    Whether the existence of a resource may be disclosed, decided from its ids alone.

    DENIED: blocked whatever upstream reports, so upstream is not asked. DISCLOSED: the caller may
    learn whether it exists. UNDISCLOSED: only facts from upstream could allow it, so *missing* and
    *blocked* must look alike (docs/spec/reliability.md#existence).
    """

    DENIED = auto()
    DISCLOSED = auto()
    UNDISCLOSED = auto()


class Decision(msgspec.Struct, frozen=True):
    """
    Result of matching a resource against the rules.

    Attributes:
        rule_id: The rule that matched; None when the default decided.
    """

    allowed: bool
    reason: Reason
    rule_id: int | None = None


@dataclass(frozen=True)
class RuleSet:
    """The compiled rules of a token. *allow_by_default* is `collabAllowAllDefault`."""

    allow_by_default: bool
    allow: "RuleIndex"
    block: "RuleIndex"

    @classmethod
    def compile(cls, rules: Iterable[Rule], *, allow_by_default: bool) -> "RuleSet":
        """Compile *rules*, given in any order."""
        empty = cls(
            allow_by_default=allow_by_default, allow=RuleIndex(exact_drives=True), block=RuleIndex()
        )
        return empty.extended(rules)

    def extended(self, rules: Iterable[Rule]) -> "RuleSet":
        """
        Return this set with *rules*, in any order, whose ids are above all ids of this set.

        Costs only what the new rules cost: both sets share the indexes, which grow in place.
        """
        for rule in sorted(rules, key=lambda rule: rule.id):
            (self.allow if rule.action is RuleAction.ALLOW else self.block).add(rule)
        return RuleSet(self.allow_by_default, self.allow, self.block)

    def decide(self, facts: Facts) -> Decision:
        """Block rules win; then the default applies; then allow rules that certainly match."""
        blocked = self.block.match(facts)
        if blocked is not None:
            return Decision(allowed=False, reason=Reason.RULE, rule_id=blocked)
        possible = self.block.might_match(facts)
        if possible is not None:
            return Decision(allowed=False, reason=Reason.UNKNOWN_FACT, rule_id=possible)
        if self.allow_by_default:
            return Decision(allowed=True, reason=Reason.DEFAULT)
        allowed = self.allow.match(facts)
        if allowed is not None:
            return Decision(allowed=True, reason=Reason.RULE, rule_id=allowed)
        return Decision(allowed=False, reason=Reason.DEFAULT)

    def disclosure(self, ids: Facts, *, listing: bool = False) -> Disclosure:
        """
        Return what a caller may learn about a resource before its facts are read.

        *ids* hold what its id says; all other facts are UNKNOWN. *listing* asks about listing its
        contents.
        """
        if self.block.match(ids) is not None:
            return Disclosure.DENIED
        if self.allow_by_default or self.allow.match(ids) is not None:
            return Disclosure.DISCLOSED
        possible = self.allow.might_match(ids) is not None
        if possible or (listing and self.allow.can_match_below(ids)):
            return Disclosure.UNDISCLOSED
        return Disclosure.DENIED

    def may_contain_visible(self, container: Facts) -> bool:
        """
        Return whether something below *container* can be visible, so that it may be listed.

        True when the container itself is allowed, or in block-all mode when an allow rule can
        match below it (docs/spec/rules.md#containers).
        """
        if self.blocking_rule(container) is not None:
            return False
        return self.decide(container).allowed or self.allow.can_match_below(container)

    def allows_creation(self, parent: Facts, child: Facts) -> bool:
        """
        Return whether a new *child* may be created below *parent*.

        The parent must be allowed, or a container rule must allow the child; no block rule may
        match either of them (docs/spec/rules.md#creating-and-moving).
        """
        if self.blocking_rule(child) is not None or self.blocking_rule(parent) is not None:
            return False
        return self.decide(parent).allowed or self.allows_contents(child)

    def allows_contents(self, facts: Facts) -> bool:
        """
        Return whether everything in the containers of *facts* is allowed, block rules aside.

        True by default, or by a rule about a folder, library, site or list.
        """
        if self.allow_by_default:
            return True
        return any(MATCHERS[kind](self.allow, facts) is not None for kind in CONTAINER_TYPES)

    def blocking_rule(self, facts: Facts) -> int | None:
        """Return the id of the rule that blocks a resource with these facts, or None."""
        matching = self.block.match(facts)
        return self.block.might_match(facts) if matching is None else matching

    @property
    def has_block_rules(self) -> bool:
        """Whether there are any block rules."""
        return bool(self.block.lowest_ids)

    @property
    def unrestricted(self) -> bool:
        """Whether no rule and no default hides anything."""
        return self.allow_by_default and not self.has_block_rules

    @cached_property
    def rule_types(self) -> frozenset[RuleType]:
        """The rule types in use: facts for other types are not worth an upstream call."""
        return frozenset({*self.allow.lowest_ids, *self.block.lowest_ids})
