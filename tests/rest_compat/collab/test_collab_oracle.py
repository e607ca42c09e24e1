"""
The oracle of rules against what callers are really shown, over worlds made by chance.

    CONTENT_WORLDS=200 CONTENT_TOKENS=6 CONTENT_SEED=1 pytest tests/collab/test_collab_oracle.py

makes as many worlds, and as many sets of rules for each.
"""

import os
import sys
from random import Random

import generated_content
import world as worlds
from visibility_by_rest import Shown, found_by_search

from policy.vocabulary import RuleAction

WORLDS = int(os.environ.get("CONTENT_WORLDS", "1"))
TOKENS = int(os.environ.get("CONTENT_TOKENS", "2"))
SEED = int(os.environ.get("CONTENT_SEED", "20261120"))


async def test_every_path_shows_exactly_what_the_oracle_allows(world_template, tmp_path):
    calls = 0
    for number in range(WORLDS):
        chance = Random(f"{SEED} {number}")
        async with worlds.opened(*world_template, tmp_path / f"world{number}") as world:
            ruled = await generated_content.made(world, chance)
            calls += await looked_at(ruled, chance, f"world {number}")

    sys.stdout.write(f"{WORLDS * TOKENS} tokens over {WORLDS} worlds, {calls} answers\n")
    assert calls > 100 * WORLDS * TOKENS


async def looked_at(ruled, chance, name):
    """Look at one world with several tokens; return how many answers were looked at."""
    found = await found_by_search(ruled, await ruled.token([], allow_all=True))
    assert found["driveItem"] == {one for one in ruled.files if one not in ruled.tops}
    calls = 0
    for _ in range(TOKENS):
        given, rules = generated_content.rules(ruled, chance, chance.randint(1, 5))
        allow_all = chance.random() < 0.4
        blocks = [one for one in rules if one.action is RuleAction.BLOCK]
        allowed, unblocked = ruled.allowed([(allow_all, rules), (True, blocks)])
        token = await ruled.token(given, allow_all=allow_all)
        shown = Shown(ruled, token, allowed, unblocked, found)
        assert await shown.everything() == [], (name, allow_all, given)
        calls += shown.calls
    return calls
