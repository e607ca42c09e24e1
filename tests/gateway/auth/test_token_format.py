"""The text of a token can be recognized, mistyped, and refused, without any storage."""

import hashlib
import re
import zlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.auth import token_format

BITS = st.integers(min_value=0, max_value=2**256 - 1)
ZERO_HEAD = "agw_" + "0" * 43


def test_zero_is_written_with_leading_zeros():
    minted = token_format.from_bits(0)

    crc = token_format.base62(zlib.crc32(ZERO_HEAD.encode()), 6)
    assert minted.text == f"{ZERO_HEAD}_{crc}"
    assert minted.key_id == "00000000"


def test_base62_puts_the_most_significant_digit_first():
    assert token_format.base62(62**2 + 61, 6) == "00010z"
    assert token_format.base62(10, 2) == "0A"
    assert token_format.base62(36, 2) == "0a"


@given(BITS)
def test_a_generated_token_is_found_by_its_digest(bits):
    minted = token_format.from_bits(bits)

    assert re.fullmatch(r"agw_[0-9A-Za-z]{43}_[0-9A-Za-z]{6}", minted.text)
    assert minted.digest == hashlib.sha256(minted.text.encode()).digest()
    assert token_format.digest(minted.text) == minted.digest
    assert minted.key_id == minted.text[4:12]


@given(BITS, st.integers(min_value=4, max_value=53), st.sampled_from(token_format.ALPHABET))
def test_one_changed_character_is_refused(bits, place, character):
    text = token_format.from_bits(bits).text
    changed = text[:place] + character + text[place + 1 :]

    assert (token_format.digest(changed) is None) == (changed != text)


@given(st.text(max_size=80))
def test_other_texts_are_refused(text):
    assert token_format.digest(text) is None


@pytest.mark.parametrize(
    "spoil",
    [
        pytest.param(lambda text: text + "\n", id="a line end behind"),
        pytest.param(lambda text: " " + text, id="a blank before"),
        pytest.param(str.upper, id="another case"),
        pytest.param(lambda text: text.replace("agw_", "agx_"), id="another prefix"),
        pytest.param(lambda text: text[:-1], id="cut"),
        pytest.param(lambda text: text.replace("_", "-"), id="other separators"),
        pytest.param(lambda text: text[:-1] + "٣", id="a digit of another script"),
    ],
)
def test_almost_valid_texts_are_refused(spoil):
    text = token_format.from_bits(2**255 + 12345).text

    assert token_format.digest(spoil(text)) is None


def test_generated_tokens_differ():
    assert len({token_format.generate().text for _ in range(100)}) == 100
