"""Rules that are added to a compiled set decide as if all had been compiled at once."""

from hypothesis import given
from hypothesis import strategies as st

from policy.rule_facts import Facts, Rule
from policy.rules import RuleSet
from policy.vocabulary import RuleAction, RuleType

PATTERNS = ("b!D:1", "b!d:1", "D:1", "1", "image/*", "image/png", "list:2", "2")
FILES = [
    Facts(
        item=(drive, "1"),
        drive_id=drive,
        ancestors=frozenset({(drive, "1")}),
        site_id="1",
        list_id="list",
        list_item_id="2",
        mime_type=mime,
    )
    for drive in ("b!D", "b!d", "d")
    for mime in ("image/png", "text/plain")
]


@st.composite
def rule_lists(draw):
    parts = st.tuples(
        st.sampled_from(RuleType), st.sampled_from(PATTERNS), st.sampled_from(RuleAction)
    )
    return [
        Rule(number, *part) for number, part in enumerate(draw(st.lists(parts, max_size=12)), 1)
    ]


@given(rule_lists(), st.integers(0, 12), st.booleans())
def test_an_extended_set_is_the_compiled_one(rules, split, allow_by_default):
    whole = RuleSet.compile(rules, allow_by_default=allow_by_default)
    extended = RuleSet.compile(rules[:split], allow_by_default=allow_by_default)
    for facts in FILES:  # fills what the set remembers
        extended.decide(facts)
    for rule in rules[split:]:
        extended = extended.extended([rule])

    assert extended.rule_types == whole.rule_types
    assert [extended.decide(facts) for facts in FILES] == [whole.decide(facts) for facts in FILES]
