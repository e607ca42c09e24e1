"""The cost of a decision does not grow with the number of rules."""

from collections import Counter

import pytest

from policy.rule_facts import Facts, Rule
from policy.rules import RuleSet
from policy.vocabulary import RuleAction, RuleType

FILE = Facts(
    item=("b!d", "01FILE"),
    drive_id="b!d",
    ancestors=frozenset(("b!d", f"01F{number}") for number in range(8)),
    site_id="contoso.example,1,2",
    list_id="list",
    list_item_id="4",
    mime_type="application/pdf",
    label_ids=frozenset({"label"}),
    content_type_id="0x0101",
)


def rules(count):
    kinds = (RuleType.FILE_ID, RuleType.FOLDER, RuleType.DRIVE_ID, RuleType.LIST_ITEM_ID)
    return [
        Rule(number, kinds[number % 4], f"x{number // 4}:{number}", RuleAction.BLOCK)
        for number in range(1, count + 1)
    ]


def looked_at(compiled):
    """Count the entries that one decision looks at, in every table of rules."""
    looks = Counter()

    class Counted(dict):
        def get(self, key, default=None):
            looks["get"] += 1
            return super().get(key, default)

        def __iter__(self):
            for key in super().__iter__():
                looks["walk"] += 1
                yield key

        def values(self):
            for value in super().values():
                looks["walk"] += 1
                yield value

        def items(self):
            for pair in super().items():
                looks["walk"] += 1
                yield pair

    for index in (compiled.allow, compiled.block):
        for name, table in vars(index).items():
            if isinstance(table, dict):
                setattr(index, name, Counted(table))
    compiled.decide(FILE)
    return looks


@pytest.mark.slow
def test_it_looks_at_as_much_with_100000_rules_as_with_10():
    few = looked_at(RuleSet.compile(rules(12), allow_by_default=True))
    many = looked_at(RuleSet.compile(rules(100_000), allow_by_default=True))

    assert few == many
    assert many["walk"] == 0
