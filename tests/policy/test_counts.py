"""Messages that name several accounts are whole where they fit, and count what does not."""

import pytest

from policy.counts import MAX_MESSAGE, listed


@pytest.mark.parametrize("accounts", [1, 2, 5, 12, 20, 21, 100, 10_000])
@pytest.mark.parametrize("length", [1, 30, 255])
def test_every_account_is_named_or_counted(accounts, length):
    names = [f"{number}{'x' * length}" for number in range(accounts)]
    text = listed("These failed:", names)
    *named, rest = text.removeprefix("These failed: ").removesuffix(".").split(", ")
    count = rest.removeprefix("and ").removesuffix(" more") if " more" in rest else None
    named += [] if count else [rest]

    assert len(text) <= MAX_MESSAGE
    assert named == names[: len(named)]
    assert len(named) + int(count or 0) == accounts


@pytest.mark.parametrize(
    ("sentences", "text"),
    [
        (["a is dead.", "b is dead."], "Alas. a is dead. b is dead."),
        (["a is dead.", "b " + "x" * 300], "Alas. a, b."),
        (["a " + "x" * 300], "Alas. a " + "x" * 300),  # its end is cut: the name is there
    ],
)
def test_sentences_stand_where_all_of_them_fit(sentences, text):
    names = [sentence[0] for sentence in sentences]

    assert listed("Alas.", names, in_full=sentences) == text
