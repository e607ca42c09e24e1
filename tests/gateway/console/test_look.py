"""One look: the pages, the explorer and the REST reference have the same colours."""

import re

from paths import REPOSITORY

from gateway.look import pages

STATIC = REPOSITORY / "src/graph/static"


def colours(text):
    """Return the custom properties of light and dark."""
    blocks = re.findall(r":root\s*{([^}]*--paper[^}]*)}", text)
    return [
        {name: value.strip() for name, value in re.findall(r"(--[a-z]+):\s*([^;}]+)", block)}
        for block in blocks
    ]


def test_every_page_has_the_colours_of_the_style_sheet():
    style, _ = pages.stylesheet()
    light, dark = colours(style)
    assert light.keys() == dark.keys()
    assert colours((STATIC / "docs/page.css").read_text()) == [light, dark]
    assert colours((REPOSITORY / "explorer/src/app.css").read_text()) == [light, dark]


def test_the_explorer_is_built_with_them():
    (built,) = (STATIC / "explorer/assets").glob("index-*.css")
    light, dark = colours(pages.stylesheet()[0])
    shown = colours(built.read_text())

    assert [block.keys() for block in shown] == [light.keys(), dark.keys()]
    assert shown[0]["--accent"] == light["--accent"]
    assert shown[1]["--accent"] == dark["--accent"]


def test_the_style_sheet_is_small_and_asks_for_nothing():
    style, _ = pages.stylesheet()

    assert len(style.encode()) < 8_000
    assert "url(" not in style
    assert "@import" not in style
