"""
A small tenant of the content API, and clients for it.

Every JSON response is validated against the published types of the API.
"""

import json
from pathlib import Path
from typing import Any

import httpx
import pytest

from sandbox.app import Sandbox
from sandbox.collab import records as r
from sandbox.collab.builders import ContentBuilder
from sandbox.state import open_state

DATA = Path(__file__).parents[1] / "provider_b" / "data" / "graph_types_min.json"
TYPES = json.loads(DATA.read_text())
NOW = 1_800_000_000.0  # 2027-01-15T08:00:00Z
ANN, BOB = "ann@x.test", "bob@x.test"
SIGN_IN_NAMES = {ANN: "a.miller@x.onmicrosoft.test"}
HOST, PEOPLE = "content.x.test", "people.x.test"
SCOPES = ("Files.ReadWrite.All", "Sites.ReadWrite.All", "SensitivityLabel.Read", "User.Read")
PRIMITIVES = {
    "Edm.String": str,
    "Edm.Boolean": bool,
    "Edm.Int32": int,
    "Edm.Int64": int,
    "Edm.Binary": str,
}
# Last segment of the context -> type of the records.
KINDS = {
    "sites": "site",
    "drives": "drive",
    "items": "driveItem",
    "children": "driveItem",
    "search(q='')": "driveItem",
    "permissions": "permission",
    "permission": "permission",
    "Collection(permission)": "permission",
    "lists": "list",
    "columns": "columnDefinition",
    "contentTypes": "contentType",
    "microsoft.graph.uploadSession": "uploadSession",
    "microsoft.graph.extractSensitivityLabelsResult": "extractSensitivityLabelsResult",
    "Collection(microsoft.graph.searchResponse)": "searchResponse",
}


class World:
    """The tenant: two team sites, two personal ones, libraries, files and lists."""

    def __init__(self, data_dir: Path | None = None) -> None:
        self.now = NOW
        self.state = open_state(data_dir, clock=lambda: self.now)
        self.app = Sandbox(
            self.state, public_base="http://sandbox.test", content_base="http://content.test"
        )
        self.store = self.state.content
        self.store.refresh()
        make = self.make = ContentBuilder(self.store, when="2026-01-05T08:00:00Z", author=ANN)
        make.people({ANN: "Ann Miller", BOB: "Bob Stone"}, sign_in_names=SIGN_IN_NAMES)
        self.root = make.site(HOST, "", "Company", created="2025-01-01T00:00:00Z")
        self.yard = make.site(HOST, "/sites/yard", "Yard", followers=(ANN,))
        self.board = make.site(HOST, "/sites/board", "Board", members=(BOB,))
        self.mine = make.site(PEOPLE, "/personal/ann", "Ann Miller", owner=ANN)
        self.bobs = make.site(PEOPLE, "/personal/bob", "Bob Stone", owner=BOB)
        self.documents = make.library(self.yard, "Documents", segment="Shared Documents")
        self.drawings = make.library(self.yard, "Drawings", columns=(_column("Scale", "text"),))
        self.minutes = make.library(self.board, "Minutes")
        self.own = make.library(self.mine, "OneDrive", segment="Documents")
        self.others = make.library(self.bobs, "OneDrive", segment="Documents")
        self.boats = make.folder(self.documents, "Boats")
        self.inner = make.folder(self.boats, "Inner #1 & 'co'")
        self.plan = make.file(self.inner, "Plan é.docx", ("docx", "The keel of oak", "is ready"))
        self.text = make.file(self.documents, "notes.txt", ("text", "varnish and oakum"))
        self.secret = make.file(self.minutes, "minutes.docx", ("docx", "the keel is secret"))
        self.lent = make.file(self.others, "lent.txt", ("text", "a lent text"))
        make.share(self.lent, "user", "read", to=(ANN,))
        self.berths = make.list_in(
            self.yard,
            "Berths",
            (
                _column("Length", "number", is_indexed=True),
                _column("Paid", "boolean"),
                _column("Until", "dateTime"),
                _column("State", "choice", is_indexed=True, facet={"choices": ["Free", "Let"]}),
                _column("Note_x0020_1", "text"),
                _column("Code", "text", is_read_only=True),
                _column("Secret", "text", is_hidden=True),
            ),
            [
                {
                    "Title": f"Berth {number}",
                    "Length": number * 2,
                    "Paid": number % 2 == 0,
                    "State": "Let" if number > 3 else "Free",
                    **({"Until": f"2026-03-{number:02}T00:00:00Z"} if number != 5 else {}),
                }
                for number in range(1, 8)
            ],
        )
        self.hidden = make.list_in(self.yard, "Hidden", (), is_hidden=True)
        self.system = make.list_in(self.yard, "System", (), is_system=True)
        make.save()
        self.store.put(r.SiteGrant(site_id=self.yard.id, application="app", role="read"))

    def token(self, *scopes: str, account: str = ANN, app_only: bool = False) -> str:
        return self.state.tokens.issue("collab", account, scopes, app_only=app_only)

    def item(self, item: r.Item) -> r.Item | None:
        return self.store.item(item.drive_id, item.id)


