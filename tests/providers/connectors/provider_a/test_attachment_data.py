"""The bytes of a Gmail attachment, decoded as they arrive."""

from base64 import urlsafe_b64encode

import pytest

from providers.connectors.provider_a.gmail.attachments import decode_data
from providers.failures import Broken


async def decoded(response, size):
    async def chunks():
        for start in range(0, len(response), size):
            yield response[start : start + size]

    return b"".join([piece async for piece in decode_data(chunks())])


@pytest.mark.parametrize("size", [1, 2, 3, 5, 7, 64, 1000])
@pytest.mark.parametrize("length", [1, 2, 3, 4, 30, 31, 200])
async def test_any_division_into_chunks_gives_the_same_bytes(size, length):
    content = (bytes(range(255, 0, -1)) * 2)[:length]
    padded = urlsafe_b64encode(content)
    texts = [padded, padded.rstrip(b"="), padded.replace(b"=", rb"\u003d")]

    for text in texts:
        assert await decoded(b'{\n  "data": "' + text + b'"\n}\n', size) == content


@pytest.mark.parametrize("response", [b"{}", b'{"data": ""}', b""])
async def test_an_empty_attachment_has_no_bytes(response):
    assert await decoded(response, 3) == b""


@pytest.mark.parametrize(
    "response",
    [
        pytest.param(b'{"data": "QUJD', id="cut off"),
        pytest.param(b'{"data": "QU*D"}', id="another character"),
        pytest.param(b'{"data": "QUJD=QUJDQUJDQUJDQUJDQUJDQUJD"}', id="padding inside"),
        pytest.param(b'{"data": "QUJDQ"}', id="a length that base64 never has"),
        pytest.param(b" " * 2000, id="no JSON"),
    ],
)
async def test_damaged_data_is_no_file(response):
    with pytest.raises(Broken):
        await decoded(response, 1000)
