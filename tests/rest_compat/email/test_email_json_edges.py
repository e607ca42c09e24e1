"""JSON edge cases on every email call with a body: refused or read, never a 500."""

import pytest

from policy.vocabulary import Surface
from rest_compat.table import ENDPOINTS

BODIES = [
    row
    for row in ENDPOINTS
    if row.surface is Surface.EMAIL
    and row.method in {"POST", "PATCH"}
    and row.body != "upload"
    and row.document != "email/send_draft"  # it has no body
]
EDGES = {
    "cut off": b'{"to": [',
    "a text": b'"text"',
    "a number": b"1",
    "null": b"null",
    "a list": b"[{}]",
    "NaN": b'{"body": NaN}',
    "a lone surrogate": b'{"body": "\\ud800"}',
    "half of UTF-8": b'{"body": "\xc3"}',
    "a NUL": b'{"body": "\\u0000"}',
    "2^64": b'{"connectionId": 18446744073709551616, "markAsRead": 18446744073709551616}',
    "1e400": b'{"connectionId": 1e400, "markAsRead": 1e400}',
    "true for a number": b'{"connectionId": true, "markAsRead": 1}',
    "a member twice": b'{"body": "a", "body": "b"}',
    "very deep": b'{"to": ' + b"[" * 20_000 + b"]" * 20_000 + b"}",
    "deep and unknown": b'{"x": ' + b'{"x":' * 70 + b"1" + b"}" * 70 + b"}",
    "a byte order mark": b"\xef\xbb\xbf{}",
    "UTF-16": '{"body": "a"}'.encode("utf-16"),
    "two values": b"{} {}",
    "a comment": b"{} // x",
    "a form": b"body=a&subject=b",
    "nothing": b"",
}


@pytest.mark.parametrize("row", BODIES, ids=lambda row: f"{row.method} {row.path[21:]}")
async def test_a_malformed_body_is_400_without_upstream_calls(client, world, row):
    path = row.path.replace("{emailId}", world.id("lease"))
    for edge, body in EDGES.items():
        response = await client.request(row.method, path, content=body)

        assert response.status_code == 400, edge
        error = response.json()
        assert error["error"] == error["errorCode"] == "VALIDATION_ERROR"
        assert error["details"]
    assert world.calls() == []


@pytest.mark.parametrize("row", BODIES, ids=lambda row: f"{row.method} {row.path[21:]}")
async def test_a_body_over_4_mib_is_413_however_it_is_announced(client, world, row):
    path = row.path.replace("{emailId}", world.id("lease"))
    whole = b'{"body": "' + b"x" * (4 * 1024 * 1024) + b'"}'

    async def chunks():
        for start in range(0, len(whole), 65_536):
            yield whole[start : start + 65_536]

    for content in (whole, chunks()):
        response = await client.request(row.method, path, content=content)

        assert response.status_code == 413
        assert response.json()["error"] == response.json()["errorCode"] == "PAYLOAD_TOO_LARGE"
    assert world.calls() == []
