"""
`RuleChain`: the rules of a child token and of its ancestors (docs/spec/child-tokens.md#rules).

Allow rules of two tokens may overlap in ways that no single set of rules expresses, so every set is
asked, and the child may do what all of them allow.
"""

from collections.abc import Sequence
from functools import cached_property
from typing import Protocol

from policy.rule_facts import Facts
from policy.rules import Decision, Disclosure, RuleSet
from policy.vocabulary import RuleType


class Rules(Protocol):
    """The decisions on collab resources; those of `RuleSet`, which describes them."""

    @property
    def allow_by_default(self) -> bool: ...
    @property
    def has_block_rules(self) -> bool: ...
    @property
    def unrestricted(self) -> bool: ...
    @property
    def rule_types(self) -> frozenset[RuleType]: ...

    def decide(self, facts: Facts) -> Decision: ...
    def disclosure(self, ids: Facts, *, listing: bool = False) -> Disclosure: ...
    def may_contain_visible(self, container: Facts) -> bool: ...
    def allows_creation(self, parent: Facts, child: Facts) -> bool: ...
    def allows_contents(self, facts: Facts) -> bool: ...
    def blocking_rule(self, facts: Facts) -> int | None: ...


class RuleChain:
    """The rules of a token, then those of its parent and so on; all must allow."""

    def __init__(self, levels: Sequence[RuleSet]) -> None:
        self.levels = tuple(levels)

    def decide(self, facts: Facts) -> Decision:
        """Return the first refusal, or the token's own decision if no ancestor refuses."""
        decisions = [level.decide(facts) for level in self.levels]
        return next((decision for decision in decisions if not decision.allowed), decisions[0])

    def disclosure(self, ids: Facts, *, listing: bool = False) -> Disclosure:
        """Return DENIED if one denies, DISCLOSED if all disclose, else UNDISCLOSED."""
        disclosures = {level.disclosure(ids, listing=listing) for level in self.levels}
        if Disclosure.DENIED in disclosures:
            return Disclosure.DENIED
        return disclosures.pop() if len(disclosures) == 1 else Disclosure.UNDISCLOSED

    def may_contain_visible(self, container: Facts) -> bool:
        """Return whether none excludes that something below *container* is visible."""
        return all(level.may_contain_visible(container) for level in self.levels)

    def allows_creation(self, parent: Facts, child: Facts) -> bool:
        """Return whether all allow a new *child* below *parent*."""
        return all(level.allows_creation(parent, child) for level in self.levels)

    def allows_contents(self, facts: Facts) -> bool:
        """Return whether all allow everything in the containers of *facts*, block rules aside."""
        return all(level.allows_contents(facts) for level in self.levels)

    def blocking_rule(self, facts: Facts) -> int | None:
        """Return the id of a rule that blocks a resource with these facts, or None."""
        blocking = (level.blocking_rule(facts) for level in self.levels)
        return next((rule_id for rule_id in blocking if rule_id is not None), None)

    @property
    def allow_by_default(self) -> bool:
        """Whether all allow what no rule matches."""
        return all(level.allow_by_default for level in self.levels)

    @property
    def has_block_rules(self) -> bool:
        """Whether one of them has any block rules."""
        return any(level.has_block_rules for level in self.levels)

    @property
    def unrestricted(self) -> bool:
        """Whether no rule and no default hides anything."""
        return all(level.unrestricted for level in self.levels)

    @cached_property
    def rule_types(self) -> frozenset[RuleType]:
        """The rule types in use by any of them."""
        return frozenset().union(*(level.rule_types for level in self.levels))
