"""A call has one verdict, whether a tool, REST or GraphQL makes it; and no answer is too large."""

from random import Random

import pytest
import whole_world
from agent_client import Agent, text_of

from agent_tools.answers import MAX_ANSWER
from agent_tools.table import TOOLS
from policy.vocabulary import CalendarField, CollabField, CollabOp, EmailField, EmailOp, TaskOp

# Tool call -> the call of REST, and the root field with its arguments. `{…}` are ids of the world.
CALLS = {
    "find": (
        ("find_mail", {"limit": 2}),
        ("GET", "/api/access/email/messages?limit=2", None),
        "emails(limit: 2) { totalCount }",
    ),
    "from": (
        ("find_mail", {"from": "ana@home.example"}),
        ("GET", "/api/access/email/messages?from=ana@home.example", None),
        'emails(from: "ana@home.example") { totalCount }',
    ),
    "read": (
        ("read_mail", {"id": "{emailId}"}),
        ("GET", "/api/access/email/messages/{emailId}", None),
        'email(emailId: "{emailId}") { id }',
    ),
    "thread": (
        ("read_mail", {"threadId": "{threadId}"}),
        ("GET", "/api/access/email/threads/{threadId}", None),
        'emailThread(threadId: "{threadId}") { id }',
    ),
    "gone": (
        ("read_mail", {"id": "providerA:0000000000000000"}),
        ("GET", "/api/access/email/messages/providerA:0000000000000000", None),
        'email(emailId: "providerA:0000000000000000") { id }',
    ),
    "events": (
        ("find_events", {"q": "boat"}),
        ("GET", "/api/access/calendar/events?q=boat", None),
        'calendarEvents(q: "boat") { meta { totalCount } }',
    ),
    "busy": (
        ("find_events", {"busy": True, "from": "2026-11-01", "to": "2026-11-02"}),
        ("GET", "/api/access/calendar/freebusy?from=2026-11-01&to=2026-11-02", None),
        'freeBusy(from: "2026-11-01", to: "2026-11-02") { calendars { calendarId } }',
    ),
    "items": (
        ("find_tasks", {"board": "{boardId}", "limit": 2}),
        ("GET", "/api/access/tasks/boards/{boardId}/items?limit=2", None),
        'taskItems(boardId: "{boardId}", limit: 2) { hasMore }',
    ),
    "item": (
        ("find_tasks", {"id": "{itemId}"}),
        ("GET", "/api/access/tasks/items/{itemId}", None),
        'taskItem(itemId: "{itemId}") { provider }',
    ),
    "files": (
        ("find_files", {"folder": "{folderId}"}),
        ("GET", "/api/access/collab/files?folderId={folderId}", None),
        'collabFiles(folderId: "{folderId}") { hasMore }',
    ),
    "search": (
        ("find_files", {"search": "keel"}),
        ("GET", "/api/access/collab/search?q=keel", None),
        'collabSearch(q: "keel") { total }',
    ),
    "file": (
        ("get_file", {"id": "{fileId}"}),
        ("GET", "/api/access/collab/files/{fileId}", None),
        'collabFile(fileId: "{fileId}") { accessInfo }',
    ),
    "link": (
        ("get_file", {"id": "{fileId}", "link": True}),
        ("GET", "/api/access/collab/files/{fileId}/download", None),
        'collabFileLink(fileId: "{fileId}") { success }',
    ),
    "text": (
        ("get_file", {"id": "{fileId}", "text": True}),
        ("GET", "/api/access/collab/files/{fileId}/text", None),
        'collabFileText(fileId: "{fileId}") { isCut }',
    ),
    "attachment": (
        ("get_file", {"mail": "{emailId}", "attachment": "{attachmentId}", "text": True}),
        ("GET", "/api/access/email/messages/{emailId}/attachments/{attachmentId}/text", None),
        'emailAttachmentText(emailId: "{emailId}", attachmentId: "{attachmentId}") { isCut }',
    ),
    "label": (
        ("file_mail", {"id": "{emailId}", "addLabels": ["Home"]}),
        ("PATCH", "/api/access/email/messages/{emailId}", {"addLabels": ["Home"]}),
        'modifyEmail(emailId: "{emailId}", input: {addLabels: ["Home"]}) { success }',
    ),
    "rename": (
        ("change_file", {"action": "rename", "id": "{fileId}", "name": ""}),
        ("PATCH", "/api/access/collab/files/{fileId}/rename", {"newName": ""}),
        'renameFile(fileId: "{fileId}", input: {newName: ""}) { success }',
    ),
    "share": (
        (
            "share_file",
            {
                "action": "share",
                "id": "{fileId}",
                "type": "anyone",
                "role": "reader",
                "notify": True,
            },
        ),
        (
            "POST",
            "/api/access/collab/files/{fileId}/share",
            {"type": "anyone", "role": "reader", "sendNotification": True},
        ),
        'shareFile(fileId: "{fileId}", input: {type: anyone, role: reader}) { success }',
    ),
}


