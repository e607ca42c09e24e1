"""Native ids of mail: one by one, and many at once."""

from hypothesis import example, given
from hypothesis import strategies as st

from providers import ids

TEXTS = st.text("aZ9-_=+/ \n.", max_size=3) | st.sampled_from(["a" * 128, "a" * 129, "a" * 513])


@given(st.lists(TEXTS, max_size=4))
@example(["9\n9"])
def test_many_ids_are_ids_when_each_of_them_is(natives):
    assert ids.are_provider_a_ids(natives) is all(map(ids.is_provider_a_id, natives))
    assert ids.are_provider_b_ids(natives) is all(map(ids.is_provider_b_id, natives))
