"""
Two content accounts with settings of their own, against tokens that reach one of them each.

What a token with `accounts` is shown of an object is what a token shows that reaches the first
account alone whose settings admit the call and that sees the object, and that has the settings of
this account: docs/spec/tokens.md#several-accounts-of-one-surface.
"""

import random

import content_world
import msgspec
import pytest
from content_world import ANN, BOB
from run_sizes import times

from policy.vocabulary import CollabField

READS = [
    *("list_files", "search_files", "get_file_metadata", "download_file", "read_sites"),
    *("read_lists", "read_list_item", "read_sensitivity_labels", "search_content"),
]
WORDS = [word.value for word in CollabField]
REFUSED = {"OPERATION_NOT_ALLOWED", "FIELD_NOT_VISIBLE"}
FILES = ("letter", "diary", "plan", "boats", "notes", "own", "hull")


@pytest.fixture
async def shared(content):
    """Content in which each of two accounts has a file of its own; and their connections."""
    content.connections = await content_world.give_bob_an_account(content)
    return content


def chosen_settings(chance):
    """Return settings of one account."""
    some = lambda values, share: [each for each in values if chance.random() < share]  # noqa: E731
    return {
        "allowedCollabOperations": some(READS, chance.choice([0.5, 0.8, 1])),
        "visibleCollabFields": chance.choice([["all"], some(WORDS, 0.7), some(WORDS, 0.95)]),
        "collabSearchTotals": chance.choice(["visible", "unfiltered"]),
    }


def calls(content):
    """Return calls about one object, and listings with the members that hold the objects."""
    sites = [content.id(name) for name in ("company", "yard", "mine", "his")]
    berths = content.path("berths")
    one = [
        *(
            f"/files/{content.id(name)}{part}"
            for name in FILES
            for part in ("", "/download", "/permissions", "/sensitivity-label", "/text")
        ),
        *(f"/sites/{site}" for site in sites),
        *(f"/sites/{site}/{part}" for site in sites for part in ("drives", "lists")),
        *(f"/files?siteId={site}" for site in sites),
        f"/files?folderId={content.id('boats')}&orderBy=name",
        f"/files?folderId={content.id('bobs')}",
        berths,
        content.path("berths", 0),
        content.path("berths", 1),
        f"{content.path('berths', 0)}?filter=Length eq 4",
        f"{content.path('berths', 0)}?orderBy=Title",
        f"{content.path('crew', 1)}",
    ]
    listings = [
        ("/files", "files"),
        ("/files?name=t", "files"),
        ("/files?orderBy=size", "files"),
        ("/sites", "sites"),
        ("/sites?q=a", "sites"),
        ("/search?q=keel", "hits"),
        ("/search?q=title:notes", "hits"),
    ]
    return one, listings


def stripped(value):
    """Return a body without what tells of the whole token, and without what passes."""
    if isinstance(value, dict):
        return {
            name: (name in {"downloadUrl", "expiresAt"} and member is not None) or stripped(member)
            for name, member in value.items()
            if name not in {"accessInfo", "requestId"}
        }
    return [stripped(each) for each in value] if isinstance(value, list) else value


class World:
    """The calls of a token with two accounts, and of tokens that reach one of them each."""

    def __init__(self, content, settings):
        self.content, self.settings = content, settings

    async def open(self):
        ids = self.content.connections
        accounts = {str(ids[name]): own for name, own in self.settings.items()}
        self.token = await self.content.token(accounts=accounts)
        self.alone = [
            await self.content.token(**self.settings[name], allowedConnectionIds=[ids[name]])
            for name in (ANN, BOB)
        ]
        return self

    async def answers(self, path):
        """Return the answer of the token, and those of the accounts that admit the call."""
        answer = await self.content.get(path, self.token)
        alone = [await self.content.get(path, token) for token in self.alone]
        admitted = [each for each in alone if each.json().get("error") not in REFUSED]
        return answer, admitted, alone

    async def check_one(self, path):
        answer, admitted, alone = await self.answers(path)
        if not admitted:
            refusals = [(each.status_code, each.json()["error"]) for each in alone]
            assert (answer.status_code, answer.json()["error"]) in refusals, path
            return False
        seen = next((each for each in admitted if each.status_code != 404), admitted[0])
        told = answer.json()
        assert (answer.status_code, told.get("error")) == (
            seen.status_code,
            seen.json().get("error"),
        ), (path, answer.text)
        if answer.status_code == 200:
            assert stripped(told) == stripped(seen.json()), path
        return seen is not alone[0]

    async def check_listing(self, path, member):
        answer, admitted, alone = await self.answers(path)
        if not admitted:
            refusals = [(each.status_code, each.json()["error"]) for each in alone]
            assert (answer.status_code, answer.json()["error"]) in refusals, path
            return
        assert answer.status_code == 200, answer.text
        expected = {}
        for each in admitted:
            for thing in each.json()[member]:
                expected.setdefault(thing["id"], stripped(thing))
        found = answer.json()
        assert {each["id"]: stripped(each) for each in found[member]} == expected, path
        assert len(found[member]) == len(expected)
        if "total" in found and len(admitted) == 1:
            assert found["total"] == admitted[0].json()["total"]


