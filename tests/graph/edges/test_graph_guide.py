"""
The questions of docs/guides/graph.md run against the demo, and cost the calls that the page tells.

The calls are counted at the sandbox, the parts of a batch as one call, when caches are warm.
"""

import re
from functools import reduce

import demo_gateway
import httpx
import pytest
from graphql import parse, print_ast, validate
from paths import REPOSITORY

from gateway.http.pages import starter_documents
from graph import schema

PAGE = REPOSITORY / "docs/guides/graph.md"
STARTERS = ("Promises",)
_QUESTION = re.compile(
    r"^```graphql\n(?P<document>query (?P<name>\w+).*?)^```\n\n"
    r"Upstream calls: (?P<before>\d+) by separate root fields, (?P<after>\d+) by this document\.$",
    re.DOTALL | re.MULTILINE,
)
QUESTIONS = {match["name"]: match for match in _QUESTION.finditer(PAGE.read_text("utf-8"))}
STUDIO, YARD = "nora@harbourlight-studio.example", "nora.lindqvist@harbourlight.example"
FREE = (
    'freeBusy(from: "2026-11-23T07:00:00Z", to: "2026-11-23T17:00:00Z", account: "{}")'
    " {{ calendars {{ calendarName free {{ startUtc durationMinutes }} }} }}"
)
LAST = 'emails(participant: "%", limit: 1) { emails { receivedAt subject bodyPreview } }'
# Question -> the same data by separate requests: each with a root field, and, where it is asked for
# each value of an earlier answer, the keys that lead to the values.
SEPARATE = {
    "Promises": [
        (
            'emails(to: "camille@besson.example", from: "@harbourlight-studio.example", limit: 5)'
            " { emails { sentAt subject bodyPreview from { name } } }",
            None,
        ),
        ('eventsByContact(email: "camille@besson.example", limit: 3) { events { title } }', None),
        ('collabFiles(sharedWith: "camille@besson.example", limit: 5) { files { name } }', None),
    ],
    "Meeting": [
        ('calendarEvents(q: "Besson", limit: 1) { events { title attendees { email } } }', None),
        (LAST, "calendarEvents events attendees email"),
    ],
    "SharedFiles": [
        ('collabFiles(sharedWith: "@oldtown-harbour.example", limit: 10) { files { id } }', None),
        ('collabFilePermissions(fileId: "%") { permissions { role } }', "collabFiles files id"),
    ],
    "Waiting": [
        (f'emails(to: "{STUDIO}", unread: true, limit: 10) {{ emails {{ threadId }} }}', None),
        ('emailThread(threadId: "%") { messages { sentAt } }', "emails emails threadId"),
    ],
    "Slot": [(FREE.format(YARD), None), (FREE.format(STUDIO), None)],
    "Senders": [
        ("emails(limit: 20) { emails { subject threadId from { email } } }", None),
        ('emailThread(threadId: "%") { lastMessageAt }', "emails emails threadId"),
        (LAST, "emails emails from email"),
    ],
    "Colleague": [
        (
            'taskItems(boardId: "4210400051", assigneeEmail: "jonas@harbourlight.example",'
            " limit: 5) { items { name status dueDate } }",
            None,
        ),
        (
            'emails(from: "jonas@harbourlight.example", unread: true, limit: 5)'
            " { emails { receivedAt subject } }",
            None,
        ),
        ('collabFiles(owner: "jonas@harbourlight.example", limit: 5) { files { name } }', None),
    ],
    "Stuck": [
        ("taskBoards(limit: 5) { boards { id name } }", None),
        (
            'taskItems(boardId: "%", status: "Stuck", limit: 5)'
            " { items { name assignees dueDate } }",
            "taskBoards boards id",
        ),
    ],
    "Mentions": [
        ('collabSearch(q: "garboard", entityTypes: "driveItem", limit: 10) { hits { id } }', None),
        (
            'collabFile(fileId: "%") { file { name owners { displayName } parentFolderId } }',
            "collabSearch hits id",
        ),
        ('collabFile(fileId: "%") { file { name } }', "collabFile file parentFolderId"),
    ],
    "Organizers": [
        ("calendarEvents(limit: 5) { events { title startUtc organizer } }", None),
        (
            'emails(from: "%", limit: 1, unread: true) { emails { subject } }',
            "calendarEvents events organizer",
        ),
    ],
}


