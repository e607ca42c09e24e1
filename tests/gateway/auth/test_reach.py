"""
Generated worlds of operators who share resources: a token reaches what plain sets say.

    TIMES=40 REACH_SEED=1 pytest -m slow tests/gateway/auth/test_reach.py
"""

import os
import sys
from dataclasses import dataclass, field
from itertools import count
from random import Random

import pytest
import pytest_asyncio

from sandbox.projects.records import User, Workspace
from sandbox.projects.store import ProjectStore

SEED = int(os.environ.get("REACH_SEED", "20261122"))
CHANGES = 3  # of each world

pytestmark = [pytest.mark.asyncio(loop_scope="module"), pytest.mark.usefixtures("emptied")]

OPEN = {
    "emailAccessEnabled": True,
    "allowedEmailOperations": ["all"],
    "calendarAccessEnabled": True,
    "allowedTaskOperations": ["all"],
    "collabAccessEnabled": True,
    "allowedCollabOperations": ["all"],
    "collabAllowAllDefault": True,
}
# Kind -> provider, upstream, scopes, a REST read, the same read by GraphQL, the refusal.
KINDS = {
    "email": (
        "PROVIDER_A",
        "providerA",
        ["https://www.googleapis.com/auth/gmail.modify"],
        "/email/messages?limit=1",
        "{ emails(limit: 1) { emails { id } } }",
        "NO_EMAIL_PROVIDER",
    ),
    "calendar": (
        "PROVIDER_B",
        "providerB",
        ["Calendars.Read"],
        "/calendar/calendars",
        "{ calendars { calendars { calendarId } } }",
        "NO_CALENDAR_PROVIDER",
    ),
    "tasks": (
        "PROJECTS",
        "projects",
        ["default"],
        "/tasks/boards?provider=projects",
        '{ taskBoards(provider: "projects") { boards { id } } }',
        "NO_TASK_PROVIDER",
    ),
    "collab": (
        "COLLAB",
        "collab",
        ["Files.Read.All", "Sites.Read.All"],
        "/collab/sites",
        "{ collabSites { sites { id } } }",
        "NO_COLLAB_PROVIDER",
    ),
}


@pytest.fixture(scope="module")
def gateway(sandboxed):
    return sandboxed


@pytest_asyncio.fixture(loop_scope="module")
async def upstream_accounts(sandbox, monkeypatch):
    """The accounts that the upstreams are called with; a set to be cleared."""
    read, accounts = sandbox.state.tokens.read, set()

    def recording(upstream, token):
        grant = read(upstream, token)
        accounts.update([] if grant is None else [grant.account])
        return grant

    monkeypatch.setattr(sandbox.state.tokens, "read", recording)
    return accounts


@dataclass
class Connection:
    operator: str
    resource: int
    kind: str
    account: str


@dataclass
class Token:
    text: str
    operator: str
    resources: set


@dataclass
class World:
    """Plain sets of everything that was created: the independent side of the comparison."""

    operators: set = field(default_factory=set)
    resources: set = field(default_factory=set)
    links: set = field(default_factory=set)  # (operator, resource)
    connections: dict = field(default_factory=dict)  # by id
    tokens: dict = field(default_factory=dict)  # by id

    def reach(self, token, kind=None):
        """Return the ids of the connections that a token may use, ascending."""
        return sorted(
            number
            for number, connection in self.connections.items()
            if connection.operator == token.operator
            and connection.resource in token.resources
            and (connection.operator, connection.resource) in self.links
            and kind in {None, connection.kind}
        )


