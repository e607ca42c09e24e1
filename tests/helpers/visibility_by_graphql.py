"""Checks of a generated world over GraphQL; see `visibility_oracle`."""

from collections.abc import Iterable
from typing import Any

from visibility_oracle import VisibilityChecker

PER_DOCUMENT = 20  # upstream fields of one document; docs/spec/graphql.md#document-limits


class GraphQLVisibilityChecker(VisibilityChecker):
    """Reads by documents with many aliases, and by listings."""

    async def check_graphql(self) -> None:
        """Read everything by id in documents with many aliases, and by listings."""
        targets: dict[
            str, tuple[str, str]
        ] = {}  # field -> the resource, and the member with its id
        for file in self.generated.files:
            arguments = f'(fileId: "{file}")'
            members = "id name parentFolderId parentFolderName labels { sensitivityLabelId }"
            targets[f"collabFile{arguments} {{ file {{ {members} }} }}"] = (file, "file")
            targets[f"collabFileLink{arguments} {{ fileName webViewLink downloadUrl }}"] = (
                file,
                "",
            )
            targets[f"collabFilePermissions{arguments} {{ permissions {{ id }} }}"] = (file, "")
            targets[f"fileSensitivityLabel{arguments} {{ labelId }}"] = (file, "")
        for site in self.generated.sites:
            targets[f'collabSite(siteId: "{site}") {{ id name displayName }}'] = (site, "*")
        for list_id, site in self.generated.lists.items():
            arguments = f'(siteId: "{site}", listId: "{list_id}")'
            targets[f"collabList{arguments} {{ id displayName siteName }}"] = (list_id, "*")
        for row in self.generated.rows:
            list_id = self.list_of(row)
            arguments = (
                f'(siteId: "{self.generated.lists[list_id]}", listId: "{list_id}", itemId: "{row}")'
            )
            members = "id name siteName listName fields labels { sensitivityLabelName }"
            targets[f"collabListItem{arguments} {{ {members} }}"] = (row, "*")
        fields = list(targets)
        for at in range(0, len(fields), PER_DOCUMENT):
            chunk = fields[at : at + PER_DOCUMENT]
            document = " ".join(f"a{n}: {text}" for n, text in enumerate(chunk))
            body = await self.ask(f"{{ {document} }}")
            codes = {
                error["path"][0]: error["extensions"]["code"] for error in body.get("errors", ())
            }
            for n, text in enumerate(chunk):
                self.check_alias(text, *targets[text], body["data"][f"a{n}"], codes.get(f"a{n}"))
        await self.check_graphql_lists()

    def check_alias(
        self, text: str, resource_id: str, at: str, value: Any, code: str | None
    ) -> None:
        """Check one alias: a hidden resource is null with the code BLOCKED."""
        if resource_id not in self.allowed:
            if value is not None or code != "BLOCKED":
                self.mismatches.append(f"{text} of what is not allowed: {value} {code}")
        elif value is None:
            # A folder has no bytes, and chunk labels cannot be read.
            if code not in ("INVALID_REQUEST", "PROVIDER_ERROR"):
                self.mismatches.append(f"{text} of what is allowed: {code}")
        elif at and (value if at == "*" else value[at])["id"] != resource_id:
            self.mismatches.append(f"{text} shows {value}")

    async def check_graphql_lists(self) -> None:
        roots, sites = self.generated.roots, self.generated.sites
        body = await self.ask(
            """{ files: collabFiles(q: "keel", limit: 100) { ...F }
                 again: collabFiles(limit: 100) { ...F }
                 sites: collabSites(limit: 100) { sites { id displayName } } }
               fragment F on DriveFilePage { hasMore files { ... on DriveFile {
                 id name folder: parentFolderId called: parentFolderName } } }"""
        )
        data = body["data"]
        at_top = {file for root in roots for file in self.generated.inside(root)}
        everywhere = {file for file in self.generated.files if file not in roots}
        for name, wanted in (("files", everywhere), ("again", at_top)):
            if not data[name]["hasMore"]:
                self.compare(f"GraphQL {name}", _ids(data[name]["files"]), wanted & self.allowed)
        shown = _ids(data["sites"]["sites"])
        self.compare("GraphQL sites", shown, set(sites) & self.allowed)
        for list_id, site in self.generated.lists.items():
            body = await self.ask(
                f"""{{ items: collabListItems(siteId: "{site}", listId: "{list_id}", limit: 100) {{
                    items {{ id name siteName listName fields }} }} }}"""
            )
            rows = {row for row in self.generated.rows if self.list_of(row) == list_id}
            items = body["data"]["items"]
            if items is not None:
                self.compare(
                    f"GraphQL items of {list_id}", _ids(items["items"]), rows & self.allowed
                )
            elif self.must_be_open(list_id, rows):
                self.mismatches.append(f"GraphQL items of {list_id}: {body['errors']}")


def _ids(things: Iterable[dict[str, Any]]) -> set[str]:
    return {thing["id"] for thing in things}
