"""Addresses of files and task items in texts."""

import pytest

from providers.web_addresses import MAX_ADDRESSES, MAX_TEXT, addresses_in, file_at, item_at

FILE = "https://yard.content.example/sites/yard/Shared%20Documents/Boats/plan%20b.docx"
DECODED = "https://yard.content.example/sites/yard/Shared Documents/Boats/plan b.docx"

FILES = [
    pytest.param(FILE, DECODED, id="a file"),
    pytest.param(f"{FILE}?web=1&x=%2F#page=2", DECODED, id="query and fragment are left out"),
    pytest.param(FILE.replace("https", "HTTPS"), DECODED, id="scheme in capitals"),
    pytest.param(FILE.replace("/sites", "/:w:/r/sites"), DECODED, id="a link to an open file"),
    pytest.param(
        "http://h.example/teams/a/b/c.txt", "https://h.example/teams/a/b/c.txt", id="http"
    ),
    pytest.param("https://h.example/personal/a/c", "https://h.example/personal/a/c", id="personal"),
    pytest.param("https://h.example/sites/yard", None, id="a site"),
    pytest.param("https://h.example/sites/yard/", None, id="a site with a slash"),
    pytest.param("https://h.example/news/yard/a.txt", None, id="another path"),
    pytest.param("https://h.example/:w:/s/yard/EaBc", None, id="a sharing link"),
    pytest.param(
        "https://h.example/sites/yard/a%22b", 'https://h.example/sites/yard/a"b', id="a quote"
    ),
    pytest.param("https://[h.example/sites/yard/a.txt", None, id="malformed"),
    pytest.param(f"https://h.example/sites/yard/{'a' * 1000}", None, id="too long"),
    pytest.param("ftp://h.example/sites/yard/a.txt", None, id="another scheme"),
    pytest.param("https:///sites/yard/a.txt", None, id="without a host"),
]


@pytest.mark.parametrize(("url", "decoded"), FILES)
def test_a_file_is_recognized_by_the_path(url, decoded):
    assert file_at(url) == decoded


ITEMS = [
    ("https://x.example/boards/11/pulses/22", ("BOARDS", "22")),
    ("https://x.example/boards/11/views/3/pulses/22/?a=b", ("BOARDS", "22")),
    ("https://x.example/boards/11", None),
    ("https://x.example/boards/11/pulses/2x", None),
    ("https://x.example/0/11/22", ("PROJECTS", "22")),
    ("https://x.example/0/11/22/f", ("PROJECTS", "22")),
    ("https://x.example/1/11/task/22", ("PROJECTS", "22")),
    ("https://x.example/1/11/project/33/task/22?focus=true", ("PROJECTS", "22")),
    ("https://x.example/1/11/project/33", None),
    (f"https://x.example/1/11/task/{'2' * 21}", None),
    ("/boards/11/pulses/22", None),
]


@pytest.mark.parametrize(("url", "expected"), ITEMS)
def test_a_task_item_is_recognized_by_the_path(url, expected):
    item = item_at(url)

    assert (item and (item.provider, item.item_id)) == expected


def test_addresses_are_listed_once_in_the_order_of_the_text():
    text = f"""See {FILE}, then (https://x.example/boards/1/pulses/2).
        <a href="{FILE}?a=1&amp;b=2">b</a> <https://x.example/0/1/3> https://x.example/boards/9/pulses/2
        https://x.example/sites/yard/R&amp;D/a.txt!"""

    addresses = addresses_in(text)

    assert addresses.files == (FILE, "https://x.example/sites/yard/R&D/a.txt")
    assert [(item.url, item.item_id) for item in addresses.items] == [
        ("https://x.example/boards/1/pulses/2", "2"),
        ("https://x.example/0/1/3", "3"),
    ]


def test_their_number_is_bounded():
    text = " ".join(
        f"https://x.example/sites/a/b{n}.txt https://x.example/boards/1/pulses/{n}"
        for n in range(100)
    )

    whole, two = addresses_in(text), addresses_in(text, 2)

    assert (len(whole.files), len(whole.items)) == (MAX_ADDRESSES, MAX_ADDRESSES)
    assert (len(two.files), len(two.items)) == (2, 2)
    assert addresses_in(" " * MAX_TEXT + text).files == ()


@pytest.mark.parametrize("part", ["https://", "https://a.example/sites/", "/", ":w:", "&amp;", "("])
def test_a_long_text_of_one_part_names_nothing(part):
    assert addresses_in(part * (MAX_TEXT // len(part))).files == ()
