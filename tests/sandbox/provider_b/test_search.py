"""Keyword queries over mail, without a wire."""

import pytest

from sandbox.provider_b.odata.schema import QueryError
from sandbox.provider_b.outlook_mail.search import Searchable, parse, words

MAIL = Searchable(
    texts={
        "subject": words("The lease of the Straße"),
        "body": words("Rent is due, e-mail me in e\u0301te\u0301"),
        "from": words("Ann Miller ann@x.test"),
        "to": words("bob@y.test"),
        "cc": words("carl@z.test"),
        "bcc": "",
        "attachment": words("plan.pdf"),
    },
    received="2026-01-05",
    sent="2026-01-04",
    has_attachments=True,
    importance="normal",
    size=2000,
)


@pytest.mark.parametrize(
    "query",
    [
        "lease",
        "LEASE rent",
        "leas",
        "STRASSE",
        "\u00e9t",
        "e-mail",
        '\\"lease of the\\"',
        "from:ann@x.test",
        "from:miller",
        'from:\\"ann miller\\"',
        "to:bob@y.test",
        "recipients:carl@z.test",
        "participants:ann",
        "participants:bob",
        "subject:lease",
        "attachment:plan",
        "hasAttachments:true",
        "hasattachment:yes",
        "importance:medium",
        "kind:email",
        "received:2026-01-05",
        "received>=2026-01-05 received<=2026-01-05",
        "received:2026-01-01..2026-01-31",
        "sent<2026-01-05",
        "sent<>2026-01-05",
        "received>=2026-01-05T23:00:00Z",
        "size>1999 size<=2000",
        "size:1..3000",
        "from:nobody OR rent",
        "(from:nobody OR from:ann) AND rent",
        "lease NOT sublet",
        "lease -sublet",
        "from:nobody from:ann",
        "NOT (lease AND sublet)",
    ],
)
def test_a_query_finds_the_mail(query):
    assert parse(f'"{query}"')(MAIL)


@pytest.mark.parametrize(
    "query",
    [
        "ease",
        "lease sublet",
        '\\"of lease\\"',
        "from:bob@y.test",
        "to:carl@z.test",
        "subject:rent",
        "bob",
        "hasAttachments:false",
        "importance:high",
        "received>2026-01-05",
        "received:2025-01-01..2025-12-31",
        "size<2000",
        "-lease",
        "from:nobody AND from:ann",
        "isread:false",
        "!!",
    ],
)
def test_a_query_does_not_find_the_mail(query):
    assert not parse(f'"{query}"')(MAIL)


@pytest.mark.parametrize(
    "text",
    [
        '""',
        "",
        "two words",
        "from:ann",
        '"(lease"',
        '"lease)"',
        '"lease NOT"',
        '"OR"',
        '"received>=soon"',
        '"size>big"',
        f'"{"a " * 300}"',
    ],
)
def test_a_query_is_refused(text):
    with pytest.raises(QueryError):
        parse(text)
