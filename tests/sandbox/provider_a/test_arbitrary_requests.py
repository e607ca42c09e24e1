"""Whatever comes in, the sandbox's provider A answers in its own words and stays quick."""

import json
from base64 import urlsafe_b64encode

import httpx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sandbox.app import create
from sandbox.mail.mime import parse, threading_ids
from sandbox.provider_a import partial_response
from sandbox.provider_a.gmail import search_index, search_query
from sandbox.provider_a.gmail.messages import plain_text, strip_html
from sandbox.provider_a.gmail.search_index import Candidate

ME = "/provider-a/gmail/v1/users/me"
HEADS = (
    b"Subject: ",
    b"From: ",
    b"Content-Type: multipart/mixed; boundary=x\r\n\r\n--x\r\n",
    b"Content-Type: message/rfc822\r\n\r\n",
    b"Content-Transfer-Encoding: base64\r\n",
    b"Content-Type: text/html; charset=",
    b"Content-Disposition: attachment; filename*=",
    b"\r\n\r\n",
    b"--x--",
    b"=?utf-8?q?",
)
lines = st.lists(st.one_of(st.sampled_from(HEADS), st.binary(max_size=30)), max_size=12)


@given(lines)
def test_any_bytes_are_a_message(pieces):
    raw = b"".join(pieces)
    tree = parse(raw)

    json.dumps([part.text for part in tree.walk()])
    assert isinstance(plain_text(tree), str)
    assert isinstance(threading_ids(raw), tuple)
    assert all(address.address or address.name for address in tree.addresses("from"))
    search_index.index_message(tree)


@pytest.mark.parametrize(
    "head", [b"Content-Type: text/html; charset=\0", b'Content-Type: a; charset="\0"']
)
def test_a_charset_that_cannot_be_one_is_read_around(head):
    tree = parse(head + b"\r\nContent-Transfer-Encoding: 8bit\r\n\r\n\xc3\xa9")

    assert tree.text == "é"


@pytest.mark.slow
def test_comments_in_comments_are_no_addresses():
    assert parse(b"From: " + b"(" * 40_000 + b"\r\n\r\nx").addresses("from") == ()


@pytest.mark.parametrize(
    "raw",
    [
        b"Subject: =?utf-7?Q?+2AA-?=\r\n\r\nx",
        b"Content-Type: text/plain; charset=utf-7\r\n\r\n+2AA-",
        b"Content-Disposition: attachment; filename*=utf-7''%2B2AA-\r\n\r\nx",
    ],
    ids=["a subject", "a body", "a file name"],
)
def test_an_incomplete_character_is_replaced(raw):
    tree = parse(raw)

    assert "\ufffd" in (tree.header("subject") or tree.filename or tree.text)
    assert "\ud800" not in f"{tree}"


WORDS = ("from:", "a", "-", "(", ")", "{", "}", '"', "OR", "in:trash", "after:", "2026/13/45", " ")
texts = st.lists(st.one_of(st.sampled_from(WORDS), st.text(max_size=5)), max_size=15)


@pytest.fixture(scope="module")
def candidate():
    sandbox = create(None, public_base="http://sandbox.test")
    raw = b"Subject: a\r\nFrom: a@x.test\r\n\r\na"
    mail = sandbox.state.mails.add("provider-a", raw, folder="inbox")
    return Candidate(mail=mail, index=search_index.index_message(parse(raw)), labels=("inbox",))


@given(pieces=texts)
def test_any_text_is_a_query(candidate, pieces):
    query = search_query.parse("".join(pieces), now=0.0)

    assert query.test(candidate) in {True, False}


@given(st.text(alphabet="ab*/(), ", max_size=20))
def test_any_text_is_a_selection_or_refused(text):
    try:
        selection = partial_response.parse(text)
    except partial_response.BadSelection:
        return
    partial_response.apply({"a": {"b": [1, {"a": 2}]}, "b": 3}, selection)


