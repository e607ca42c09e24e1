"""Remedies for what collab rules block: remove the block rules, or add the narrowest allow rule."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from types import MappingProxyType

from policy.refusals import Blocked, BlockedAction
from policy.remedies.changes import AddAllowRule, PolicyChange, RemoveRule
from policy.rule_facts import UNKNOWN, Facts, Rule
from policy.rule_index import MATCHERS, POSSIBLE_MATCHERS, RuleIndex
from policy.vocabulary import RuleAction, RuleType


def rule_remedies(refusal: Blocked, rules: Sequence[Rule]) -> Iterable[tuple[PolicyChange, ...]]:
    """
    Return alternative changes that may lift *refusal*, the narrowest first.

    A block rule wins over every allow rule, so all blocking rules must be removed; when there are
    none, one allow rule must be added.
    """
    targets = [facts for facts in (refusal.child, refusal.facts) if facts is not None]
    blocking = _blocking_rules(rules, targets) if refusal.rule_id is not None else ()
    if blocking:
        return (tuple(RemoveRule(rule) for rule in blocking),)
    if refusal.facts is None:
        return ()
    return tuple((rule,) for rule in _ALLOW_RULES[refusal.action](refusal.facts))


def _blocking_rules(rules: Sequence[Rule], targets: Sequence[Facts]) -> list[Rule]:
    """Return every rule that blocks one of *targets*, lowest id first."""
    blocks = [rule for rule in rules if rule.action is RuleAction.BLOCK]
    index = RuleIndex()
    for rule in blocks:
        index.add(rule)
    types = index.lowest_ids
    blocking = dict[int, Rule]()
    for facts in targets:
        matching = {kind for kind in types if MATCHERS[kind](index, facts) is not None}
        possible = {kind for kind in types if POSSIBLE_MATCHERS[kind](index, facts) is not None}
        patterns = _exact_patterns(facts)
        for rule in blocks:
            kind, pattern = rule.rule_type, rule.pattern
            # There may be 100,000 rules: a cheap check comes before the exact one.
            likely = kind in matching and ("*" in pattern or pattern.casefold() in patterns)
            if (likely or kind in possible) and _blocks(rule, facts):
                blocking[rule.id] = rule
    return [blocking[rule_id] for rule_id in sorted(blocking)]


def _exact_patterns(facts: Facts) -> set[str]:
    """Return every pattern without an asterisk that can match *facts*, case-folded."""
    patterns = [facts.drive_id, facts.site_id, facts.list_id, facts.list_item_id, facts.mime_type]
    patterns += [facts.content_type_id, f"{facts.list_id}:{facts.list_item_id}"]
    items = [] if facts.ancestors is UNKNOWN else list(facts.ancestors)
    if facts.item is not UNKNOWN and facts.item is not None:
        items.append(facts.item)
    patterns += [text for drive, item in items for text in (item, f"{drive}:{item}")]
    patterns += [] if facts.label_ids is UNKNOWN else facts.label_ids
    return {text.casefold() for text in patterns if isinstance(text, str)}


def _blocks(rule: Rule, facts: Facts) -> bool:
    index = RuleIndex()
    index.add(rule)
    return index.match(facts) is not None or index.might_match(facts) is not None


def _rules_for_resource(facts: Facts) -> Iterable[AddAllowRule]:
    """Allow the resource by its most exact id; then its containers."""
    item, number, list_id = facts.item, facts.list_item_id, facts.list_id
    if item is not UNKNOWN and item is not None:
        yield AddAllowRule(RuleType.FILE_ID, f"{item[0]}:{item[1]}")
    if isinstance(number, str) and isinstance(list_id, str):
        yield AddAllowRule(RuleType.LIST_ITEM_ID, f"{list_id}:{number}")
    elif isinstance(list_id, str) and item is None:
        yield AddAllowRule(RuleType.LIST_ID, list_id)
    if isinstance(facts.drive_id, str):
        yield AddAllowRule(RuleType.DRIVE_ID, facts.drive_id)
    if isinstance(facts.site_id, str):
        yield AddAllowRule(RuleType.SITE_ID, facts.site_id)


def _rules_for_contents(facts: Facts) -> Iterable[AddAllowRule]:
    """Allow the contents too: an empty listing would be no remedy."""
    item = facts.item
    if item is not UNKNOWN and item is not None:
        yield AddAllowRule(RuleType.FOLDER, f"{item[0]}:{item[1]}")
    yield from _rules_for_resource(facts)


_ALLOW_RULES: Mapping[BlockedAction, Callable[[Facts], Iterable[AddAllowRule]]] = MappingProxyType(
    {
        BlockedAction.READ: _rules_for_resource,
        BlockedAction.LIST_CHILDREN: _rules_for_contents,
        BlockedAction.CREATE_CHILD: _rules_for_resource,
        BlockedAction.CHANGE_TREE: _rules_for_contents,
    }
)