def test_there_are_ten_questions():
    assert len(QUESTIONS) == 10
    assert set(QUESTIONS) == set(SEPARATE)


@pytest.mark.parametrize("name", QUESTIONS)
def test_the_documents_are_valid(name):
    assert validate(schema.build(), parse(QUESTIONS[name]["document"])) == []


def test_every_other_document_of_the_guide_is_valid():
    documents = re.findall(
        r"^```graphql\n(.*?)^```", PAGE.read_text("utf-8"), re.DOTALL | re.MULTILINE
    )

    assert len(documents) == len(QUESTIONS) + 1
    assert [validate(schema.build(), parse(document)) for document in documents] == [[]] * 11


@pytest.mark.parametrize("name", STARTERS)
def test_starter_tabs_are_documents_of_the_guide(name):
    starters = [print_ast(parse(text)) for text in starter_documents(sandbox=False)]

    assert print_ast(parse(QUESTIONS[name]["document"])) in starters


@pytest.fixture(scope="module")
def demo(tmp_path_factory):
    with demo_gateway.running(tmp_path_factory.mktemp("demo")) as demo:
        yield demo


@pytest.mark.slow
@pytest.mark.parametrize("name", QUESTIONS)
def test_the_questions_cost_the_calls_that_the_guide_tells(demo, name):
    question = QUESTIONS[name]
    for _ in range(2):  # the second time, caches are warm
        before = _separately(demo, SEPARATE[name])
        after, data = _ask(demo, question["document"])

    assert _leaves(data), "the demo has nothing to answer"
    assert (before, after) == (int(question["before"]), int(question["after"]))
    assert after <= before


PAGE_OF_FIFTY = """{ emails(limit: 50) { emails {
    thread { subject messageCount }
    from { person { lastContact { email { receivedAt } } } }
} } }"""


@pytest.mark.slow
def test_a_page_of_fifty_mails_and_what_they_lead_to_stays_within_six_calls(demo):
    for _ in range(2):  # the second time, caches are warm
        calls, data = _ask(demo, PAGE_OF_FIFTY)

    assert 46 <= len(data["emails"]["emails"]) <= 50
    assert calls <= 6


def _separately(demo, steps):
    """Read the data of a question by separate requests; return the calls that they cost."""
    total, answers = 0, []
    for field, keys in steps:
        values = [None]
        if keys is not None:
            values = list(dict.fromkeys(value for data in answers for value in _values(data, keys)))
        for value in values:
            calls, data = _ask(demo, f"{{ {field.replace('%', value or '')} }}")
            total += calls
            answers.append(data)
    return total


def _values(data, keys):
    """Return the values at *keys* in an answer, through lists; none of another answer."""
    return reduce(_below, keys.split(), [data])


def _below(entries, key):
    values = [entry.get(key) for entry in entries]
    return [
        value
        for entry in values
        if entry is not None
        for value in (entry if isinstance(entry, list) else [entry])
    ]


BATCHES = ("batch/gmail/v1", "batch/calendar/v3", "$batch")  # their parts are listed with them
CALENDAR_LISTS = ("/users/me/calendarList", "/me/calendars")  # kept for a minute


def _ask(demo, document):
    """Return the upstream calls of a document without the lists of calendars, and its data."""
    upstreams = ("providerA", "providerB", "collab", "tasks")
    for upstream in upstreams:
        httpx.delete(f"{demo.base_url}/sandbox/calls/{upstream}", trust_env=False)
    response = demo.call("POST", "/graphql", json={"query": document}).json()
    assert "errors" not in response, response["errors"]
    made = set()
    for upstream in upstreams:
        address = f"{demo.base_url}/sandbox/calls/{upstream}"
        for index, call in enumerate(httpx.get(address, trust_env=False).json()["calls"]):
            if not call["path"].endswith((*BATCHES, *CALENDAR_LISTS)):
                made.add((upstream, call["batch"] or index))
    return len(made), response["data"]


def _leaves(data):
    if isinstance(data, dict | list):
        entries = data.values() if isinstance(data, dict) else data
        return [leaf for entry in entries for leaf in _leaves(entry)]
    return [] if data is None else [data]
