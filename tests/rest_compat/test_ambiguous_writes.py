"""
Each of the writes on several accounts, by REST, GraphQL and the tools of agents.

A write that could go to several accounts and names none is refused, and nothing is asked of a
provider; every other one has the account that it names. `TIMES=410` makes 10,000 that could.
"""

import random
import re
import sys

import content_world
import pytest
import task_world
import whole_world
import world as worlds
from agent_client import Agent, text_of
from twenty_writes import WRITES, call, document_of, filled, upstream_writes

from policy.vocabulary import Surface

BO = ["bo@work.example"]
# Write -> the tool that makes it, and its arguments; `{…}` are ids of the world.
AGENT_CALLS = {
    "sendEmail": ("send_mail", {"action": "new", "to": BO, "subject": "s", "body": "b"}),
    "replyToEmail": ("send_mail", {"action": "reply", "id": "{emailId}", "body": "b"}),
    "forwardEmail": ("send_mail", {"action": "forward", "id": "{emailId}", "to": BO}),
    "modifyEmail": ("file_mail", {"id": "{emailId}", "addLabels": ["New"]}),
    "createDraft": ("write_draft", {"action": "new", "to": BO, "subject": "s", "body": "b"}),
    "updateDraft": ("write_draft", {"action": "change", "id": "{draftId}", "subject": "s"}),
    "createTaskItem": ("write_task", {"action": "create", "board": "{boardId}", "name": "New"}),
    "updateTaskItem": (
        "write_task",
        {"action": "update", "id": "{itemId}", "fields": {"note": "x"}},
    ),
    "addTaskComment": ("write_task", {"action": "comment", "id": "{itemId}", "comment": "b"}),
    "deleteTaskItem": ("write_task", {"action": "delete", "id": "{itemId}"}),
    "createFolder": (
        "change_file",
        {"action": "create_folder", "name": "New", "folder": "{folderId}"},
    ),
    "renameFile": ("change_file", {"action": "rename", "id": "{fileId}", "name": "other.pdf"}),
    "deleteFile": ("change_file", {"action": "trash", "id": "{fileId}"}),
    "sendDraft": ("send_mail", {"action": "draft", "id": "{draftId}"}),
    "deleteDraft": ("write_draft", {"action": "delete", "id": "{draftId}"}),
    "deleteEmail": ("file_mail", {"id": "{emailId}", "trash": True}),
}
NEEDS_NAME = {"sendEmail", "createDraft"}
AMBIGUOUS = [  # without a name of an account
    *sorted(NEEDS_NAME),
    "createTaskItem",
    "updateTaskItem",
    "addTaskComment",
    "deleteTaskItem",
    "createFolder",
]
OPERATIONS = ("allowedEmailOperations", "allowedTaskOperations")
SURFACES = {"tasks": Surface.TASKS, "collab": Surface.COLLAB}


def surface_of(name):
    part = WRITES[name][1].split("/")[3]
    return SURFACES.get(part, Surface.EMAIL)


@pytest.fixture(scope="module")
def whole(world_template, tmp_path_factory):
    with whole_world.opened(world_template, tmp_path_factory.mktemp("several") / "world") as whole:
        whole.parameters["permissionId"] = call(whole, "shareFile", {}).json()["permissionId"]
        whole.runner.run(_second_accounts(whole))
        yield whole


async def _second_accounts(whole):
    """Connect a second account of tasks and one of content."""
    world, main = whole.world, worlds.MAIN
    await task_world.connect(world, whole.tasks, "BOARDS", resource=main)
    return await content_world.connect(
        world, resource=main, scopes=content_world.WRITE, account=content_world.BOB
    )


@pytest.fixture(scope="module")
def accounts(whole):
    """Surface -> the ids of its two connections, the lowest first."""
    own = whole.call("GET", "/api/access/token")[0].json()["connections"]
    usable = [each for each in own if each["status"] == "active"]
    return {
        surface: sorted(each["id"] for each in usable if each["kind"] == surface)
        for surface in (Surface.EMAIL, Surface.TASKS, Surface.COLLAB)
    }


class Token:
    """A token on some of the accounts, of which some may be read alone."""

    def __init__(self, whole, accounts, rng):
        every = [each for ids in accounts.values() for each in ids]
        self.reached = {each for each in every if rng.random() < 0.9} or {every[0]}
        named = [*accounts[Surface.EMAIL], *accounts[Surface.TASKS]]
        self.read_only = {each for each in named if rng.random() < 0.15}

        narrow = {
            str(each): {operations: ["read_only"] for operations in OPERATIONS}
            for each in self.read_only
        }
        settings = {
            **whole_world.SETTINGS,
            "allowedConnectionIds": sorted(self.reached),
            "writes": rng.choice(("effect", "effect", "approve")),
            "accounts": narrow or {str(every[0]): {}},
        }
        if not narrow and rng.random() < 0.5:
            settings |= {"accounts": {}, "requireConnection": True}
        self.headers = {"authorization": f"Bearer {whole.runner.run(whole.world.token(settings))}"}
        self.usable = self.reached - self.read_only


