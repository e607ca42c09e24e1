from providers.bounded_map import BoundedMap


def filled(max_size, keys):
    entries = BoundedMap(max_size)
    for key in keys:
        entries[key] = key.upper()
    return entries


def test_the_oldest_entry_is_dropped():
    entries = filled(2, "abc")

    assert list(entries.items()) == [("b", "B"), ("c", "C")]


def test_replacing_an_entry_drops_none():
    entries = filled(2, "ab")

    entries["a"] = "new"

    assert list(entries.items()) == [("a", "new"), ("b", "B")]


def test_the_least_recently_used_entry_is_dropped_when_readers_move_theirs():
    entries = filled(2, "ab")

    entries.move_to_end("a")
    entries["c"] = "C"

    assert list(entries) == ["a", "c"]
