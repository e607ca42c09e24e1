"""What a token is shown of a generated world by GraphQL; see `visibility_oracle`."""

from collections.abc import Iterable
from typing import Any

from visibility_oracle import Showing

PER_DOCUMENT = 20  # fields of one document that touch upstream; decisions 13


class ShownByGraphQL(Showing):
    """Looks by documents of many aliases, and by listings."""

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


def _ids(things: Iterable[dict[str, Any]]) -> set[str]:
    return {one["id"] for one in things}