async def check(content, chance, number):
    one, listings = calls(content)
    from_other = 0
    for _ in range(number):
        world = World(content, {name: chosen_settings(chance) for name in (ANN, BOB)})
        await world.open()
        for path in one:
            from_other += await world.check_one(path)
        for path, member in listings:
            await world.check_listing(path, member)
    return from_other


async def test_an_object_is_shown_as_its_account_allows(shared):
    assert await check(shared, random.Random(1), 2) > 10


@pytest.mark.slow
async def test_objects_are_shown_as_their_accounts_allow(shared):
    number = times(12)
    assert await check(shared, random.Random(20261128), number) > 10 * number


# -- what an account hides changes nothing


HIDDEN = ("name", "description", "web_view_link", "parent_folder")
DOCUMENT = """{
  collabFiles(limit: 100) { files { id name size parent { id } sensitivityLabel { labelId } } }
  collabSearch(q: "keel") { total hits { id title summary file { name owners { email } } } }
  collabSites { sites { id displayName drives { drives { id name } } } }
}"""


async def test_answers_are_the_same_whatever_an_account_hides(shared):
    words = [word for word in WORDS if word not in HIDDEN]
    token = await shared.token(
        accounts={str(shared.connections[ANN]): {"visibleCollabFields": words}}
    )
    one, listings = calls(shared)
    paths = [*one, *(path for path, _ in listings), "/files?limit=1", "/sites?limit=1"]

    async def answers():
        told = [await shared.graphql(DOCUMENT, token)]
        shared.forget_calls()
        for path in paths:
            answer = await shared.get(path, token)
            told.append((path, answer.status_code, stripped(answer.json())))
        return told, len(shared.calls())

    await answers()  # what is kept for a minute
    first, first_calls = await answers()
    shelf = shared.world.sandbox.state.content
    letter = shared.resources["letter"]  # which the other account does not see
    stored = shelf.item(letter.drive_id, letter.id)
    shelf.put(msgspec.structs.replace(stored, name="other.txt", description="Else"))
    shared.make.save()
    second, second_calls = await answers()

    for before, after in zip(first, second, strict=True):
        assert remade(after) == remade(before)
    assert first_calls == second_calls


def remade(value):
    """
    Return an answer without the positions of next pages, which are sealed anew.

    Hits have no order: the search of the provider looks into everything, and ranks by it.
    """
    if isinstance(value, dict):
        known = {name: remade(member) for name, member in value.items() if name != "nextPageToken"}
        if "hits" in known:
            known["hits"].sort(key=lambda hit: hit["id"])
        return {**known, "more": value.get("nextPageToken") is not None}
    return [remade(each) for each in value] if isinstance(value, list | tuple) else value


@pytest.mark.parametrize("narrowed", [ANN, BOB])
async def test_a_missing_file_costs_what_a_blocked_one_costs(shared, narrowed):
    own = {str(shared.connections[narrowed]): {"visibleCollabFields": ["name"]}}
    token = await shared.block_all_token(
        (
            "folder",
            shared.id("boats").removeprefix("collab:drive:").replace(":item:", ":"),
            "allow",
        ),
        ("mime_type", "text/*", "block"),
        accounts=own,
    )
    outcomes = {}
    for name, path in {
        "blocked": shared.id("letter"),
        "missing": f"{shared.id('letter')[:-6]}AAAAAA",
    }.items():
        shared.forget_calls()
        answer = await shared.get(f"/files/{path}", token)
        outcomes[name] = (answer.status_code, answer.json()["error"], len(shared.calls()))

    assert outcomes["blocked"] == outcomes["missing"]
    assert outcomes["missing"][1] == "BLOCKED"
    assert outcomes["missing"][2] > 0
