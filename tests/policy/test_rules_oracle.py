"""
Compares the rule engine with the SQL oracle over generated worlds.

    TIMES=400 EXAMPLES=4000 pytest tests/policy/test_rules_oracle.py

checks that many seeded decisions, and that many Hypothesis worlds of about fifty decisions each.
"""

import os
import sys
from dataclasses import replace
from random import Random
from typing import TYPE_CHECKING

import generated_rules
import pytest
import rule_oracle
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from run_sizes import times

from policy.rules import Reason, RuleSet
from policy.vocabulary import RuleAction

if TYPE_CHECKING:
    from policy.rule_facts import Rule

DECISIONS = times(5_000)
EXAMPLES = settings.default.max_examples
SEED = int(os.environ.get("RULE_SEED", "20261120"))

chances = st.randoms(use_true_random=False)
# A world is many draws by nature, and stays so when it shrinks.
worlds = settings(
    max_examples=EXAMPLES,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.large_base_example],
)


def agreed(world):
    """Hold the engine's verdicts against the oracle's; return how many there were."""
    parents = generated_rules.parents_of(world.things)
    known = [generated_rules.facts(thing, parents) for thing in world.things]
    compiled = [
        RuleSet.compile(rules, allow_by_default=allow_all) for allow_all, rules in world.policies
    ]
    count = 0
    for policy, thing, allowed in rule_oracle.verdicts(world):
        decided = compiled[policy].decide(known[thing])
        assert decided.allowed is allowed, (world.policies[policy], world.things[thing], decided)
        count += 1
    return count


def test_it_decides_like_the_oracle_in_seeded_worlds():
    chance, count = Random(SEED), 0
    while count < DECISIONS:
        count += agreed(generated_rules.world(chance, policies=30))

    assert count >= DECISIONS


@pytest.mark.hypothesis  # as are functions with `given`: the slow suite has more examples
def test_it_decides_like_the_oracle_in_hypothesis_worlds():
    counts = []

    @worlds
    @given(chances)
    def agree(chance):
        counts.append(agreed(generated_rules.world(chance, policies=3)))

    agree()

    sys.stdout.write(f"{sum(counts)} decisions of Hypothesis, 0 mismatches\n")
    assert min(counts) > 0
    assert sum(counts) >= 30 * EXAMPLES


@pytest.mark.slow
@pytest.mark.hypothesis
def test_adding_a_block_dropping_an_allow_and_losing_a_fact_never_grant():
    counts = []

    @worlds
    @given(chances)
    def narrow(chance):
        counts.append(narrowed(chance))

    narrow()

    sys.stdout.write(f"{sum(counts)} pairs of decisions, nothing granted\n")
    assert sum(counts) >= 30 * EXAMPLES


def narrowed(chance):
    """Narrow a world's rules and lose its facts; return how many pairs were compared."""
    pairs = 0
    world = generated_rules.world(chance, policies=3)
    parents = generated_rules.parents_of(world.things)
    for allow_all, rules in world.policies:
        before = RuleSet.compile(rules, allow_by_default=allow_all)
        block = generated_rules.rule(chance, world.things, 99, RuleAction.BLOCK)
        dropped = chance.choice(rules) if rules else None
        fewer = [rule for rule in rules if rule is not dropped or rule.action is RuleAction.BLOCK]
        narrower = [
            RuleSet.compile([*rules, block], allow_by_default=allow_all),
            RuleSet.compile(fewer, allow_by_default=allow_all),
            RuleSet.compile(rules, allow_by_default=False),
        ]
        for thing in world.things:
            known = generated_rules.facts(thing, parents)
            if before.decide(known).allowed:
                continue
            assert not any(rule.decide(known).allowed for rule in narrower)
            for fact in generated_rules.FACTS:
                assert not before.decide(generated_rules.lose(known, fact)).allowed
            pairs += len(narrower) + len(generated_rules.FACTS)
    return pairs


@pytest.mark.slow
@worlds
@given(chances)
def test_a_container_without_possible_content_has_no_visible_content(chance):
    """It must never hide what is allowed: refusing to list needs that nothing below is visible."""
    world = generated_rules.world(chance, policies=4, lose=0.0)
    parents = generated_rules.parents_of(world.things)
    known = [generated_rules.facts(thing, parents) for thing in world.things]
    for allow_all, rules in world.policies:
        compiled = RuleSet.compile(rules, allow_by_default=allow_all)
        for place, container in zip(world.things, known, strict=True):
            blocked = compiled.decide(container).reason is not Reason.DEFAULT
            if blocked or compiled.may_contain_visible(container):
                continue
            inside = [
                thing
                for thing, facts in zip(world.things, known, strict=True)
                if facts is not container
                and lies_in(facts, place)
                and compiled.decide(facts).allowed
            ]
            assert inside == [], (place, rules)


def lies_in(facts, place):
    """Say whether what *one* is known of lies inside of *place*."""
    if place.item:
        return (place.drive, place.item) in facts.ancestors
    if place.drive:
        return facts.drive_id == place.drive and facts.item is not None
    if place.list:
        return facts.list_id == place.list and facts.list_item_id is not None
    return facts.site_id == place.site


@pytest.mark.slow
def test_the_order_of_rules_does_not_matter():
    chance = Random(7)
    for _ in range(50):
        world = generated_rules.world(chance)
        parents = generated_rules.parents_of(world.things)
        for allow_all, rules in world.policies:
            shuffled: list[Rule] = list(rules)
            chance.shuffle(shuffled)
            first = RuleSet.compile(rules, allow_by_default=allow_all)
            second = RuleSet.compile(shuffled, allow_by_default=allow_all)
            for thing in world.things:
                known = generated_rules.facts(thing, parents)
                assert first.decide(known) == second.decide(known)


def test_both_forms_of_the_oracle_say_the_same():
    chance = Random(11)
    for _ in range(5):
        world = generated_rules.world(chance)
        quick = list(rule_oracle.verdicts(world))
        assert quick == list(rule_oracle.verdicts(world, quick=False))


def test_every_kind_of_rule_and_loss_takes_part():
    """A generator that never makes a case proves nothing about it."""
    chance = Random(SEED)
    met, lost = set(), set()
    reasons = set()
    for _ in range(60):
        world = generated_rules.world(chance)
        parents = generated_rules.parents_of(world.things)
        for allow_all, rules in world.policies:
            compiled = RuleSet.compile(rules, allow_by_default=allow_all)
            for thing in world.things:
                decided = compiled.decide(generated_rules.facts(thing, parents))
                reasons.add((decided.reason, decided.allowed))
                lost |= thing.lost
                if decided.reason is Reason.RULE:
                    rule = next(rule for rule in rules if rule.id == decided.rule_id)
                    met.add((rule.rule_type, rule.action, ":" in rule.pattern))

    assert lost == set(generated_rules.FACTS)
    assert len(met) == 2 * (9 + 3)  # both actions; three types have two forms
    assert reasons == {
        (Reason.RULE, True),
        (Reason.RULE, False),
        (Reason.UNKNOWN_FACT, False),
        (Reason.DEFAULT, True),
        (Reason.DEFAULT, False),
    }


def test_an_item_without_facts_is_blocked_by_any_block_rule():
    chance = Random(3)
    world = generated_rules.world(chance)
    for thing in world.things:
        bare = replace(thing, lost=frozenset(generated_rules.FACTS))
        block = generated_rules.rule(chance, world.things, 1, RuleAction.BLOCK)
        compiled = RuleSet.compile([block], allow_by_default=True)
        known = generated_rules.facts(bare, generated_rules.parents_of(world.things))
        assert not compiled.decide(known).allowed
