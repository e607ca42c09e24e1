"""A small tenant in the sandbox, and connections to it in both modes."""

from contextlib import asynccontextmanager
from dataclasses import dataclass

from providers import registry
from providers.collab_ids import ItemKey, ListKey
from providers.connectors.collab.connection import CollabConnection
from providers.content.merged_content import MergedContent
from providers.http.client import Origins, Upstream
from providers.ports.connection import ConnectionInfo
from sandbox import faults
from sandbox.app import Sandbox
from sandbox.collab import records as r
from sandbox.collab.builders import ContentBuilder
from sandbox.state import open_state

BASE = "http://upstream.example"
CONTENT = "http://content.example"
ANN, BOB = "ann@x.test", "bob@x.test"
SIGN_IN_NAMES = {ANN: "a.miller@x.onmicrosoft.test"}
HOST, PEOPLE = "content.x.test", "people.x.test"
WRITE = ("Files.ReadWrite.All", "Sites.ReadWrite.All", "SensitivityLabel.Read")
READ = ("Files.Read.All", "Sites.Read.All")
FILE = frozenset(
    {
        "name",
        "mime_type",
        "size",
        "created_time",
        "modified_time",
        "owners",
        "description",
        "web_view_link",
        "parent_folder_name",
        "etag",
        "site",
        "list_id",
        "list_item_id",
        "content_type_id",
    }
)
ROW = frozenset(
    {
        "name",
        "web_url",
        "content_type",
        "created_date_time",
        "last_modified_date_time",
        "fields",
        "created_by",
        "last_modified_by",
        "content_type_id",
        "file",
    }
)


class StaticCredentials:
    """Credentials that never change."""

    scheme = "Bearer"

    def __init__(self, text):
        self.text = text

    async def token(self, *, rejected=None):
        return self.text


@dataclass
class Access:
    """A connection with its upstream client and its port."""

    info: ConnectionInfo
    upstream: Upstream
    port: CollabConnection

    @property
    def content(self):
        """The merged content of this connection alone."""
        return MergedContent([(self.info, self.port)])


class Tenant:
    """Two team sites, two personal ones; libraries, files and lists."""

    def __init__(self):
        self.state = open_state(None)
        self.app = Sandbox(self.state, public_base=BASE, content_base=CONTENT)
        self.origins = Origins(apps={BASE: self.app, CONTENT: self.app})
        self.store = self.state.content
        self.store.refresh()
        make = self.make = ContentBuilder(self.store, when="2026-01-05T08:00:00Z", author=ANN)
        make.people({ANN: "Ann Miller", BOB: "Bob Stone"}, sign_in_names=SIGN_IN_NAMES)
        self.root = make.site(HOST, "", "Company")
        self.yard = make.site(HOST, "/sites/yard", "Yard", description="Where boats are")
        self.board = make.site(HOST, "/sites/board", "Board", members=(BOB,))
        self.mine = make.site(PEOPLE, "/personal/ann", "Ann Miller", owner=ANN)
        self.bobs = make.site(PEOPLE, "/personal/bob", "Bob Stone", owner=BOB)
        self.documents = make.library(self.yard, "Documents", segment="Shared Documents")
        self.drawings = make.library(self.yard, "Drawings")
        self.minutes = make.library(self.board, "Minutes")
        self.own = make.library(self.mine, "OneDrive", segment="Documents")
        self.boats = make.folder(self.documents, "Boats")
        self.inner = make.folder(self.boats, "Inner #1 & 'co'")
        self.plan = make.file(self.inner, "Plan é.docx", ("docx", "The keel of oak", "is ready"))
        self.text = make.file(self.documents, "notes.txt", ("text", "varnish and oakum"))
        self.secret = make.file(self.minutes, "minutes.docx", ("docx", "the keel is secret"))
        self.letter = make.file(self.own, "letter.txt", ("text", "dear all"))
        self.berths = make.list_in(
            self.yard,
            "Berths",
            (
                column("Length", "number", is_indexed=True),
                column("Paid", "boolean"),
                column("Until", "dateTime"),
                column("State", "choice", is_indexed=True, facet={"choices": ["Free", "Let"]}),
                column("Code", "text", is_read_only=True),
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
        self._connections = 0

    @property
    def upstream(self):
        return self.app.upstreams["collab"]

    @property
    def calls(self):
        """The calls that upstream received, those inside batches included."""
        return self.upstream.calls

    @property
    def paths(self):
        return [f"{call['method']} {call['path']}" for call in self.calls]

    def forget_calls(self):
        self.calls.clear()

    def fault(self, **wanted):
        self.upstream.faults.append(faults.parse_fault(wanted))

    def delegated(self, *, scopes=WRITE, account=ANN, can_write=True):
        token = self.state.tokens.issue("collab", account, scopes)
        return self._open(
            token, "delegated", (), account=account, can_write=can_write, scopes=scopes
        )

    def selected(self, *sites, role="write"):
        """Grant sites to the application, and open a connection to them."""
        for site in sites:
            self.store.put(r.SiteGrant(site_id=site.id, application="app", role=role))
        scopes = ("Sites.Selected", "SensitivityLabels.Read.All")
        token = self.state.tokens.issue("collab", "app", scopes, app_only=True)
        ids = tuple(site.id for site in sites)
        return self._open(token, "selected_sites", ids, account="app", can_write=role != "read")

    def _open(self, token, mode, sites, *, account, can_write, scopes=()):
        self._connections += 1
        info = ConnectionInfo(
            id=self._connections,
            resource_id=1,
            kind="collab",
            provider="COLLAB",
            mode=mode,
            account_email=account,
            can_write=can_write,
            base_url=f"{BASE}/collab",
            selected_site_ids=sites,
            granted_scopes=scopes,
        )
        upstream = registry.open_upstream(self.origins, info, StaticCredentials(token))
        return Access(info, upstream, registry.PortRegistry(lambda _: upstream).open(info))


def column(name, kind, **more):
    return r.Column(name=name, title=name, kind=kind, **more)


def key(item):
    return ItemKey(item.drive_id, item.id)


def list_key(list_row):
    return ListKey(list_row.site_id.lower(), list_row.id.lower())


@asynccontextmanager
async def opened():
    """Open the tenant."""
    tenant = Tenant()
    try:
        yield tenant
    finally:
        await tenant.origins.aclose()