class Generator:
    """Makes one world through the management API, and changes it."""

    def __init__(self, admin, sandbox, random, accounts):
        self.world = World()
        self._admin = admin
        self._sandbox = sandbox
        self._random = random
        self._accounts = accounts

    async def fill(self):
        for number in range(3):
            person = {"email": f"o{number}@reach.example", "displayName": "O"}
            self.world.operators.add((await self._call("POST", "operators", person))["id"])
        for _ in range(3):
            operators = self._some(self.world.operators, at_least=0)
            new = {"name": "shared", "operatorIds": operators}
            resource = (await self._call("POST", "resources", new))["id"]
            self.world.resources.add(resource)
            self.world.links |= {(operator, resource) for operator in operators}
        for _ in range(12):
            await self.add_connection()
        for _ in range(4):
            await self.add_token()

    async def change(self):
        """Make one random change; changes that must be refused are among them."""
        choices = (
            [self.link] * 4
            + [self.change_token] * 3
            + [self.add_connection, self.remove_connection, self.add_token]
            + [self.remove_operator, self.remove_resource]
        )
        await self._random.choice(choices)()

    async def link(self):
        resource = self._pick(self.world.resources)
        operators = self._some(self.world.operators, at_least=0)
        await self._call("PATCH", f"resources/{resource}", {"operatorIds": operators})
        self.world.links = {link for link in self.world.links if link[1] != resource}
        self.world.links |= {(operator, resource) for operator in operators}

    async def add_connection(self):
        kind = self._pick(KINDS)
        provider, upstream, scopes, *_ = KINDS[kind]
        account = f"c{next(self._accounts)}@reach.example"
        if kind == "tasks":  # this upstream refuses accounts that are no users
            projects = ProjectStore(self._sandbox.state.database)
            space = projects.workspaces.put(Workspace(id="1", name="W"))
            user = User(id=projects.new_id(), owner=space.id, position=0, name="U", email=account)
            projects.users.put(user)
        issued = self._sandbox.state.tokens.issue(upstream, account, scopes)
        new = Connection(
            self._pick(self.world.operators), self._pick(self.world.resources), kind, account
        )
        body = {
            "resourceId": new.resource,
            "operatorId": new.operator,
            "kind": kind,
            "provider": provider,
            "accountEmail": account,
            "grantedScopes": scopes,
            "credentials": {"apiToken" if kind == "tasks" else "accessToken": issued},
        }
        linked = (new.operator, new.resource) in self.world.links
        made = await self._call("POST", "connections", body, allowed=linked)
        if linked:
            self.world.connections[made["id"]] = new

    async def add_token(self):
        operator = self._pick(self.world.operators)
        resources = self._resources_for(operator)
        body = {"name": "t", "operatorId": operator, "resourceIds": resources, "settings": OPEN}
        linked = self._linked(operator, resources)
        made = await self._call("POST", "access-tokens", body, allowed=linked)
        if linked:
            self.world.tokens[made["id"]] = Token(made["token"], operator, set(resources))

    async def change_token(self):
        if self.world.tokens:
            number = self._pick(self.world.tokens)
            token = self.world.tokens[number]
            resources = self._resources_for(token.operator)
            linked = self._linked(token.operator, resources)
            body = {"resourceIds": resources}
            await self._call("PATCH", f"access-tokens/{number}", body, allowed=linked)
            if linked:
                token.resources = set(resources)

    async def remove_connection(self):
        if self.world.connections:
            number = self._pick(self.world.connections)
            await self._call("DELETE", f"connections/{number}")
            del self.world.connections[number]

    async def remove_operator(self):
        if len(self.world.operators) > 1:
            gone = self._pick(self.world.operators)
            await self._call("DELETE", f"operators/{gone}")
            self.world.operators.discard(gone)
            self._forget_connections(lambda connection: connection.operator == gone)
            self.world.links = {link for link in self.world.links if link[0] != gone}

    async def remove_resource(self):
        if len(self.world.resources) > 1:
            gone = self._pick(self.world.resources)
            await self._call("DELETE", f"resources/{gone}")
            self.world.resources.discard(gone)
            self._forget_connections(lambda connection: connection.resource == gone)
            self.world.links = {link for link in self.world.links if link[1] != gone}
            for token in self.world.tokens.values():
                token.resources.discard(gone)

    def _forget_connections(self, is_gone):
        connections = self.world.connections.items()
        self.world.connections = {n: each for n, each in connections if not is_gone(each)}

    def _resources_for(self, operator):
        """Choose resources, mostly such that the operator is linked to all of them."""
        linked = {resource for name, resource in self.world.links if name == operator}
        return self._some(
            linked if linked and self._random.random() < 0.8 else self.world.resources
        )

    def _linked(self, operator, resources):
        return {(operator, resource) for resource in resources} <= self.world.links

    def _pick(self, values):
        return self._random.choice(sorted(values))

    def _some(self, values, *, at_least=1):
        ordered = sorted(values)
        return self._random.sample(ordered, self._random.randint(at_least, len(ordered)))

    async def _call(self, method, path, body=None, *, allowed=True):
        response = await self._admin.request(method, f"/api/{path}", json=body)
        if not allowed:
            assert response.status_code == 400, response.text
            assert response.json()["error"] == "VALIDATION_ERROR"
            assert "is not linked to" in response.json()["message"]
            return None
        assert response.is_success, response.text
        return response.json() if response.content else None


