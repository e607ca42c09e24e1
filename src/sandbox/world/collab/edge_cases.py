"""Edge cases: odd names, notebooks, locks, unreadable labels, full libraries."""

from collections.abc import Mapping
from datetime import date, timedelta

import msgspec

from sandbox.collab import records as r
from sandbox.collab.builders import ContentBuilder
from sandbox.collab.files.blobs import quick_hash
from sandbox.world.people import STUDIO_ACCOUNT

HASH_OF_NOTHING = quick_hash(b"")
_JONAS = "jonas@harbourlight.example"
# Names that upstream accepts and clients often mishandle.
ODD_NAMES = (
    "100% oak.txt", "a & b + c.txt", "it's here.txt", "#1 list.txt", "semi;colon, comma.txt",
    "Ångström 船.txt", "e\u0301 decomposed.txt", "\u202eright to left.txt", "emoji 🛶.txt",
    "dots...in...name.tar.gz", ".hidden", "no ending", "UPPER.PDF", "two  blanks.txt",
    "plus+sign.csv", "[brackets] {braces}.txt", "at@sign.txt", "equals=1.txt", "caret^.txt",
    "tilde~.txt", "%2Fslash.txt", "long " + "x" * 200 + ".txt",
)  # fmt: skip


UNADDRESSED = "UPPER.PDF"  # its records have no download address


def create_edge_cases(
    builder: ContentBuilder, sites: Mapping[str, r.Site], labels: Mapping[str, r.Label], day: date
) -> None:
    """Create all edge cases."""
    _company(builder, sites[""], day)
    _regatta(builder, sites["/sites/regatta"])
    _full_library(builder, sites["/sites/office"])
    _personal(builder, sites, labels, day)
    _restricted_site(builder, sites["/sites/council"])


def _company(builder: ContentBuilder, site: r.Site, day: date) -> None:
    root = builder.library(site, "Documents", segment="Shared Documents")
    builder.library(site, "Site Pages", is_system=True)
    handbook = builder.folder(root, "Handbook")
    for chapter, title in enumerate(("Welcome", "Safety", "Labels", "Holidays", "Tools"), 1):
        when = f"{(day - timedelta(days=10 * chapter)).isoformat()}T10:00:00Z"
        builder.file(
            handbook,
            f"{chapter} {title}.docx",
            ("docx", f"{title} at Harbourlight", "Ask Linnea."),
            modified=when,
            description=f"Chapter {chapter}",
        )
    builder.notebook(root, "Ideas", modified=f"{day.isoformat()}T06:00:00Z")
    shared = builder.file(root, "Price list.pdf", ("pdf", "Prices", "Winter storage by the metre"))
    builder.share(shared, "link", "read", scope="anonymous", view="view")
    builder.share(shared, "link", "write", scope="organization", view="edit")
    builder.share(shared, "user", "write", to=("henrik@harbourlight-studio.example",))
    builder.share(shared, "group", "read", to=("team.yard@harbourlight.example",))
    builder.share(shared, "user", "read", to=("karin.wessel@oldtown-harbour.example",))


def _regatta(builder: ContentBuilder, site: r.Site) -> None:
    root = builder.library(site, "Dokument", segment="Delade dokument")
    folder = builder.folder(root, "Odd names & signs #1 (100%)")
    for name in ODD_NAMES:
        words = ("text", f"This file is called {name}.")
        builder.file(folder, name, words, is_unaddressed=name == UNADDRESSED)
    builder.folder(folder, "empty")
    builder.add(
        msgspec.structs.replace(
            builder.file(root, "empty", ("text",), mime=""),
            size=0,
            source=(),
            quick_hash=HASH_OF_NOTHING,
        )
    )
    deep = root
    for level in range(1, 13):
        deep = builder.folder(deep, f"level {level}")
    builder.file(deep, "bottom.txt", ("text", "Twelve folders down."))


def _full_library(builder: ContentBuilder, site: r.Site) -> None:
    root = builder.library(site, "Archive", description="Nearly full", quota=24_000)
    builder.file(root, "old ledgers.txt", ("text", *("an old ledger line" for _ in range(1200))))


def _personal(
    builder: ContentBuilder, sites: Mapping[str, r.Site], labels: Mapping[str, r.Label], day: date
) -> None:
    for site in sites.values():
        if not site.owner:
            continue
        root = builder.library(site, "Documents", quota=1 << 30)
        when = f"{(day - timedelta(days=3)).isoformat()}T18:20:00Z"
        own = {"author": site.owner, "editor": site.owner, "created": when, "modified": when}
        folder = builder.folder(root, "Notes", **own)
        builder.file(folder, "todo.md", ("text", "# To do", "", "- call the harbour master"), **own)
        if site.owner == _JONAS:
            shared = builder.file(root, "Lines of Vesper.pdf", ("pdf", "Lines of Vesper"), **own)
            builder.share(shared, "user", "write", to=(STUDIO_ACCOUNT,))
            continue
        broken = builder.file(
            root, "Bank agreement.docx", ("docx", "The agreement with the bank"), **own
        )
        builder.add(
            msgspec.structs.replace(
                broken,
                label=labels["Highly confidential"].id,
                label_trouble="fileDoubleKeyEncrypted",
            )
        )
        locked = builder.file(root, "Budget.xlsx", ("xlsx", "month;sum", "1;12000"), **own)
        builder.add(msgspec.structs.replace(locked, is_locked=True))


def _restricted_site(builder: ContentBuilder, site: r.Site) -> None:
    root = builder.library(site, "Minutes")
    builder.file(root, "Minutes May.docx", ("docx", "What the council spoke about"), author=_JONAS)
