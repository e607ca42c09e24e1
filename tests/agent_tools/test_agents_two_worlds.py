"""
Worlds that differ only in what a token may not see are the same to its agent.

Compared are descriptions, lists of tools, answers, errors and their sizes; the whole token's
answers differ, so that the comparison can fail.
"""

import json
import re

import edge_world
import pytest
import whole_world
from agent_client import Agent
from hidden_differences import BLOCKS, MASKS, change_folder, shown_without, token

CASES = {
    **{name: (change, shown_without(hidden), ()) for name, (change, hidden) in MASKS.items()},
    "folder": (change_folder, {}, BLOCKS),
}
CALLS = (
    ("find_mail", {}),
    ("find_mail", {"q": "lease"}),
    ("find_mail", {"from": "ana@home.example"}),
    ("read_mail", {"id": "{emailId}"}),
    ("read_mail", {"threadId": "{threadId}"}),
    ("find_person", {"name": "an"}),
    ("find_person", {"email": "ana@home.example"}),
    ("find_events", {"from": "2026-01-01", "to": "2027-01-01"}),
    ("find_tasks", {}),
    ("find_tasks", {"board": "{boardId}"}),
    ("find_tasks", {"id": "{itemId}"}),
    ("find_files", {}),
    ("find_files", {"folder": "{folderId}"}),
    ("get_file", {"id": "{fileId}"}),
    ("get_file", {"id": "{fileId}", "permissions": True}),
    ("send_mail", {"action": "reply", "id": "{emailId}"}),
    ("change_file", {"action": "move", "id": "{fileId}", "folder": "x"}),
)


@pytest.mark.slow
@pytest.mark.parametrize("case", CASES)
def test_what_is_hidden_changes_nothing_that_an_agent_sees(world_template, tmp_path, case):
    change, settings, rules = CASES[case]
    with whole_world.opened(world_template, tmp_path / "two") as world:
        edge_world.fill(world)
        masked, whole = token(world, settings, rules), token(world, {})
        before = answers(world, masked), answers(world, whole)

        change(world)

        after = answers(world, masked), answers(world, whole)
    assert after[0] == before[0]
    assert after[1] != before[1]


def answers(world, secret):
    """Return all that an agent gets, without what is random in each answer."""
    ids = {name: str(value) for name, value in world.parameters.items()}

    async def ask():
        async with world.world.client(secret) as client:
            agent = Agent(client)
            texts = [(await agent.send(name)).text for name in ("server/discover", "tools/list")]
            for name, arguments in CALLS:
                filled = json.loads(json.dumps(arguments))
                for key, value in filled.items():
                    if isinstance(value, str) and value.startswith("{"):
                        filled[key] = ids[value[1:-1]]
                texts.append(json.dumps(await agent.call(name, **filled)))
            return texts

    return [without_random(text) for text in world.runner.run(ask())]


def without_random(text):
    """Replace ids of fences and of decisions, cursors, and signatures of links, by their length."""
    random = (
        r"[0-9a-f]{16}(?=\\n|>>>| was)|decision [0-9a-f-]{36}|cursor: [\w.~=:+/-]+|tempauth=\S+"
    )
    return re.sub(random, lambda match: "…" * len(match[0]), text)