class Checker:
    """Compares what tokens get with a world, by REST and by GraphQL."""

    def __init__(self, client, world, accounts):
        self.mismatches = []
        self.responses = 0
        self._client = client
        self._world = world
        self._accounts = accounts

    async def check(self, token, kind):
        if token.operator not in self._world.operators:
            statuses = {response.status_code for response in await self._own(token)}
            self._expect("of a removed operator", token, statuses, {401})
            return
        for response in await self._own(token):
            body = response.json()
            shown = body["data"]["accessToken"] if "data" in body else body
            numbers = [connection["id"] for connection in shown["connections"]]
            self._expect("own connections", token, numbers, self._world.reach(token))
        await self._check_reads(token, kind)

    async def _check_reads(self, token, kind):
        *_, path, document, refusal = KINDS[kind]
        connections = self._world.connections
        reached = {connections[number].account for number in self._world.reach(token, kind)}
        # Every mailbox is asked; calendars, boards and sites may be those of the first account.
        for calling in (self._rest(token, path), self._graphql(token, document)):
            self._accounts.clear()
            code = _code(await calling)
            self._expect(f"code of {kind}", token, code, None if reached else refusal)
            if kind == "email":
                self._expect("mailboxes", token, self._accounts, reached)
            self._expect("foreign accounts", token, self._accounts - reached, set())
            self._expect("a call", token, bool(self._accounts), bool(reached))

    async def _own(self, token):
        document = "{ accessToken { connections { id } } }"
        return [await self._rest(token, "/token"), await self._graphql(token, document)]

    async def _rest(self, token, path):
        self.responses += 1
        return await self._client.get(f"/api/access{path}", headers=_bearer(token))

    async def _graphql(self, token, document):
        self.responses += 1
        return await self._client.post("/graphql", json={"query": document}, headers=_bearer(token))

    def _expect(self, what, token, actual, expected):
        if actual != expected:
            self.mismatches.append((what, token, actual, expected))


def _bearer(token):
    return {"Authorization": f"Bearer {token.text}"}


def _code(response):
    """Return the code of a refusal by either API; None for data."""
    body = response.json()
    if "errors" in body:
        return body["errors"][0]["extensions"]["code"]
    return body.get("error")


@pytest.mark.tries(1, 25)
async def test_tokens_reach_the_accounts_of_their_operators_alone(
    admin, client, sandbox, upstream_accounts, tries
):
    numbers, responses, mismatches = count(1), 0, []
    for number in range(tries):
        random = Random(f"{SEED} {number}")
        generator = Generator(admin, sandbox, random, numbers)
        await generator.fill()
        checker = Checker(client, generator.world, upstream_accounts)
        for _ in range(CHANGES):
            await generator.change()
            for token in generator.world.tokens.values():
                await checker.check(token, random.choice(sorted(KINDS)))
        responses += checker.responses
        mismatches += [(number, *mismatch) for mismatch in checker.mismatches]

    sys.stdout.write(f"{tries} worlds, {responses} responses, {len(mismatches)} mismatches\n")
    assert mismatches == []
    assert responses > 20 * tries
