"""
Triples of a generated token, a call and a resource of a generated world have one verdict, whether
a tool, REST or GraphQL makes the call, and it is the one that the rule oracle says.

    TIMES=1000 ./run slow -o faulthandler_timeout=0 tests/agent_tools/test_policy_triples.py
"""

from random import Random
from typing import NamedTuple

import generated_content
import pytest
import whole_world
import world as worlds
from agent_client import Agent, text_of

from policy.vocabulary import CollabOp

PER_TOKEN = 20  # upstream fields of one document; docs/spec/graphql.md#document-limits
FILES = "/api/access/collab/files"


class Call(NamedTuple):
    """A call by tool, REST and GraphQL; `{id}` is the file."""

    flag: CollabOp
    tool: str
    arguments: dict
    method: str
    path: str
    body: dict | None
    field: str


def read(flag, arguments, path, field):
    return Call(flag, "get_file", arguments, "GET", f"{FILES}/{{id}}{path}", None, field)


FACTS, DOWNLOAD = CollabOp.GET_FILE_METADATA, CollabOp.DOWNLOAD_FILE
READS = (
    read(FACTS, {}, "", 'collabFile(fileId: "{id}") {{ accessInfo }}'),
    read(
        FACTS,
        {"permissions": True},
        "/permissions",
        'collabFilePermissions(fileId: "{id}") {{ permissions {{ id }} }}',
    ),
    read(DOWNLOAD, {"link": True}, "/download", 'collabFileLink(fileId: "{id}") {{ success }}'),
)
TEXT = read(DOWNLOAD, {"text": True}, "/text", 'collabFileText(fileId: "{id}") {{ isCut }}')
# With `writes: effect` nothing is changed.
RENAME = Call(
    CollabOp.RENAME_FILE,
    "change_file",
    {"action": "rename", "name": "new"},
    "PATCH",
    f"{FILES}/{{id}}/rename",
    {"newName": "new"},
    'renameFile(fileId: "{id}", input: {{newName: "new"}}) {{ success }}',
)
TRASH = Call(
    CollabOp.DELETE_FILE,
    "change_file",
    {"action": "trash"},
    "DELETE",
    f"{FILES}/{{id}}",
    None,
    'deleteFile(fileId: "{id}") {{ success }}',
)
REFUSALS = {"COLLAB_NOT_ENABLED", "OPERATION_NOT_ALLOWED", "BLOCKED"}


def settings(chance):
    flags = [flag.value for flag in CollabOp if chance.random() < 0.8]
    return {
        "collabAccessEnabled": chance.random() < 0.85,
        "allowedCollabOperations": flags,
        "maskMode": chance.choice(["strict", "basic"]),
        "writes": "effect",
    }


def expected(chosen, flag, *, is_allowed):
    """Return the code of the refusal that policy decides; None: it refuses nothing."""
    if not chosen["collabAccessEnabled"]:
        return "COLLAB_NOT_ENABLED"
    if flag not in chosen["allowedCollabOperations"]:
        return "OPERATION_NOT_ALLOWED"
    return None if is_allowed else "BLOCKED"


def of_tool(result):
    if result.get("isError"):
        return text_of(result).split("\n", 1)[0]
    return "EFFECT_REQUIRED" if "Nothing was done." in text_of(result) else "allowed"


def of_rest(response):
    return "allowed" if response.status_code < 400 else response.json()["error"]


async def by_graphql(client, kind, pairs):
    """Return the code of each pair of a call and a file, by documents of many fields."""
    fields = (f"a{n}: {call.field.format(id=file)}" for n, (call, file) in enumerate(pairs))
    body = {"query": f"{kind} {{ {' '.join(fields)} }}"}
    response = (await client.post("/graphql", json=body)).json()
    errors = response.get("errors", [])
    codes = {error.get("path", [""])[0]: error["extensions"]["code"] for error in errors}
    whole = codes.get("", "allowed")  # without a path it is of the whole document
    return [codes.get(f"a{n}", whole) for n in range(len(pairs))]


async def differing(generated, chance):
    """Return the triples of one token whose verdicts differ, and how often each verdict was."""
    api_rules, rules = generated_content.rules(generated, chance, chance.randint(1, 5))
    allow_all, chosen = chance.random() < 0.4, settings(chance)
    (allowed,) = generated.allowed([(allow_all, rules)])
    token = await generated.token(api_rules, allow_all=allow_all, **chosen)
    calls = [*chance.choices(READS, k=PER_TOKEN - 3), TEXT]
    reads = [(call, chance.choice(generated.files)) for call in calls]
    inside = [file for file in generated.files if file not in generated.roots]
    folders = [file for file in inside if generated.is_folder(file)]  # a file's name is its type
    writes = [(RENAME, chance.choice(folders)), (TRASH, chance.choice(inside))]
    wrong, seen = [], {}
    async with generated.content.client(token) as client:
        codes = await by_graphql(client, "query", reads)
        for pair in writes:  # a document stops at the first write that is refused
            codes += await by_graphql(client, "mutation", [pair])
        agent = Agent(client)
        for (call, file), graph in zip([*reads, *writes], codes, strict=True):
            tool = of_tool(await agent.call(call.tool, **call.arguments, id=file))
            content = {} if call.body is None else {"json": call.body}
            rest = of_rest(await client.request(call.method, call.path.format(id=file), **content))
            touched = {file}  # docs/spec/rules.md#changing-a-folder
            if call.flag is CollabOp.DELETE_FILE:
                touched.update(generated.below(file))
            policy = expected(chosen, call.flag, is_allowed=touched <= allowed)
            right = tool == policy if policy else tool not in REFUSALS
            if not (tool == rest == graph and right):
                wrong.append((policy, tool, rest, graph, call.field.format(id=file), chosen))
            seen[tool] = seen.get(tool, 0) + 1
    return wrong, seen


@pytest.mark.tries(60, 1000)
async def test_tool_rest_and_graphql_have_the_verdict_of_the_oracle(
    world_template, tmp_path, tries
):
    total, chance = {}, Random(33)
    async with worlds.opened(*world_template, tmp_path / "world", rate_limits="off") as world:
        whole_world.without_upstream_limits(world)
        generated = await generated_content.generate(world, chance)
        for _ in range(tries // PER_TOKEN):
            wrong, seen = await differing(generated, chance)
            assert wrong == []
            total = {code: total.get(code, 0) + seen.get(code, 0) for code in total | seen}
            generated.content.forget_calls()
            generated.content._tokens.clear()

    assert sum(total.values()) == tries
    assert {*REFUSALS, "allowed", "EFFECT_REQUIRED"} <= set(total)
    print(total)  # noqa: T201