@pytest.mark.slow
def test_deep_nesting_has_an_end():
    raw = b"".join(
        b"Content-Type: multipart/mixed; boundary=b%d\r\n\r\n--b%d\r\n" % (level, level)
        for level in range(2000)
    )
    deep = b"".join(
        b"Content-Type: multipart/mixed; boundary=b%d\r\n\r\n--b%d\r\n" % (level, level)
        for level in range(100)
    )

    assert parse(raw).content_type == "multipart/mixed"
    assert max(part.path.count(".") for part in parse(deep).walk()) == 39


@pytest.mark.parametrize(
    "source",
    ["<" * 200_000, "<!--" * 50_000, "<title>" * 50_000, "<a <style>" * 20_000],
    ids=["open brackets", "open comments", "open titles", "open styles"],
)
def test_endless_markup_is_read_in_one_go(source):
    assert isinstance(strip_html(source), str)


@pytest.mark.parametrize(
    ("source", "seen"),
    [
        ("<p>a&amp;b</p> c", "a&b c"),
        ("<HEAD><title>x</title></HEAD>a<!-- <b> -->b", "ab"),
        ("a<style>p{}</style>b<script>1<2</script >c", "abc"),
        ("a <style> b", "a b"),
        ("1 < 2", "1 < 2"),
    ],
)
def test_only_what_a_reader_sees_is_left(source, seen):
    assert strip_html(source) == seen


@pytest.fixture
async def client():
    sandbox = create(None, public_base="http://sandbox.test")
    sandbox.state.mails.add("provider-a", b"Subject: a\r\n\r\n", folder="inbox")
    token = sandbox.state.tokens.issue("providerA", "me", ["mail.google.com"])
    async with httpx.AsyncClient(
        transport=httpx.ASGITransport(app=sandbox),
        base_url="http://sandbox.test",
        headers={"authorization": f"Bearer {token}"},
    ) as client:
        yield client


RAW = urlsafe_b64encode(b"To: a@b.test\r\n\r\n").decode()
BODIES = (
    b"",
    b"[",
    b"[]",
    b"null",
    b'"x"',
    b"{}",
    b'{"raw": 1}',
    b'{"raw": "%s", "threadId": []}' % RAW.encode(),
    b'{"raw": "%s", "labelIds": {}}' % RAW.encode(),
    b'{"raw": "%s", "labelIds": [1]}' % RAW.encode(),
    b'{"message": []}',
    b'{"message": {"raw": 5}}',
    b'{"id": {}}',
    b'{"ids": 5}',
    b'{"name": []}',
    b'{"addLabelIds": "x"}',
)
WRITES = (
    "messages/send",
    "messages/import",
    "messages",
    "messages/batchModify",
    "messages/batchDelete",
    "drafts",
    "drafts/send",
    "labels",
)


@pytest.mark.parametrize("path", WRITES)
async def test_any_body_is_taken_or_refused(client, path):
    for body in BODIES:
        answer = await client.post(f"{ME}/{path}", content=body)
        assert answer.status_code in {200, 204, 400, 404}
        if answer.status_code >= 400:
            assert answer.json()["error"]["errors"]


async def test_any_upload_is_taken_or_refused(client):
    path = f"{ME.replace('/provider-a', '/provider-a/upload')}/messages/send"
    kind = 'multipart/related; boundary="b"'
    for body in (b"", b"--b", b"--b\r\n\r\n[\r\n--b\r\n\r\nx\r\n--b--", b"--b\r\n\r\n{}\r\n--b--"):
        for way in ("media", "multipart", "resumable"):
            answer = await client.post(
                f"{path}?uploadType={way}", content=body, headers={"content-type": kind}
            )
            assert answer.status_code == 400 or (way == "resumable" and answer.status_code == 200)


async def test_any_batch_is_taken_or_refused(client):
    head = b"--b\r\nContent-Type: application/http\r\n\r\n"
    for part in (
        b"",
        b"nonsense",
        b"GET",
        b"GET / HTTP/1.1\r\n\r\n",
        b"POST /batch HTTP/1.1\r\n\r\n",
    ):
        answer = await client.post(
            "/provider-a/batch",
            content=head + part + b"\r\n--b--",
            headers={"content-type": "multipart/mixed; boundary=b"},
        )
        assert answer.status_code == 200
        assert "HTTP/1.1 40" in answer.text
