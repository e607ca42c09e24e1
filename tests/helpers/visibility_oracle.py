"""
Comparison of responses with what the rule oracle allows in a generated world.

A container that is not allowed itself may be listed while something below it is allowed. Whether it
is open when nothing below it is allowed is not specified: docs/spec/rules.md#containers.
"""

import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass, field
from typing import Any

import httpx
from generated_content import GeneratedContent

WORD = re.compile(r"\bn\d+n\b")
# Addresses contain the names of all ancestors, and a library that rules can match in is listed
# whether or not they match: docs/spec/rules.md#surroundings, docs/spec/rules.md#containers.
ADDRESS_MEMBERS = frozenset({"webUrl", "webViewLink", "downloadUrl", "rootFolderId"})


@dataclass
class VisibilityChecker:
    """
    Reads with one token, and records mismatches.

    Attributes:
        allowed: The ids that the oracle allows.
        unblocked: The ids that no block rule matches.
        searchable: Search kinds -> the hits of an unrestricted token.
        mismatches: One sentence each.
    """

    generated: GeneratedContent
    token: str
    allowed: set[str]
    unblocked: set[str]
    searchable: dict[str, set[str]]
    mismatches: list[str] = field(default_factory=list)
    calls: int = 0

    async def get(self, path: str) -> httpx.Response:
        response = await self.generated.content.get(path, self.token)
        self.calls += 1
        if response.status_code not in (200, 400, 404, 502):
            self.mismatches.append(f"{path}: {response.status_code} {response.text}")
        self.check_no_leak(path, response.json())
        return response

    async def ask(self, document: str) -> Any:
        body = await self.generated.content.graphql(document, self.token)
        self.calls += 1
        self.check_no_leak(document, body)
        return body

    def check_no_leak(self, path: str, body: object) -> None:
        """Check that a response contains no name or id of a hidden resource."""
        for key, text in leaves(body):
            if key in ADDRESS_MEMBERS:
                continue
            if (
                text in self.generated.facts
                and text not in self.allowed
                and text not in self.shown_roots
            ):
                self.mismatches.append(f"{path}: {key} is the id of a hidden resource: {text}")
            for word in WORD.findall(text):
                if word not in self.visible_words:
                    self.mismatches.append(f"{path}: {key} has the name of a hidden resource")

    @property
    def shown_roots(self) -> set[str]:
        """The roots of libraries that hold something unblocked: they stand for the library."""
        return {
            root
            for root in self.generated.roots
            if any(self.same_drive(root, file) for file in self.unblocked if self.is_file(file))
        }

    @property
    def visible_words(self) -> set[str]:
        """The words of allowed resources, and of libraries that hold something unblocked."""
        return {
            self.generated.words[self.canonical_id(resource_id)]
            for resource_id in self.allowed | self.shown_roots
        }

    def check_open(self, response: httpx.Response, expected: bool | None, path: str) -> bool:
        """Return whether a container is open, and check that against *expected*; None: either."""
        blocked = response.status_code == 404 and response.json()["error"] == "BLOCKED"
        if not blocked and response.status_code != 200:
            self.mismatches.append(f"{path}: {response.status_code} {response.text}")
        elif expected is blocked:
            self.mismatches.append(f"{path}: should {'answer' if expected else 'be blocked'}")
        return response.status_code == 200

    def must_be_open(self, place: str, below: Collection[str]) -> bool | None:
        """Return whether a container must be open; None if that is not specified."""
        if place in self.allowed:
            return True
        if place not in self.unblocked:
            return False
        return True if self.allowed & {self.canonical_id(file) for file in below} else None

    def compare(self, path: str, shown: set[str], wanted: set[str]) -> None:
        if shown - wanted:
            self.mismatches.append(f"{path}: shows too much: {sorted(shown - wanted)}")
        if wanted - shown:
            self.mismatches.append(f"{path}: shows too little: {sorted(wanted - shown)}")

    def canonical_id(self, resource_id: str) -> str:
        return self.generated.row_files.get(resource_id, resource_id)

    def list_of(self, row: str) -> str:
        return row.partition(":item:")[0]

    def items_path(self, list_id: str) -> str:
        return f"/sites/{self.generated.lists[list_id]}/lists/{list_id}/items"

    def site_of(self, resource_id: str) -> str:
        return f"collab:site:{self.generated.facts[resource_id].site}"

    def is_file(self, resource_id: str) -> bool:
        return resource_id in self.generated.facts and bool(self.generated.facts[resource_id].item)

    def same_drive(self, resource_id: str, other: str) -> bool:
        return self.generated.facts[resource_id].drive == self.generated.facts[other].drive

    def below_site(self, site: str) -> set[str]:
        return {
            resource_id
            for resource_id in self.generated.facts
            if resource_id != site and self.site_of(resource_id) == site
        }


def leaves(value: object, key: str = "") -> Iterator[tuple[str, str]]:
    """Yield every text of a response with the name of its member, except people."""
    if isinstance(value, dict):
        for name, inner in value.items():
            if not (name == "displayName" and "role" in value):  # a group may be named as its site
                yield from leaves(inner, name)
    elif isinstance(value, list):
        for inner in value:
            yield from leaves(inner, key)
    elif isinstance(value, str):
        yield key, value
