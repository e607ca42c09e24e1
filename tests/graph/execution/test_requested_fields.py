"""Only the attributes of the selection are requested from a mailbox."""

import pytest

ROWS = [
    pytest.param("{ id subject }", {}, {"id", "subject"}, id="plain fields"),
    pytest.param("{ a: subject b: subject }", {}, {"subject"}, id="aliases"),
    pytest.param("{ from { email } to { name } }", {}, {"from_", "to"}, id="nested objects"),
    pytest.param(
        "{ ...F } fragment F on Email { cc { name } ...G } fragment G on Email { bcc { name } }",
        {},
        {"cc", "bcc"},
        id="fragments in fragments",
    ),
    pytest.param(
        "{ ... on Email { labels } ... { importance } }",
        {},
        {"labels", "importance"},
        id="inline fragments",
    ),
    pytest.param("{ id body @include(if: $x) }", {"x": False}, {"id"}, id="left out"),
    pytest.param("{ id body @skip(if: $x) }", {"x": False}, {"id", "body"}, id="not skipped"),
    pytest.param("{ id accessInfo __typename }", {}, {"id"}, id="what is no record's"),
]


@pytest.mark.parametrize(("selection", "variables", "projection"), ROWS)
async def test_selected_fields_of_an_email_are_requested(
    graph, world, selection, variables, projection
):
    head = "query ($x: Boolean = true) " if variables else ""
    first, _, fragments = selection.partition("} fragment")
    fragments = f"fragment{fragments}" if fragments else ""
    first += "}" if fragments else ""
    text = f'{head}{{ email(emailId: "providerA:a1") {first} }} {fragments}'

    outcome = await graph.prepare(text).run(variables, world.context())

    assert outcome.errors == ()
    assert world.mailboxes[1].calls == [("get", "a1", projection)]


@pytest.mark.parametrize(
    ("selection", "projection"),
    [
        ("{ id messageCount provider }", set()),
        ("{ subject }", {"subject"}),
        ("{ participants { email } }", {"from_", "to", "cc"}),
        ("{ lastMessageAt }", {"received_at"}),
        ("{ messages { isRead } }", {"is_read"}),
    ],
)
async def test_sources_of_derived_thread_fields_are_requested(graph, world, selection, projection):
    text = f'{{ emailThread(threadId: "providerA:talk-a1") {selection} }}'

    outcome = await graph.prepare(text).run({}, world.context())

    assert outcome.errors == ()
    assert world.mailboxes[1].calls == [("thread", "talk-a1", projection)]


async def test_a_page_without_its_emails_requests_no_fields(graph, world):
    await graph.prepare("{ emails { totalCount } }").run({}, world.context())

    assert world.mailboxes[1].calls[0][2] == set()