def by_rest(whole, name, write, headers):
    method, path, body = write
    content = filled(whole, body)
    if content is not None and "params" not in content:
        content = {"json": content}
    response = whole.call(method, whole.url(path), headers=headers, **(content or {}))[0]
    answer = response.json()
    return answer["error"] if response.status_code == 400 else None, account_of(answer)


def by_graphql(whole, name, write, headers):
    path, _, provider = write[1].partition("?provider=")
    request = document_of(whole, name, (write[0], path, write[2]))
    if provider:
        request["variables"]["provider"] = provider
    answer = whole.call("POST", "/graphql", headers=headers, json=request)[0].json()
    (error,) = answer["errors"]
    return error["extensions"]["code"], account_of(error["extensions"])


def by_agent(whole, name, write, headers):
    tool, given = AGENT_CALLS[name]
    given = filled(whole, given)
    body = write[2] or {}
    if "connectionId" in body:
        given["connectionId"] = body["connectionId"]
    if "?" in write[1]:
        given["provider"] = "BOARDS"
    if name == "createFolder" and "parentFolderId" not in body:
        del given["folder"]

    async def made():
        async with whole_world._client(whole.world, headers["authorization"][7:]) as client:
            return text_of(await Agent(client).call(tool, **given))

    text = whole.runner.run(made())
    named = re.search(r'"connectionId":\s*(\d+)', text)
    return text.split("\n")[0], named and int(named[1])


def account_of(answer):
    """Return the connection of the effect that an answer shows."""
    effect = answer.get("effect") or (answer.get("held") or {}).get("effect") or {}
    return (effect.get("account") or {}).get("connectionId")


def expected(name, write, token, accounts):
    """Return the connections that could be meant."""
    surface, body = surface_of(name), write[2] or {}
    if surface is Surface.COLLAB:
        writable = [each for each in accounts[surface] if each in token.reached]
        return writable if name == "createFolder" and "parentFolderId" not in body else writable[:1]
    usable = [each for each in accounts[surface] if each in token.usable]
    if "connectionId" in body:
        return [each for each in usable if each == body["connectionId"]]
    if surface is Surface.TASKS and "?" not in write[1]:
        return [each for each in accounts[surface] if each in token.reached] if usable else []
    if surface is Surface.EMAIL and name not in NEEDS_NAME:
        return [each for each in usable if each == accounts[surface][0]]
    return usable


def a_write(name, rng, accounts):
    """Return the write as it is made, maybe without what names its account."""
    method, path, body = WRITES[name]
    if name in NEEDS_NAME and rng.random() < 0.4:
        return method, path, {**body, "connectionId": rng.choice(accounts[Surface.EMAIL])}
    if surface_of(name) is Surface.TASKS and rng.random() < 0.8:
        return method, f"{path}?provider=BOARDS", body
    if name == "createFolder" and rng.random() < 0.6:
        return method, path, {"name": "New"}
    return method, path, body


@pytest.mark.tries(60, 60)
def test_no_write_of_any_kind_is_a_guess(whole, accounts, tries):
    assert [len(ids) for ids in accounts.values()] == [2, 2, 2]
    rng = random.Random(tries)
    tokens = [Token(whole, accounts, rng) for _ in range(min(40, max(8, tries // 20)))]
    ambiguous, shown = 0, 0
    for number in range(tries):
        names = AMBIGUOUS if rng.random() < 0.7 else list(WRITES)
        name, token = rng.choice(names), rng.choice(tokens)
        way = rng.choice([by_rest, by_graphql, *([by_agent] if name in AGENT_CALLS else [])])
        write = a_write(name, rng, accounts)
        for wire in whole.world.sandbox.upstreams.values():
            wire.calls.clear()
        code, account = way(whole, name, write, token.headers)
        meant = expected(name, write, token, accounts)
        case = (number, name, way.__name__, *write[1:], vars(token), code, account, meant)
        assert upstream_writes(whole) == [], case
        assert (code in {"AMBIGUOUS_ACCOUNT", "PROVIDER_REQUIRED"}) == (len(meant) > 1), case
        if len(meant) > 1:
            ambiguous += 1
            assert whole.upstream_calls() == 0, case
        elif account is not None:
            shown += 1
            assert [account] == meant, case
    sys.stdout.write(f"{tries} writes: {ambiguous} ambiguous, {shown} shown for the one account\n")
    assert ambiguous > tries / 40
