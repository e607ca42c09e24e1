"""
What a token may be shown of a generated world, by the oracle, and how answers are held against it.

A container that is not allowed itself may be listed as long as something below it is; whether it
answers when nothing is is not fixed (decisions 4: "when an allow rule can match below it").
"""

import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass, field
from typing import Any

import httpx
from generated_content import Ruled

WORD = re.compile(r"\bn\d+n\b")
# Addresses hold the names of all folders on the way (contract); a library that rules can match in
# is listed whether or not they do (decisions 16).
TELLS_PLACES = frozenset({"webUrl", "webViewLink", "downloadUrl", "rootFolderId"})


@dataclass
class Showing:
    """
    Looks with one token, and notes what is wrong.

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
