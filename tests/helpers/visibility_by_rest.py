"""
What a token is shown of a generated world, by every path of REST and by GraphQL, held against what
the oracle allows: shown is exactly what is allowed, and nothing tells of the rest.
"""

from collections.abc import Collection, Iterable
from typing import Any

import httpx
from generated_content import Ruled
from visibility_by_graphql import ShownByGraphQL

KINDS = ("driveItem", "listItem", "list", "site")


class Shown(ShownByGraphQL):
    """Looks at everything with one token."""

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

    # -- parts

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


async def found_by_search(ruled: Ruled, token: str) -> dict[str, set[str]]:
    """Return what each search for everything finds with a token that sees everything."""
    shown = Shown(ruled, token, set(ruled.things), set(ruled.things), {})
    found = {}
    for kinds in (*KINDS, ",".join(KINDS)):
        found[kinds] = set(await shown.hits(f"/search?q=keel&entityTypes={kinds}"))
    return found
