"""The tools of a token with everything: their number and size, and every read."""

import whole_world
from agent_client import Agent, tokens


def test_the_full_list_is_small_and_its_reads_work(world_template, tmp_path):
    with whole_world.opened(world_template, tmp_path / "whole") as world:
        tools, answers = world.runner.run(_all_reads(Agent(world.client), world.parameters))

    assert tokens(tools) <= 1_800
    assert len(tools) == 14
    print(f"{tokens(tools):.0f} tokens")  # noqa: T201
    names = {name: sorted(data) for name, (data, _) in answers.items()}
    assert names == {
        "boards": ["boards"],
        "columns": ["board", "provider"],
        "content": ["hits"],
        "events": ["events"],
        "busy": ["calendars"],
        "facts": ["file"],
        "files": ["files"],
        "item": ["item", "provider"],
        "items": ["items"],
        "link": ["downloadUrl", "expiresAt", "fileName", "mimeType", "size", "webViewLink"],
        "permissions": ["permissions"],
        "attachment": ["contentType", "downloadUrl", "expiresAt", "id", "name", "size"],
    }
    assert answers["files"][1].startswith("shown 1; cursor: ")


async def _all_reads(agent, ids):
    mail, attachment = ids["emailId"], ids["attachmentId"]
    calls = {
        "boards": ("find_tasks", {}),
        "columns": ("find_tasks", {"board": ids["boardId"], "columns": True}),
        "items": ("find_tasks", {"board": ids["boardId"], "limit": 3}),
        "item": ("find_tasks", {"id": ids["itemId"]}),
        "files": ("find_files", {"limit": 1}),
        "content": ("find_files", {"search": "keel"}),
        "events": ("find_events", {}),
        "busy": ("find_events", {"busy": True, "from": "2026-11-01", "to": "2026-11-02"}),
        "facts": ("get_file", {"id": ids["fileId"]}),
        "link": ("get_file", {"id": ids["fileId"], "link": True}),
        "permissions": ("get_file", {"id": ids["fileId"], "permissions": True}),
        "attachment": ("get_file", {"mail": mail, "attachment": attachment}),
    }
    tools = await agent.tools()
    return tools, {case: await agent.read(name, **given) for case, (name, given) in calls.items()}
