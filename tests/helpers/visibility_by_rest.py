"""Checks of a generated world by every path of REST and GraphQL: exactly the allowed is shown."""

from collections.abc import Collection, Iterable
from typing import Any

import httpx
from generated_content import GeneratedContent
from visibility_by_graphql import GraphQLVisibilityChecker

KINDS = ("driveItem", "listItem", "list", "site")


class RestVisibilityChecker(GraphQLVisibilityChecker):
    """Reads everything with one token."""

    async def check_everything(self) -> list[str]:
        """Read by every path; return the mismatches."""
        await self.check_reads_by_id()
        await self.check_file_listings()
        await self.check_sites_and_lists()
        await self.check_items()
        await self.check_searches()
        await self.check_graphql()
        return self.mismatches

    # -- by id

    async def check_reads_by_id(self) -> None:
        for file in self.generated.files:
            folder = self.generated.is_folder(file)
            await self.check_read(f"/files/{file}", file)
            await self.check_read(f"/files/{file}/permissions", file)
            await self.check_read(f"/files/{file}/sensitivity-label", file, also=(502,))
            link = await self.check_read(f"/files/{file}/download", file, also=(400,) * folder)
            if link is not None and not folder:
                await self.check_download(file, link["downloadUrl"])
        for site in self.generated.sites:
            await self.check_read(f"/sites/{site}", site)
        for list_id, site in self.generated.lists.items():
            await self.check_read(f"/sites/{site}/lists/{list_id}", list_id)
        for row in self.generated.rows:
            await self.check_read(f"{self.items_path(self.list_of(row))}/{row}", row)

    async def check_read(
        self, path: str, resource_id: str, *, also: Collection[int] = ()
    ) -> dict[str, Any] | None:
        """Read one resource: 200 when it is allowed, else 404 BLOCKED."""
        response = await self.get(path)
        body: dict[str, Any] = response.json()
        if resource_id not in self.allowed:
            if (response.status_code, body["error"]) != (404, "BLOCKED"):
                self.mismatches.append(f"{path} of what is not allowed: {response.text}")
        elif response.status_code not in (200, *also):
            self.mismatches.append(f"{path} of what is allowed: {response.text}")
        elif response.status_code == 200:
            shown = body.get("file", body).get("id", resource_id)
            if shown != resource_id:
                self.mismatches.append(f"{path} shows {shown}")
            return body
        return None

    async def check_download(self, file: str, url: str) -> None:
        """Check the bytes behind a download link."""
        sandbox = self.generated.content.world.gateway
        async with httpx.AsyncClient(transport=httpx.ASGITransport(sandbox)) as client:
            response = await client.get(url)
        word = self.generated.words[file].encode()
        if response.status_code != 200 or (
            b"keel" in response.content and word not in response.content
        ):
            self.mismatches.append(f"{file}: other bytes than its own")

    # -- files in lists

    async def check_file_listings(self) -> None:
        roots = self.generated.roots
        at_top = {file for root in roots for file in self.generated.inside(root)}
        for query in ("", "&orderBy=name", "&orderBy=size asc", "&orderBy=created_time"):
            await self.check_listing(f"/files?{query}", "files", at_top)
        everywhere = {file for file in self.generated.files if file not in roots}
        await self.check_listing("/files?q=keel", "files", everywhere)
        await self.check_listing("/files?q=keel", "files", everywhere, limit=3)
        await self.check_listing("/files?", "files", at_top, limit=2)
        for folder in self.generated.files:
            if not self.generated.is_folder(folder):
                continue
            inside, below = set(self.generated.inside(folder)), set(self.generated.below(folder))
            expected = self.must_be_open(folder, below)
            path = f"/files?folderId={folder}"
            await self.check_listing(path, "files", inside, expected=expected)
            await self.check_listing(path, "files", inside, expected=expected, limit=1)
            await self.check_listing(
                f"{path}&orderBy=name", "files", inside, expected=expected, limit=2
            )
            await self.check_listing(f"{path}&q=keel", "files", below, expected=expected)
            texts = {
                file for file in inside if self.generated.facts[file].mime.startswith("image/")
            }
            await self.check_listing(f"{path}&mimeType=image/*", "files", texts, expected=expected)
        for site in self.generated.sites:
            inside = {
                file
                for root in roots
                if roots[root] == site
                for file in self.generated.inside(root)
            }
            within = {
                resource_id for resource_id in everywhere if self.site_of(resource_id) == site
            }
            expected = self.must_be_open(site, self.below_site(site))
            await self.check_listing(f"/files?siteId={site}", "files", inside, expected=expected)
            await self.check_listing(
                f"/files?siteId={site}&q=keel", "files", within, expected=expected
            )

    # -- sites, lists, items

    async def check_sites_and_lists(self) -> None:
        sites = self.generated.sites
        await self.check_listing("/sites?", "sites", sites)
        await self.check_listing("/sites?q=keel", "sites", sites)
        await self.check_listing("/sites?", "sites", sites, limit=1)
        for site in sites:
            expected = self.must_be_open(site, self.below_site(site))
            lists = {list_id for list_id, of in self.generated.lists.items() if of == site}
            path = f"/sites/{site}/lists?"
            await self.check_listing(
                path, "lists", lists - self.generated.hidden, expected=expected
            )
            await self.check_listing(f"{path}includeHidden=true", "lists", lists, expected=expected)
            await self.check_listing(
                f"{path}includeHidden=true", "lists", lists, expected=expected, limit=1
            )
            await self.check_libraries(site, expected)

    async def check_libraries(self, site: str, expected: bool | None) -> None:
        """Check the libraries of a site: those with something visible are listed."""
        response = await self.get(f"/sites/{site}/drives")
        if not self.check_open(response, expected, "drives"):
            return
        shown = {drive["rootFolderId"].split(":")[2] for drive in response.json()["drives"]}
        for root, of in self.generated.roots.items():
            drive = self.generated.facts[root].drive
            known = {
                file for file in self.generated.files if self.generated.facts[file].drive == drive
            }
            if of == site and known & self.allowed and drive not in shown:
                self.mismatches.append(f"library {drive} holds something visible and is not listed")
            if drive in shown and (of != site or not known & self.unblocked):
                self.mismatches.append(f"library {drive} is blocked, or elsewhere, and listed")

    async def check_items(self) -> None:
        for list_id in self.generated.lists:
            rows = {row for row in self.generated.rows if self.list_of(row) == list_id}
            expected = self.must_be_open(list_id, rows)
            path = f"{self.items_path(list_id)}?"
            await self.check_listing(path, "items", rows, expected=expected)
            await self.check_listing(path, "items", rows, expected=expected, limit=1)
            await self.check_listing(
                f"{path}orderBy=Title desc", "items", rows, expected=expected, limit=2
            )
            everything = f"{path}filter=id ge 0"
            await self.check_listing(everything, "items", rows, expected=expected)
            if list_id not in {self.list_of(row) for row in self.generated.row_files}:
                noted = f"{path}filter=contains(Note,'keel')"
                await self.check_listing(noted, "items", rows, expected=expected)

    # -- search

    async def check_searches(self) -> None:
        for kinds in (*KINDS, ",".join(KINDS)):
            hits = await self.search_hits(f"/search?q=keel&entityTypes={kinds}")
            projection = {
                self.canonical_id(resource_id) for resource_id in self.searchable[kinds]
            } & self.allowed
            self.compare(f"search of {kinds}", {self.canonical_id(hit) for hit in hits}, projection)
        for site in self.generated.sites:
            path = f"/search?q=keel&siteId={site}"
            if not self.check_open(
                await self.get(path), self.must_be_open(site, self.below_site(site)), path
            ):
                continue
            hits = await self.search_hits(path)
            known = {
                self.canonical_id(resource_id) for resource_id in self.searchable[",".join(KINDS)]
            }
            projection = {
                resource_id for resource_id in known if self.site_of(resource_id) == site
            } & self.allowed
            self.compare(path, {self.canonical_id(hit) for hit in hits}, projection)

    async def search_hits(self, path: str) -> list[str]:
        """Return the hits of all pages of a search."""
        hits: list[str] = []
        start = 0
        while True:
            body = (await self.get(f"{path}&from={start}&limit=40")).json()
            hits += [hit["id"] for hit in body["hits"]]
            start += 40
            if not body["moreResultsAvailable"]:
                return hits

    # -- parts

    async def check_listing(
        self,
        path: str,
        member: str,
        things: Iterable[str],
        *,
        expected: bool | None = True,
        limit: int = 100,
    ) -> None:
        """Check that all pages of a listing show the allowed of *things*, each once."""
        shown: list[str] = []
        token = None
        while True:
            more = f"&pageToken={token}" if token else ""
            response = await self.get(f"{path}&limit={limit}{more}")
            if not self.check_open(response, expected, path):
                return
            body = response.json()
            shown += [entry["id"] for entry in body[member]]
            token = body["nextPageToken"]
            if len(body[member]) > limit or body["hasMore"] is not (token is not None):
                self.mismatches.append(f"{path}: a page of {len(body[member])}, {body['hasMore']}")
            if token is None:
                break
        if len(shown) != len(set(shown)):
            self.mismatches.append(f"{path}: something twice")
        self.compare(path, set(shown), set(things) & self.allowed)


async def find_searchable(generated: GeneratedContent, token: str) -> dict[str, set[str]]:
    """Return what each kind of search for everything finds with an unrestricted token."""
    checker = RestVisibilityChecker(
        generated, token, set(generated.facts), set(generated.facts), {}
    )
    searchable = {}
    for kinds in (*KINDS, ",".join(KINDS)):
        searchable[kinds] = set(await checker.search_hits(f"/search?q=keel&entityTypes={kinds}"))
    return searchable
