"""
Collaboration content of the tests: sites, libraries, files and lists behind the gateway of `world`.

Accounts and tokens are made through the management API, as in `world`. Nothing is masked, and
everything is allowed, unless a test says otherwise.
"""

from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import Any

import httpx
import world as worlds
from world import ADMIN, BROKEN, MAIN, ORIGIN, READ_ONLY, World

from sandbox.collab import records as r
from sandbox.collab.builders import ContentBuilder

ANN, BOB = "ann@x.example", "bob@x.example"
SIGN_IN_NAMES = {ANN: "a.miller@x.onmicrosoft.example"}
HOST, PEOPLE = "content.x.example", "people.x.example"
WRITE = ["Files.ReadWrite.All", "Sites.ReadWrite.All", "SensitivityLabel.Read"]
READ = ["Files.Read.All", "Sites.Read.All", "SensitivityLabel.Read"]
EVERYTHING = {
    "collabAccessEnabled": True,
    "allowedCollabOperations": ["all"],
    "collabAllowAllDefault": True,
    "strictParameters": False,
}
WHEN = "2026-01-05T08:00:00Z"


@dataclass
class ContentWorld:
    """
    The content by names; made in `build`.

    Attributes:
        resources: Sites, roots of libraries, folders, files and lists.
        labels: Sensitivity labels by names.
    """

    world: World
    make: ContentBuilder
    resources: dict[str, Any]
    labels: dict[str, r.Label]
    prefix: str = "/api/access/collab"
    _addresses: Iterator[int] = field(default_factory=lambda: count(1))
    _tokens: dict[str, str] = field(default_factory=dict)

    # -- ids of the API

    def id(self, name: str) -> str:
        """Return the API's id of a site, list, file, folder or root of a library."""
        thing = self.resources[name]
        if isinstance(thing, r.Site):
            return f"collab:site:{thing.id.lower()}"
        if isinstance(thing, r.SiteList):
            return f"collab:site:{thing.site_id.lower()}:list:{thing.id.lower()}"
        return f"collab:drive:{thing.drive_id}:item:{thing.id}"

    def row(self, name: str, number: int) -> str:
        """Return the API's id of a list item."""
        return f"{self.id(name)}:item:{number}"

    def path(self, name: str, number: int | None = None) -> str:
        """Return the path of a list, of one of its items, or with 0 of all items."""
        site = f"collab:site:{self.resources[name].site_id.lower()}"
        path = f"/sites/{site}/lists/{self.id(name)}"
        if number is None:
            return path
        return f"{path}/items/{self.row(name, number)}" if number else f"{path}/items"

    # -- tokens and rules

    async def token(
        self, *rules: tuple[str, str, str], resources: tuple[int, ...] = (MAIN,), **settings: Any
    ) -> str:
        """Return a token with *rules* (type, pattern, action); equal tokens are created once."""
        key = repr((rules, resources, sorted(settings.items())))
        if key not in self._tokens:
            body = {
                "name": "test",
                "operatorId": self.world.operator_id,
                "resourceIds": list(resources),
                "settings": {**EVERYTHING, **settings},
            }
            async with self.client(ADMIN) as admin:
                created = await admin.post("/api/access-tokens", json=body)
                assert created.status_code == 201, created.text
                self._tokens[key] = str(created.json()["token"])
                body_rules = [
                    {"ruleType": kind, "pattern": pattern, "action": action}
                    for kind, pattern, action in rules
                ]
                path = f"/api/access-tokens/{created.json()['id']}/collab-rules"
                response = await admin.put(path, json={"rules": body_rules})
                assert response.status_code == 200, response.text
        return self._tokens[key]

    async def block_all_token(self, *rules: tuple[str, str, str], **settings: Any) -> str:
        """Return a block-all token with *rules*."""
        return await self.token(*rules, collabAllowAllDefault=False, **settings)

    async def token_with_fields(self, *words: str, **settings: Any) -> str:
        """Return a token whose mask shows only the fields of these words."""
        return await self.token(visibleCollabFields=list(words), **settings)

    async def rules(self, token: str) -> list[dict[str, Any]]:
        """Return the current rules of a token."""
        async with self.client(token) as mine, self.client(ADMIN) as admin:
            token_id = (await mine.get("/api/access/token")).json()["id"]
            path = f"/api/access-tokens/{token_id}/collab-rules"
            listed: list[dict[str, Any]] = (await admin.get(path)).json()["rules"]
        return listed

    # -- calls

    async def call(
        self, method: str, path: str, token: str | None = None, **more: Any
    ) -> httpx.Response:
        """Call a path of the collab surface."""
        used = token or await self.token()
        async with self.client(used) as client:
            return await client.request(method, self.prefix + path, **more)

    async def get(self, path: str, token: str | None = None, **query: Any) -> httpx.Response:
        """Read a path of the collab surface; parameters are query parameters."""
        params = {name.rstrip("_"): str(value) for name, value in query.items()}
        return await self.call("GET", path, token, **({"params": params} if params else {}))

    async def graphql(self, document: str, token: str | None = None, **variables: Any) -> Any:
        """Run a GraphQL document; return the decoded body."""
        used = token or await self.token()
        async with self.client(used) as client:
            body = {"query": document, "variables": variables}
            return (await client.post("/graphql", json=body)).json()

    def client(self, token: str) -> httpx.AsyncClient:
        """
        Return a client for which no limit of requests applies, of ours or of upstream.

        It has an address of its own, and a new minute of upstream's resource units begins.
        """
        self.world.sandbox.state.content.spent_units.clear()
        number = next(self._addresses)
        address = (f"10.1.{number // 250}.{number % 250}", 50_000)
        return httpx.AsyncClient(
            transport=httpx.ASGITransport(self.world.gateway, client=address),
            base_url=ORIGIN,
            headers={"authorization": f"Bearer {token}"},
        )

    def calls(self) -> list[dict[str, Any]]:
        """Return the upstream calls since `forget_calls`, batches and their parts."""
        return list(self.world.sandbox.upstreams["collab"].calls)

    def forget_calls(self) -> None:
        """Empty the call log."""
        self.world.sandbox.upstreams["collab"].calls.clear()

    async def fail(self, **fault: Any) -> None:
        """Make upstream fail."""
        await self.world.fail("collab", **fault)

    def names(self, drive: str) -> set[str]:
        """Return the names of everything in a library."""
        shelf = self.world.sandbox.state.content
        return {item.name for item in shelf.items(self.resources[drive].drive_id)}