def some(random, words):
    return [word.value for word in words if random.random() < 0.7]


def settings(random):
    """Generate settings: flags, masks, surfaces, windows and modes."""
    return {
        "emailAccessEnabled": random.random() < 0.9,
        "allowedEmailOperations": some(random, EmailOp),
        "visibleEmailFields": some(random, EmailField),
        "calendarAccessEnabled": random.random() < 0.9,
        "calendarAccessLevel": random.choice(["free_busy_only", "view_filtered", "full_access"]),
        "visibleCalendarFields": some(random, CalendarField),
        "allowedTaskOperations": some(random, TaskOp),
        "taskBoards": random.choice([None, None, []]),
        "collabAccessEnabled": random.random() < 0.9,
        "allowedCollabOperations": some(random, CollabOp),
        "collabAllowAllDefault": random.random() < 0.7,
        "visibleCollabFields": some(random, CollabField),
        "maskMode": random.choice(["strict", "basic"]),
        "writes": random.choice(["direct", "direct", "effect"]),
    }


def filled(value, ids):
    if isinstance(value, str):
        for name, text in ids.items():
            value = value.replace(f"{{{name}}}", text)
        return value
    if isinstance(value, dict):
        return {name: filled(each, ids) for name, each in value.items()}
    return value


def code_of_tool(result):
    if result.get("isError"):
        return text_of(result).split("\n", 1)[0]
    return "EFFECT_REQUIRED" if "Nothing was done." in text_of(result) else "allowed"


# REST has no code for these in the surface of content (docs/spec/errors.md#where-error-is-null),
# and spells others in its own way; by status they are the same.
def code_of_rest(response):
    if response.status_code < 400:
        return "allowed"
    return response.json()["error"] or {404: "NOT_FOUND"}[response.status_code]


def code_of_graphql(response):
    errors = response.json().get("errors")
    return errors[0]["extensions"]["code"] if errors else "allowed"


async def verdicts(world, random, ids):
    """Return case and codes of one call, by tool, REST and GraphQL."""
    case = random.choice(sorted(CALLS))
    (tool, arguments), (method, path, body), field = CALLS[case]
    secret = await world.token({**whole_world.SETTINGS, **settings(random)})
    kind = "query" if method == "GET" else "mutation"
    async with world.client(secret) as client:
        result = await Agent(client).call(tool, **filled(arguments, ids))
        content = {} if body is None else {"json": body}
        rest = await client.request(method, filled(path, ids), **content)
        text = f"{kind} {{ {filled(field, ids)} }}"
        graph = await client.post("/graphql", json={"query": text})
    assert len(text_of(result)) <= MAX_ANSWER
    return case, code_of_tool(result), code_of_rest(rest), code_of_graphql(graph)


@pytest.mark.tries(10, 150)
def test_tool_rest_and_graphql_agree(world_template, tmp_path, tries):
    random, seen, differing = Random(1), {}, []
    with whole_world.opened(world_template, tmp_path / "whole") as world:
        ids = {name: str(value) for name, value in world.parameters.items()}
        for _ in range(tries):
            case, *codes = world.runner.run(verdicts(world.world, random, ids))
            if len(set(codes)) > 1:
                differing.append((case, *codes))
            seen[codes[0]] = seen.get(codes[0], 0) + 1

    assert not differing, differing
    assert len(seen) >= 5
    assert seen["allowed"] >= tries / 8
    print(seen)  # noqa: T201


def generated(random, tool, ids):
    """Generate arguments of a tool: known and unknown names, right and wrong values."""
    names = {name for call in tool.calls.values() for name in call.paths}
    names |= {"action", "fields", "offset", "key", "confirm", "busy", "link", "nonsense"}
    values = (
        *ids.values(),
        *tool.calls,
        "x",
        "",
        "é" * 3000,
        "2026-11-20T00:00:00Z",
        0,
        50,
        -1,
        2**40,
        True,
        None,
        ["x"],
        ["subject", "id"],
        [{}],
        {"a": 1},
        1.5,
    )
    count = random.randint(0, 5)
    return {name: random.choice(values) for name in random.sample(sorted(names), count)}


@pytest.mark.tries(40, 2000)
def test_no_generated_call_gets_a_large_answer_or_a_failure(world_template, tmp_path, tries):
    random, refused = Random(7), 0
    with whole_world.opened(world_template, tmp_path / "whole") as world:
        ids = {name: str(value) for name, value in world.parameters.items()}
        reads = [tool for tool in TOOLS if not tool.writes]

        async def run():
            nonlocal refused
            agent = Agent(world.client)
            for number in range(tries):
                tool = random.choice(reads if number % 3 else TOOLS)
                result = await agent.call(tool.name, **generated(random, tool, ids))
                text = text_of(result)
                assert len(text) <= MAX_ANSWER
                assert not text.startswith("INTERNAL_ERROR"), text
                refused += bool(result.get("isError"))

        world.runner.run(run())
    assert tries / 4 < refused < tries
