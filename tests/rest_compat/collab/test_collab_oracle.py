"""
Generated worlds: what callers are shown equals what the rule oracle allows.

    TIMES=20 CONTENT_SEED=1 \
        pytest tests/rest_compat/collab/test_collab_oracle.py

sets the number of worlds, and of rule sets for each.
"""

import os
import sys
from random import Random

import generated_content
import pytest
import world as worlds
from run_sizes import times
from visibility_by_rest import RestVisibilityChecker, find_searchable

from policy.vocabulary import RuleAction

WORLDS = times(1)
TOKENS = times(2)
SEED = int(os.environ.get("CONTENT_SEED", "20261120"))


@pytest.mark.slow
async def test_every_path_shows_exactly_what_the_oracle_allows(world_template, tmp_path):
    calls = 0
    for number in range(WORLDS):
        chance = Random(f"{SEED} {number}")
        async with worlds.opened(*world_template, tmp_path / f"world{number}") as world:
            generated = await generated_content.generate(world, chance)
            calls += await check_world(generated, chance, f"world {number}", TOKENS)

    sys.stdout.write(f"{WORLDS * TOKENS} tokens over {WORLDS} worlds, {calls} answers\n")
    assert calls > 100 * WORLDS * TOKENS


async def check_world(generated, chance, name, tokens):
    """Check one world with as many *tokens*; return the number of responses checked."""
    searchable = await find_searchable(generated, await generated.token([], allow_all=True))
    assert searchable["driveItem"] == {
        file for file in generated.files if file not in generated.roots
    }
    calls = 0
    for _ in range(tokens):
        api_rules, rules = generated_content.rules(generated, chance, chance.randint(1, 5))
        allow_all = chance.random() < 0.4
        blocks = [rule for rule in rules if rule.action is RuleAction.BLOCK]
        allowed, unblocked = generated.allowed([(allow_all, rules), (True, blocks)])
        token = await generated.token(api_rules, allow_all=allow_all)
        checker = RestVisibilityChecker(generated, token, allowed, unblocked, searchable)
        assert await checker.check_everything() == [], (name, allow_all, api_rules)
        calls += checker.calls
    return calls