def column(name: str, kind: str, **more: Any) -> r.Column:
    """Return a list column."""
    return r.Column(name=name, title=more.pop("title", name), kind=kind, **more)


BERTHS = (
    column("Length", "number", is_indexed=True),
    column("Paid", "boolean"),
    column("Until", "dateTime"),
    column("State", "choice", is_indexed=True, facet={"choices": ["Free", "Let"]}),
    column("Code", "text", is_read_only=True),
)


def fill(make: ContentBuilder) -> tuple[dict[str, Any], dict[str, r.Label]]:
    """Create two team sites and a personal one with libraries, files and lists."""
    labels = {
        name: r.Label(
            id=f"00000000-0000-4000-8000-00000000000{number}",
            name=name,
            description=f"For what is {name}.",
            tooltip=f"{name}!",
            color="Green",
            priority=number,
        )
        for number, name in enumerate(("open", "secret"), 1)
    }
    for label in labels.values():
        make.add(label)
    resources: dict[str, Any] = {
        "company": make.site(HOST, "", "Company"),
        "yard": make.site(HOST, "/sites/yard", "Yard", description="Where boats are"),
        "mine": make.site(PEOPLE, "/personal/ann", "Ann Miller", owner=ANN),
    }
    resources["documents"] = make.library(
        resources["yard"], "Documents", segment="Shared Documents"
    )
    resources["drawings"] = make.library(resources["yard"], "Drawings")
    resources["own"] = make.library(resources["mine"], "OneDrive", segment="Documents")
    resources["boats"] = make.folder(resources["documents"], "Boats")
    resources["inner"] = make.folder(resources["boats"], "Inner")
    resources["houses"] = make.folder(resources["documents"], "Houses")
    resources["plan"] = make.label(
        make.file(resources["inner"], "plan.docx", ("docx", "The keel of oak")), labels["secret"]
    )
    resources["sketch"] = make.file(
        resources["boats"], "sketch.pdf", ("text", "keel lines"), modified="2026-01-07T08:00:00Z"
    )
    resources["notes"] = make.file(
        resources["documents"],
        "notes.txt",
        ("text", "varnish on the keel"),
        modified="2026-01-06T08:00:00Z",
        description="What to do",
    )
    resources["house"] = make.file(resources["houses"], "house.txt", ("text", "a door"))
    resources["hull"] = make.file(resources["drawings"], "hull.png", ("text", "lines of a hull"))
    resources["letter"] = make.file(resources["own"], "letter.txt", ("text", "dear all, the keel"))
    make.share(resources["notes"], "user", "write", to=(BOB,))
    resources["berths"] = make.list_in(
        resources["yard"],
        "Berths",
        BERTHS,
        [
            {
                "Title": f"Berth {n}",
                "Length": n * 2,
                "Paid": n % 2 == 0,
                "State": "Free",
                **({"Until": f"2026-03-0{n}T00:00:00Z"} if n != 3 else {}),
            }
            for n in range(1, 5)
        ],
        description="Where boats lie",
    )
    resources["crew"] = make.list_in(
        resources["company"],
        "Crew",
        (column("Phone", "text", is_required=True),),
        [{"Title": "Ann keel", "Phone": "1"}],
    )
    return resources, labels