def _column(name: str, kind: str, **more: Any) -> r.Column:
    return r.Column(name=name, title=name.replace("_x0020_", " "), kind=kind, **more)


@pytest.fixture
def world() -> World:
    return World()


@pytest.fixture
def world_in():
    """Return a factory of tenants whose store is on disk."""
    return World


@pytest.fixture
def client(world: World) -> httpx.AsyncClient:
    return connect(world, world.token(*SCOPES))


@pytest.fixture
def client_with(world: World):
    """Return a factory of clients with other scopes or accounts."""

    def make(*scopes: str, account: str = ANN, app_only: bool = False, version: str = "v1.0"):
        token = world.token(*scopes, account=account, app_only=app_only)
        return connect(world, token, version)

    return make


@pytest.fixture
def outside(world: World) -> httpx.AsyncClient:
    """Client without a token, for pre-authenticated URLs."""
    return httpx.AsyncClient(transport=httpx.ASGITransport(world.app))


def connect(world: World, token: str, version: str = "v1.0") -> httpx.AsyncClient:
    return httpx.AsyncClient(
        transport=httpx.ASGITransport(world.app),
        base_url=f"http://sandbox.test/collab/{version}",
        headers={"Authorization": f"Bearer {token}"},
        event_hooks={"response": [check_answer]},
    )


async def check_answer(response: httpx.Response) -> None:
    await response.aread()
    if not response.content or "json" not in response.headers.get("content-type", ""):
        return
    check_body(response.json(), response.status_code)


def check_body(body: dict[str, Any], status: int) -> None:
    if status >= 400:
        assert set(body) == {"error"}
        assert set(body["error"]) == {"code", "message", "innerError"}
        return
    for part in body.get("responses", ()):
        check_body(part.get("body", {}), part["status"])
    context = body.get("@odata.context", "").partition("$metadata#")[2]
    is_single = context.endswith("/$entity")
    last = context.removesuffix("/$entity").rpartition("/")[2]
    kind = KINDS.get(last)
    if last == "items" and "/lists(" in context:
        kind = "listItem"
    if kind is None or "/collab/beta/" in body["@odata.context"]:  # published for v1.0 alone
        return
    is_collection = not is_single and isinstance(body.get("value"), list)
    for record in body["value"] if is_collection else [body]:
        wrapped = "value" in record and kind == "extractSensitivityLabelsResult"
        shown = record["value"] if wrapped else record
        assert list(problems(shown, f"microsoft.graph.{kind}", kind)) == []


def problems(value: Any, kind: str, path: str):  # noqa: PLR0912 - one branch per kind of type
    """Yield the violations of a JSON value against its published type."""
    if value is None:
        return
    if kind.startswith("Collection("):
        if not isinstance(value, list):
            yield f"{path} is no list"
            return
        for index, member in enumerate(value):
            yield from problems(member, kind[11:-1], f"{path}[{index}]")
    elif kind in TYPES["enums"]:
        if value not in TYPES["enums"][kind]:
            yield f"{path}: {value!r} is not in {kind}"
    elif kind in TYPES["types"] or kind == "microsoft.graph.entity":
        named = value.get("@odata.type", "").removeprefix("#") or kind
        published = TYPES["types"][named]
        for name, member in value.items():
            if "@" in name:
                continue
            if name in published["props"]:
                yield from problems(member, published["props"][name], f"{path}.{name}")
            elif not published["open"] or named == "microsoft.graph.driveItem":
                yield f"{path}.{name} is not a property of {named}"
    elif kind in PRIMITIVES or kind.startswith("Edm."):
        wanted = PRIMITIVES.get(kind, str)
        if not isinstance(value, wanted) or (wanted is int and isinstance(value, bool)):
            yield f"{path}: {value!r} is not {kind}"
    else:
        yield f"{path} is of the unknown type {kind}"


class Demo:
    """The demo world and its API; read-only, shared by the tests of a module."""

    def __init__(self) -> None:
        from datetime import UTC, datetime

        from sandbox.world.collab import sites
        from sandbox.world.people import STUDIO_ACCOUNT

        self.state = open_state(None, clock=lambda: NOW)
        self.app = Sandbox(
            self.state, public_base="http://sandbox.test", content_base="http://content.test"
        )
        self.store = self.state.content
        day = datetime(2026, 11, 20, tzinfo=UTC)
        self.facts = sites.seed(self.state.database, self.store, day)
        tokens = self.state.tokens
        self.token = tokens.issue("collab", STUDIO_ACCOUNT, SCOPES)
        self.app_token = tokens.issue(
            "collab", sites.APPLICATION, ("Sites.Selected",), app_only=True
        )

    def client(self, token: str = "") -> httpx.AsyncClient:
        return connect(self, token or self.token)


@pytest.fixture(scope="module")
def demo() -> Demo:
    return Demo()
