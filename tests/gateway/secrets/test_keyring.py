"""Sealed values open in their own context, under any key of the ring, and nowhere else."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.secrets.keyring import Keyring, WeakSecret, column_context, new_secret

OLD, NEW = "the old secret key", "the new secret key"
RING = Keyring([NEW, OLD])
OLD_RING = Keyring([OLD])
CONTEXTS = st.builds(
    column_context,
    st.sampled_from(["connections", "deliveries"]),
    st.integers(min_value=1, max_value=2**40),
    st.sampled_from(["credentials", "outcome"]),
)


@given(st.binary(max_size=200), CONTEXTS)
def test_a_sealed_value_opens_in_its_own_context(plain, where):
    sealed = RING.encrypt(plain, context=where)

    assert RING.decrypt(sealed, context=where) == plain
    assert plain == b"" or len(plain) < 4 or plain not in sealed


@given(st.binary(max_size=50), CONTEXTS, CONTEXTS)
def test_a_sealed_value_moved_to_another_row_does_not_open(plain, sealed_for, opened_for):
    sealed = RING.encrypt(plain, context=sealed_for)

    if sealed_for == opened_for:
        assert RING.decrypt(sealed, context=opened_for) == plain
    else:
        with pytest.raises(ValueError, match="another context"):
            RING.decrypt(sealed, context=opened_for)


@given(st.binary(max_size=50), st.data())
def test_a_damaged_value_does_not_open(plain, data):
    sealed = bytearray(RING.encrypt(plain, context="t:1:c"))
    index = data.draw(st.integers(min_value=0, max_value=len(sealed) - 1))
    sealed[index] ^= data.draw(st.integers(min_value=1, max_value=255))

    with pytest.raises(ValueError, match=r"damaged|not in the ring"):
        RING.decrypt(bytes(sealed), context="t:1:c")


@pytest.mark.parametrize("length", [0, 1, 5, 16, 17, 20])
def test_a_cut_value_does_not_open(length):
    with pytest.raises(ValueError, match=r"damaged|not in the ring"):
        RING.decrypt(RING.encrypt(b"", context="t:1:c")[:length], context="t:1:c")


def test_rotation_moves_a_value_to_the_first_key():
    sealed = OLD_RING.encrypt(b"secret", context="t:1:c")

    rotated = RING.rotate(sealed, context="t:1:c")
    assert rotated is not None
    assert Keyring([NEW]).decrypt(rotated, context="t:1:c") == b"secret"
    assert RING.rotate(rotated, context="t:1:c") is None
    with pytest.raises(ValueError, match="not in the ring"):
        OLD_RING.decrypt(rotated, context="t:1:c")


@given(st.binary(max_size=200), st.binary(max_size=50))
def test_a_sealed_token_is_url_safe_and_bound_to_its_context(payload, context):
    token = RING.seal(payload, context=context)

    assert re.fullmatch(r"[A-Za-z0-9_-]+", token)
    assert RING.unseal(token, context=context) == payload
    assert OLD_RING.unseal(OLD_RING.seal(payload, context=context), context=context) == payload
    with pytest.raises(ValueError, match="another context"):
        RING.unseal(token, context=context + b"x")


def test_a_token_of_an_older_key_still_opens():
    token = OLD_RING.seal(b"page 2", context=b"c")

    assert RING.unseal(token, context=b"c") == b"page 2"


@given(st.text(max_size=100))
def test_other_texts_do_not_open(text):
    with pytest.raises(ValueError, match=r"not sealed text|not in the ring|damaged"):
        RING.unseal(text, context=b"")


def test_a_token_with_another_spelling_does_not_open():
    token = RING.seal(b"1", context=b"")

    for spelling in (token + "=", token + "\n", token[:-1], token + "A"):
        with pytest.raises(ValueError, match=r"not sealed text|damaged"):
            RING.unseal(spelling, context=b"")


def test_rows_and_tokens_have_different_keys():
    import base64

    token = RING.seal(b"1", context=b"t:1:c")
    raw = base64.urlsafe_b64decode(token + "=" * (-len(token) % 4))

    with pytest.raises(ValueError, match="another context"):
        RING.decrypt(raw, context="t:1:c")


@pytest.mark.parametrize("setting", ["", " , ", "short", f"{OLD},short"])
def test_a_weak_secret_is_refused(setting):
    with pytest.raises(WeakSecret):
        Keyring.read(setting)


def test_the_setting_is_a_comma_separated_list():
    ring = Keyring.read(f" {NEW} , {OLD} ,")

    assert ring.decrypt(OLD_RING.encrypt(b"x", context="p"), context="p") == b"x"


def test_new_secrets_are_strong_enough():
    first, second = new_secret(), new_secret()

    assert first != second
    assert len(first) == 43
    Keyring([first, second])


def test_sealed_text_is_sealed_again_for_the_same_context():
    sealed = OLD_RING.seal(b"secret", context=b"c")
    renewed = RING.reseal(sealed, context=b"c")

    assert renewed is not None
    assert Keyring([NEW]).unseal(renewed, context=b"c") == b"secret"
    assert RING.reseal(renewed, context=b"c") is None
    with pytest.raises(ValueError, match="damaged"):
        RING.reseal(sealed, context=b"another")
