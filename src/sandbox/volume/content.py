"""A tenant of many sites and libraries, one of which holds very many files."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta

from sandbox.collab import records as r
from sandbox.collab.builders import ContentBuilder
from sandbox.collab.files.changes import FILE_TYPE
from sandbox.collab.store import ContentStore, format_time
from sandbox.storage.database import Database
from sandbox.world.collab.sites import HOST
from sandbox.world.people import STUDIO_ACCOUNT

SITES, LIBRARIES, FILES = 2_000, 3_000, 200_000
FILES_PER_FOLDER = 800
ROWS = 6_000  # of the large list
_SIZES = (4_096, 18_500, 251_000, 1_048_576)
_TYPES = (("pdf", "application/pdf"), ("txt", "text/plain"), ("png", "image/png"))


@dataclass(frozen=True, slots=True, kw_only=True)
class Tenant:
    """
    Upstream ids of the tenant.

    Attributes:
        site: The site of the large library and the large list.
        drive, folder, file: The library, one of its folders, and a file in it.
        list: The large list.
    """

    site: str
    drive: str
    folder: str
    file: str
    list: str


def fill(
    database: Database,
    store: ContentStore,
    day: date,
    *,
    sites: int = SITES,
    libraries: int = LIBRARIES,
    files: int = FILES,
) -> Tenant:
    """
    Add sites, libraries and files.

    Every site has a library while there are enough; the rest are second ones. The first library of
    the first site holds the *files*, in folders; each of the others holds one file.
    """
    store.refresh()
    midnight = datetime.combine(day, time(), UTC)
    builder = ContentBuilder(
        store, when=format_time((midnight - timedelta(days=700)).timestamp()), author=STUDIO_ACCOUNT
    )
    made = [
        builder.site(HOST, f"/sites/v{number:05}", f"Volume {number:05}", sharing="organization")
        for number in range(sites)
    ]
    roots = [
        builder.library(made[number % sites], f"Documents {number // sites + 1}")
        for number in range(libraries)
    ]
    large = roots[0]
    for number, root in enumerate(roots[1:]):
        _add_file(builder, root, number, midnight - timedelta(days=30))
    first_folder, first_file = _fill_library(builder, large, files, midnight)
    rows = [{"Title": f"Movement {number}", "Amount": number % 97} for number in range(ROWS)]
    columns = (
        r.Column(name="Title", title="Title", kind="text", is_indexed=True),
        r.Column(name="Amount", title="Amount", kind="number"),
    )
    large_list = builder.list_in(made[0], "Movements", columns, rows)
    with database.transaction():
        builder.save()
    return Tenant(
        site=made[0].id,
        drive=large.drive_id,
        folder=first_folder.id,
        file=first_file.id,
        list=large_list.id,
    )


def _fill_library(
    builder: ContentBuilder, root: r.Item, files: int, midnight: datetime
) -> tuple[r.Item, r.Item]:
    """Add the folders and files; return the first of each."""
    step = timedelta(days=600) / files
    pairs = list(_files(builder, root, files, midnight, step))
    return pairs[0]


def _files(
    builder: ContentBuilder, root: r.Item, count: int, midnight: datetime, step: timedelta
) -> Iterator[tuple[r.Item, r.Item]]:
    folder = root
    for number in range(count):
        if number % FILES_PER_FOLDER == 0:
            folder = builder.folder(root, f"Folder {number // FILES_PER_FOLDER:04}")
        yield folder, _add_file(builder, folder, number, midnight - number * step)


def _add_file(builder: ContentBuilder, folder: r.Item, number: int, changed: datetime) -> r.Item:
    suffix, mime = _TYPES[number % len(_TYPES)]
    return builder.bare_file(
        folder,
        f"document {number:06}.{suffix}",
        size=_SIZES[number % len(_SIZES)],
        mime=mime,
        modified=format_time(changed.timestamp()),
        content_type=FILE_TYPE,
    )