async def build(template: tuple[Path, Any], folder: Path) -> tuple[Path, Any]:
    """Add the content and its connections to a copy of the world; return it as a template."""
    async with worlds.opened(*template, folder) as world:
        _fill_world(world).make.save()
        await connect(world, resource=MAIN, scopes=WRITE)
        await connect(world, resource=READ_ONLY, scopes=READ)
        broken = await connect(world, resource=BROKEN, scopes=WRITE)
        await world.admin.patch(f"/api/connections/{broken}", json={"status": "disabled"})
    return folder, template[1]


@asynccontextmanager
async def opened(
    template: tuple[Path, Any], folder: Path, **settings: Any
) -> AsyncIterator[ContentWorld]:
    """Open a copy of the template in *folder*; *settings* are over those of the tests."""
    async with worlds.opened(*template, folder, **settings) as world:
        content = _fill_world(world)
        content.make._pending.clear()  # the template holds it already
        yield content


def _fill_world(world: World) -> ContentWorld:
    shelf = world.sandbox.state.content
    shelf.refresh()
    make = ContentBuilder(shelf, when=WHEN, author=ANN)
    make.people({ANN: "Ann Miller", BOB: "Bob Stone"}, sign_in_names=SIGN_IN_NAMES)
    return ContentWorld(world, make, *fill(make))


async def connect(
    world: World, *, resource: int, scopes: list[str], account: str = ANN, **more: Any
) -> int:
    """Connect an account; return the connection's id."""
    access_token = world.sandbox.state.tokens.issue("collab", account, scopes)
    body: dict[str, Any] = {
        "resourceId": resource,
        "operatorId": world.operator_id,
        "kind": "collab",
        "provider": "COLLAB",
        "mode": "delegated",
        "accountEmail": account,
        "grantedScopes": scopes,
        "credentials": {"accessToken": access_token},
        **more,
    }
    response = await world.admin.post("/api/connections", json=body)
    assert response.status_code == 201, response.text
    return int(response.json()["id"])


async def give_bob_an_account(content: ContentWorld) -> dict[str, int]:
    """Connect a second account, with a file of its own; return the ids of both, by address."""
    site = content.make.site(PEOPLE, "/personal/bob", "Bob Stone", owner=BOB)
    content.resources["his"] = site
    library = content.make.library(site, "OneDrive", segment="Documents")
    content.resources["bobs"] = library
    content.resources["diary"] = content.make.file(
        library, "diary.txt", ("text", "keel"), description="Days"
    )
    content.make.save()
    await connect(content.world, resource=MAIN, scopes=WRITE, account=BOB)
    async with content.client(await content.token()) as client:
        own = (await client.get("/api/access/token")).json()["connections"]
    return {
        each["accountEmail"]: each["id"]
        for each in own
        if each["kind"] == "collab" and each["accountEmail"] in {ANN, BOB}
    }
