"""What would let pass what collab rules block: rules less, or the narrowest rule more."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from types import MappingProxyType

from policy.refusals import Blocked, BlockedAction
from policy.remedies.changes import AddAllowRule, PolicyChange, RemoveRule
from policy.rules import MATCHERS, POSSIBLE_MATCHERS, UNKNOWN, Facts, Rule, RuleIndex
from policy.vocabulary import RuleAction, RuleType


def rule_remedies(refusal: Blocked, rules: Sequence[Rule]) -> Iterable[tuple[PolicyChange, ...]]:
    """
    Return what may let pass what *refusal* stopped, the narrowest first.

    A block wins over every allow, so all that block must go; without any, one allow must come.
    """
    about = [facts for facts in (refusal.child, refusal.facts) if facts is not None]
    blocking = _blocking(rules, about) if refusal.rule_id is not None else ()
    if blocking:
        return (tuple(RemoveRule(rule) for rule in blocking),)
    if refusal.facts is None:
        return ()
    return tuple((rule,) for rule in _NARROWEST[refusal.action](refusal.facts))


def _blocking(rules: Sequence[Rule], about: Sequence[Facts]) -> list[Rule]:
    """Return the block rules each of which keeps out what one of these facts is of."""
    blocks = [rule for rule in rules if rule.action is RuleAction.BLOCK]
    whole = RuleIndex()
    for rule in blocks:
        whole.add(rule)
    found = dict[int, Rule]()
    for facts in about:
        sure = {one for one in whole.lowest_ids if MATCHERS[one](whole, facts) is not None}
        lost = {one for one in whole.lowest_ids if POSSIBLE_MATCHERS[one](whole, facts) is not None}
        named = _named(facts)
        for rule in blocks:
            kind, pattern = rule.rule_type, rule.pattern
            # There may be 100,000 of them: few are looked at closely.
            near = kind in sure and ("*" in pattern or pattern.casefold() in named)
            if (near or kind in lost) and _blocks(rule, facts):
                found[rule.id] = rule
    return [found[rule_id] for rule_id in sorted(found)]


def _named(facts: Facts) -> set[str]:
    """Return every pattern without an asterisk that can be about these facts."""
    found = [facts.drive_id, facts.site_id, facts.list_id, facts.list_item_id, facts.mime_type]
    found += [facts.content_type_id, f"{facts.list_id}:{facts.list_item_id}"]
    items = [] if facts.ancestors is UNKNOWN else list(facts.ancestors)
    if facts.item is not UNKNOWN and facts.item is not None:
        items.append(facts.item)
    found += [text for drive, item in items for text in (item, f"{drive}:{item}")]
    found += [] if facts.label_ids is UNKNOWN else facts.label_ids
    return {text.casefold() for text in found if isinstance(text, str)}


def _blocks(rule: Rule, facts: Facts) -> bool:
    alone = RuleIndex()
    alone.add(rule)
    return alone.match(facts) is not None or alone.might_match(facts) is not None


def _seen(facts: Facts) -> Iterable[AddAllowRule]:
    """Allow the thing itself, by what says most exactly which it is; then what it lies in."""
    item, number, of = facts.item, facts.list_item_id, facts.list_id
    if item is not UNKNOWN and item is not None:
        yield AddAllowRule(RuleType.FILE_ID, f"{item[0]}:{item[1]}")
    if isinstance(number, str) and isinstance(of, str):
        yield AddAllowRule(RuleType.LIST_ITEM_ID, f"{of}:{number}")
    elif isinstance(of, str) and item is None:
        yield AddAllowRule(RuleType.LIST_ID, of)
    if isinstance(facts.drive_id, str):
        yield AddAllowRule(RuleType.DRIVE_ID, facts.drive_id)
    if isinstance(facts.site_id, str):
        yield AddAllowRule(RuleType.SITE_ID, facts.site_id)


def _listed(facts: Facts) -> Iterable[AddAllowRule]:
    """Allow what lies in it: a listing that shows nothing would be of no use."""
    item = facts.item
    if item is not UNKNOWN and item is not None:
        yield AddAllowRule(RuleType.FOLDER, f"{item[0]}:{item[1]}")
    yield from _seen(facts)


_NARROWEST: Mapping[BlockedAction, Callable[[Facts], Iterable[AddAllowRule]]] = MappingProxyType(
    {
        BlockedAction.READ: _seen,
        BlockedAction.LIST_CHILDREN: _listed,
        BlockedAction.CREATE_CHILD: _seen,
        BlockedAction.CHANGE_TREE: _listed,
    }
)
