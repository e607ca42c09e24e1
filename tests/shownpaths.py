"""
What a token is shown of a generated world, by every path of REST and by GraphQL, held against what
the oracle allows: shown is exactly what is allowed, and nothing tells of the rest.

A container that is not allowed itself may be listed as long as something below it is; whether it
answers when nothing is is not fixed (decisions 4: "when an allow rule can match below it").
"""

import re
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

import httpx
from ruledcontent import Ruled

WORD = re.compile(r"\bn\d+n\b")
# Addresses hold the names of all folders on the way (contract); a library that rules can match in
# is listed whether or not they do (decisions 16).
TELLS_PLACES = frozenset({"webUrl", "webViewLink", "downloadUrl", "rootFolderId"})
KINDS = ("driveItem", "listItem", "list", "site")
PER_DOCUMENT = 20  # fields of one document that touch upstream; decisions 13


@dataclass
class Shown:
    """
    Looks at everything with one token, and notes what is wrong.

    Attributes:
        allowed: What the oracle lets the token see.
        unblocked: What no block rule of the token matches.
        found: What search tells a token that sees everything.
        wrong: A sentence per mismatch.
    """

    ruled: Ruled
    token: str
    allowed: set[str]
    unblocked: set[str]
    found: dict[str, set[str]]
    wrong: list[str] = field(default_factory=list)
    calls: int = 0

    async def everything(self) -> list[str]:
        """Look by every path; return what is wrong."""
        await self.each_by_id()
        await self.listings_of_files()
        await self.places()
        await self.items()
        await self.searches()
        await self.graphql()
        return self.wrong

    # -- by id

    async def each_by_id(self) -> None:
        for file in self.ruled.files:
            folder = self.ruled.is_folder(file)
            await self.one(f"/files/{file}", file)
            await self.one(f"/files/{file}/permissions", file)
            await self.one(f"/files/{file}/sensitivity-label", file, also=(502,))
            link = await self.one(f"/files/{file}/download", file, also=(400,) * folder)
            if link is not None and not folder:
                await self.bytes_of(file, link["downloadUrl"])
        for site in self.ruled.sites:
            await self.one(f"/sites/{site}", site)
        for one, site in self.ruled.lists.items():
            await self.one(f"/sites/{site}/lists/{one}", one)
        for row in self.ruled.rows:
            await self.one(f"{self.items_path(self.list_of(row))}/{row}", row)

    async def one(
        self, path: str, thing: str, *, also: Collection[int] = ()
    ) -> dict[str, Any] | None:
        """Read one thing: it answers when it is allowed, and is 404 BLOCKED when it is not."""
        answer = await self.get(path)
        body: dict[str, Any] = answer.json()
        if thing not in self.allowed:
            if (answer.status_code, body["error"]) != (404, "BLOCKED"):
                self.wrong.append(f"{path} of what is not allowed: {answer.text}")
        elif answer.status_code not in (200, *also):
            self.wrong.append(f"{path} of what is allowed: {answer.text}")
        elif answer.status_code == 200:
            shown = body.get("file", body).get("id", thing)
            if shown != thing:
                self.wrong.append(f"{path} shows {shown}")
            return body
        return None

    async def bytes_of(self, file: str, url: str) -> None:
        """Get what a download's address gives."""
        sandbox = self.ruled.content.world.gateway
        async with httpx.AsyncClient(transport=httpx.ASGITransport(sandbox)) as client:
            given = await client.get(url)
        word = self.ruled.words[file].encode()
        if given.status_code != 200 or (b"keel" in given.content and word not in given.content):
            self.wrong.append(f"{file}: other bytes than its own")

    # -- files in lists

    async def listings_of_files(self) -> None:
        tops = self.ruled.tops
        at_top = {one for top in tops for one in self.ruled.inside(top)}
        for query in ("", "&orderBy=name", "&orderBy=size asc", "&orderBy=created_time"):
            await self.exactly(f"/files?{query}", "files", at_top)
        everywhere = {one for one in self.ruled.files if one not in tops}
        await self.exactly("/files?q=keel", "files", everywhere)
        await self.exactly("/files?q=keel", "files", everywhere, limit=3)
        await self.exactly("/files?", "files", at_top, limit=2)
        for folder in self.ruled.files:
            if not self.ruled.is_folder(folder):
                continue
            inside, below = set(self.ruled.inside(folder)), set(self.ruled.below(folder))
            opens = self.opens(folder, below)
            path = f"/files?folderId={folder}"
            await self.exactly(path, "files", inside, opens=opens)
            await self.exactly(path, "files", inside, opens=opens, limit=1)
            await self.exactly(f"{path}&orderBy=name", "files", inside, opens=opens, limit=2)
            await self.exactly(f"{path}&q=keel", "files", below, opens=opens)
            texts = {one for one in inside if self.ruled.things[one].mime.startswith("image/")}
            await self.exactly(f"{path}&mimeType=image/*", "files", texts, opens=opens)
        for site in self.ruled.sites:
            inside = {one for top in tops if tops[top] == site for one in self.ruled.inside(top)}
            within = {one for one in everywhere if self.site_of(one) == site}
            opens = self.opens(site, self.below_site(site))
            await self.exactly(f"/files?siteId={site}", "files", inside, opens=opens)
            await self.exactly(f"/files?siteId={site}&q=keel", "files", within, opens=opens)

    # -- sites, lists, items

    async def places(self) -> None:
        sites = self.ruled.sites
        await self.exactly("/sites?", "sites", sites)
        await self.exactly("/sites?q=keel", "sites", sites)
        await self.exactly("/sites?", "sites", sites, limit=1)
        for site in sites:
            opens = self.opens(site, self.below_site(site))
            lists = {one for one, of in self.ruled.lists.items() if of == site}
            path = f"/sites/{site}/lists?"
            await self.exactly(path, "lists", lists - self.ruled.hidden, opens=opens)
            await self.exactly(f"{path}includeHidden=true", "lists", lists, opens=opens)
            await self.exactly(f"{path}includeHidden=true", "lists", lists, opens=opens, limit=1)
            await self.libraries(site, opens)

    async def libraries(self, site: str, opens: bool | None) -> None:
        """Look at a site's libraries: they are there when something in them is to be seen."""
        answer = await self.get(f"/sites/{site}/drives")
        if not self.answers(answer, opens, "drives"):
            return
        shown = {one["rootFolderId"].split(":")[2] for one in answer.json()["drives"]}
        for top, of in self.ruled.tops.items():
            drive = self.ruled.things[top].drive
            known = {one for one in self.ruled.files if self.ruled.things[one].drive == drive}
            if of == site and known & self.allowed and drive not in shown:
                self.wrong.append(f"library {drive} holds something visible and is not listed")
            if drive in shown and (of != site or not known & self.unblocked):
                self.wrong.append(f"library {drive} is blocked, or elsewhere, and listed")

    async def items(self) -> None:
        for one in self.ruled.lists:
            rows = {row for row in self.ruled.rows if self.list_of(row) == one}
            opens = self.opens(one, rows)
            path = f"{self.items_path(one)}?"
            await self.exactly(path, "items", rows, opens=opens)
            await self.exactly(path, "items", rows, opens=opens, limit=1)
            await self.exactly(f"{path}orderBy=Title desc", "items", rows, opens=opens, limit=2)
            everything = f"{path}filter=id ge 0"
            await self.exactly(everything, "items", rows, opens=opens)
            if one not in {self.list_of(row) for row in self.ruled.faces}:
                noted = f"{path}filter=contains(Note,'keel')"
                await self.exactly(noted, "items", rows, opens=opens)

    # -- search

    async def searches(self) -> None:
        for kinds in (*KINDS, ",".join(KINDS)):
            hits = await self.hits(f"/search?q=keel&entityTypes={kinds}")
            wanted = {self.face(one) for one in self.found[kinds]} & self.allowed
            self.compare(f"search of {kinds}", {self.face(one) for one in hits}, wanted)
        for site in self.ruled.sites:
            path = f"/search?q=keel&siteId={site}"
            if not self.answers(
                await self.get(path), self.opens(site, self.below_site(site)), path
            ):
                continue
            hits = await self.hits(path)
            known = {self.face(one) for one in self.found[",".join(KINDS)]}
            wanted = {one for one in known if self.site_of(one) == site} & self.allowed
            self.compare(path, {self.face(one) for one in hits}, wanted)

    async def hits(self, path: str) -> list[str]:
        """Go through all pages of a search."""
        found: list[str] = []
        start = 0
        while True:
            body = (await self.get(f"{path}&from={start}&limit=40")).json()
            found += [one["id"] for one in body["hits"]]
            start += 40
            if not body["moreResultsAvailable"]:
                return found

    # -- GraphQL

    async def graphql(self) -> None:
        """Read everything by id and by lists in documents of many aliases."""
        asks: dict[str, tuple[str, str]] = {}  # field -> the thing, and where its id stands
        for file in self.ruled.files:
            of = f'(fileId: "{file}")'
            members = "id name parentFolderId parentFolderName labels { sensitivityLabelId }"
            asks[f"collabFile{of} {{ file {{ {members} }} }}"] = (file, "file")
            asks[f"collabFileLink{of} {{ fileName webViewLink downloadUrl }}"] = (file, "")
            asks[f"collabFilePermissions{of} {{ permissions {{ id }} }}"] = (file, "")
            asks[f"fileSensitivityLabel{of} {{ labelId }}"] = (file, "")
        for site in self.ruled.sites:
            asks[f'collabSite(siteId: "{site}") {{ id name displayName }}'] = (site, "*")
        for one, site in self.ruled.lists.items():
            of = f'(siteId: "{site}", listId: "{one}")'
            asks[f"collabList{of} {{ id displayName siteName }}"] = (one, "*")
        for row in self.ruled.rows:
            one = self.list_of(row)
            of = f'(siteId: "{self.ruled.lists[one]}", listId: "{one}", itemId: "{row}")'
            members = "id name siteName listName fields labels { sensitivityLabelName }"
            asks[f"collabListItem{of} {{ {members} }}"] = (row, "*")
        fields = list(asks)
        for at in range(0, len(fields), PER_DOCUMENT):
            some = fields[at : at + PER_DOCUMENT]
            document = " ".join(f"a{n}: {text}" for n, text in enumerate(some))
            body = await self.ask(f"{{ {document} }}")
            codes = {one["path"][0]: one["extensions"]["code"] for one in body.get("errors", ())}
            for n, text in enumerate(some):
                self.aliased(text, *asks[text], body["data"][f"a{n}"], codes.get(f"a{n}"))
        await self.graphql_lists()

    def aliased(self, text: str, thing: str, at: str, value: Any, code: str | None) -> None:
        """Look at one alias: what is not allowed is null, with the code BLOCKED."""
        if thing not in self.allowed:
            if value is not None or code != "BLOCKED":
                self.wrong.append(f"{text} of what is not allowed: {value} {code}")
        elif value is None:
            # A folder has no bytes, and some labels cannot be read.
            if code not in ("INVALID_REQUEST", "PROVIDER_ERROR"):
                self.wrong.append(f"{text} of what is allowed: {code}")
        elif at and (value if at == "*" else value[at])["id"] != thing:
            self.wrong.append(f"{text} shows {value}")

    async def graphql_lists(self) -> None:
        tops, sites = self.ruled.tops, self.ruled.sites
        body = await self.ask(
            """{ files: collabFiles(q: "keel", limit: 100) { ...F }
                 again: collabFiles(limit: 100) { ...F }
                 sites: collabSites(limit: 100) { sites { id displayName } } }
               fragment F on DriveFilePage { hasMore files { ... on DriveFile {
                 id name folder: parentFolderId called: parentFolderName } } }"""
        )
        data = body["data"]
        at_top = {one for top in tops for one in self.ruled.inside(top)}
        everywhere = {one for one in self.ruled.files if one not in tops}
        for name, wanted in (("files", everywhere), ("again", at_top)):
            if not data[name]["hasMore"]:
                self.compare(f"GraphQL {name}", _ids(data[name]["files"]), wanted & self.allowed)
        shown = _ids(data["sites"]["sites"])
        self.compare("GraphQL sites", shown, set(sites) & self.allowed)
        for one, site in self.ruled.lists.items():
            body = await self.ask(
                f"""{{ items: collabListItems(siteId: "{site}", listId: "{one}", limit: 100) {{
                    items {{ id name siteName listName fields }} }} }}"""
            )
            rows = {row for row in self.ruled.rows if self.list_of(row) == one}
            items = body["data"]["items"]
            if items is not None:
                self.compare(f"GraphQL items of {one}", _ids(items["items"]), rows & self.allowed)
            elif self.opens(one, rows):
                self.wrong.append(f"GraphQL items of {one}: {body['errors']}")

    # -- parts

    async def get(self, path: str) -> httpx.Response:
        answer = await self.ruled.content.get(path, self.token)
        self.calls += 1
        if answer.status_code not in (200, 400, 404, 502):
            self.wrong.append(f"{path}: {answer.status_code} {answer.text}")
        self.no_leak(path, answer.json())
        return answer

    async def ask(self, document: str) -> Any:
        body = await self.ruled.content.ask(document, self.token)
        self.calls += 1
        self.no_leak(document, body)
        return body

    def no_leak(self, path: str, body: object) -> None:
        """Look for names and ids of what may not be seen anywhere in an answer."""
        for key, text in leaves(body):
            if key in TELLS_PLACES:
                continue
            if text in self.ruled.things and text not in self.allowed and text not in self.holders:
                self.wrong.append(f"{path}: {key} is the id of what is not allowed: {text}")
            for word in WORD.findall(text):
                if word not in self.seen_words:
                    self.wrong.append(f"{path}: {key} tells the name of what is not allowed")

    @property
    def holders(self) -> set[str]:
        """The tops of libraries that hold something unblocked: they stand for the library."""
        return {
            top
            for top in self.ruled.tops
            if any(self.same_drive(top, one) for one in self.unblocked if self.is_file(one))
        }

    @property
    def seen_words(self) -> set[str]:
        """The words of what is allowed, and of libraries that hold something unblocked."""
        return {self.ruled.words[self.face(one)] for one in self.allowed | self.holders}

    async def exactly(
        self,
        path: str,
        member: str,
        things: Iterable[str],
        *,
        opens: bool | None = True,
        limit: int = 100,
    ) -> None:
        """Go through all pages of a listing: what is allowed of *things*, each once."""
        shown: list[str] = []
        token = None
        while True:
            more = f"&pageToken={token}" if token else ""
            answer = await self.get(f"{path}&limit={limit}{more}")
            if not self.answers(answer, opens, path):
                return
            body = answer.json()
            shown += [one["id"] for one in body[member]]
            token = body["nextPageToken"]
            if len(body[member]) > limit or body["hasMore"] is not (token is not None):
                self.wrong.append(f"{path}: a page of {len(body[member])}, {body['hasMore']}")
            if token is None:
                break
        if len(shown) != len(set(shown)):
            self.wrong.append(f"{path}: something twice")
        self.compare(path, set(shown), set(things) & self.allowed)

    def answers(self, answer: httpx.Response, opens: bool | None, path: str) -> bool:
        """Say whether a container answered, and note when it had to do otherwise."""
        blocked = answer.status_code == 404 and answer.json()["error"] == "BLOCKED"
        if not blocked and answer.status_code != 200:
            self.wrong.append(f"{path}: {answer.status_code} {answer.text}")
        elif opens is blocked:
            self.wrong.append(f"{path}: should {'answer' if opens else 'be blocked'}")
        return answer.status_code == 200

    def opens(self, place: str, below: Collection[str]) -> bool | None:
        """Say whether a container must answer; None: it may."""
        if place in self.allowed:
            return True
        if place not in self.unblocked:
            return False
        return True if self.allowed & {self.face(one) for one in below} else None

    def compare(self, path: str, shown: set[str], wanted: set[str]) -> None:
        if shown - wanted:
            self.wrong.append(f"{path}: shows too much: {sorted(shown - wanted)}")
        if wanted - shown:
            self.wrong.append(f"{path}: shows too little: {sorted(wanted - shown)}")

    def face(self, one: str) -> str:
        return self.ruled.faces.get(one, one)

    def list_of(self, row: str) -> str:
        return row.partition(":item:")[0]

    def items_path(self, one: str) -> str:
        return f"/sites/{self.ruled.lists[one]}/lists/{one}/items"

    def site_of(self, one: str) -> str:
        return f"collab:site:{self.ruled.things[one].site}"

    def is_file(self, one: str) -> bool:
        return one in self.ruled.things and bool(self.ruled.things[one].item)

    def same_drive(self, one: str, other: str) -> bool:
        return self.ruled.things[one].drive == self.ruled.things[other].drive

    def below_site(self, site: str) -> set[str]:
        return {one for one in self.ruled.things if one != site and self.site_of(one) == site}


async def found_by_search(ruled: Ruled, token: str) -> dict[str, set[str]]:
    """Return what each search for everything finds with a token that sees everything."""
    shown = Shown(ruled, token, set(ruled.things), set(ruled.things), {})
    found = {}
    for kinds in (*KINDS, ",".join(KINDS)):
        found[kinds] = set(await shown.hits(f"/search?q=keel&entityTypes={kinds}"))
    return found


def leaves(value: object, key: str = "") -> Iterator[tuple[str, str]]:
    """Yield every text of an answer with the name of its member, people aside."""
    if isinstance(value, dict):
        for name, inner in value.items():
            if not (name == "displayName" and "role" in value):  # a group may be named as its site
                yield from leaves(inner, name)
    elif isinstance(value, list):
        for inner in value:
            yield from leaves(inner, key)
    elif isinstance(value, str):
        yield key, value


def _ids(things: Iterable[dict[str, Any]]) -> set[str]:
    return {one["id"] for one in things}
