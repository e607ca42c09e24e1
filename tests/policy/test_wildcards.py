"""Wildcards of MIME types: rules (docs/spec/rules.md#patterns) and the filter of file lists."""

from fnmatch import fnmatchcase

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from policy.wildcards import Wildcard

DOCUMENT = "application/vnd.openxmlformats-officedocument.wordprocessingml.document"


@pytest.mark.parametrize(
    ("pattern", "text", "matches"),
    [
        ("text/plain", "text/plain", True),
        ("text/plain", "text/plain2", False),
        ("text/*", "text/", True),
        ("text/*", "Text/plain", False),
        ("*/*", "image/png", True),
        ("*", "", True),
        ("", "", True),
        ("", "a", False),
        ("a*a", "a", False),  # the pieces must not overlap
        ("ab*ba", "aba", False),
        ("*a*a", "a", False),
        ("a.c", "abc", False),
        ("a*c", "a\nc", True),
        ("*ab*ab", "abab", True),
        ("*ab*b", "ab", False),
    ],
)
def test_only_a_star_is_special(pattern, text, matches):
    assert Wildcard(pattern)(text) is matches


@given(st.text("ab\n*", max_size=8), st.text("ab\n", max_size=8))
@example("*a*b*", "ab")
def test_it_matches_what_fnmatch_matches(pattern, text):
    assert Wildcard(pattern)(text) is fnmatchcase(text, pattern)


@pytest.mark.parametrize("pattern", ["*" * 254 + "~", "*e" * 127, "*e" * 127 + "~", "e*" * 127])
def test_many_stars_end_at_once(pattern):
    """A regular expression of as many stars would not end within a lifetime."""
    assert Wildcard(pattern)(DOCUMENT) is False
    assert Wildcard("*e" * 5 + "*")(DOCUMENT) is True
