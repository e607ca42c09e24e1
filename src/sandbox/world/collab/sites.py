"""
Collaboration content of the demo world: the sites of Harbourlight and their content.

The content depends on the day only.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime
from types import MappingProxyType

from sandbox.collab import records as r
from sandbox.collab.builders import ContentBuilder
from sandbox.collab.store import ContentStore
from sandbox.storage.database import Database
from sandbox.world.accounts import SIGN_IN_NAMES
from sandbox.world.collab import edge_cases, labels, lists, project_files
from sandbox.world.people import PEOPLE, STUDIO_ACCOUNT

HOST, PEOPLE_HOST = "harbourlight.example", "people.harbourlight.example"
APPLICATION = "access-gateway"  # the application with access to selected sites
SELECTED_PATHS = ("/sites/studio", "/sites/store")  # writable, readable

_SEEDED = "world:collab"  # meta key: the day the world was made for
_JONAS = "jonas@harbourlight.example"
_YARD_PEOPLE = (_JONAS, "mikael@harbourlight.example", "astrid@harbourlight.example")


@dataclass(frozen=True, slots=True, kw_only=True)
class CollabWorld:
    """
    Summary of the seeded content.

    Attributes:
        day: The day it was created for (UTC).
        created: Whether this call created it, rather than an earlier one.
        sites: Site path -> site id; the root site's path is "".
        subjects: Role -> upstream id of a notable resource; see `SUBJECTS`.
    """

    day: date
    created: bool
    sites: Mapping[str, str]
    subjects: Mapping[str, str]

    @property
    def selected_site_ids(self) -> tuple[str, ...]:
        """The sites granted to the application."""
        return tuple(self.sites[path] for path in SELECTED_PATHS)


def seed(database: Database, store: ContentStore, now: datetime | None = None) -> CollabWorld:
    """Create the content, unless an earlier call did, and return its summary."""
    day = (now or datetime.now(UTC)).astimezone(UTC).date()
    store.refresh()
    seeded_day = database.meta(_SEEDED)
    if seeded_day is None:
        with database.transaction():
            _fill(store, day)
            database.set_meta(_SEEDED, day.isoformat())
    return CollabWorld(
        day=day if seeded_day is None else date.fromisoformat(seeded_day),
        created=seeded_day is None,
        sites=MappingProxyType({site.path: site.id for site in store.every(r.Site)}),
        subjects=MappingProxyType(_subjects(store)),
    )


def _fill(store: ContentStore, day: date) -> None:
    started = f"{day.year - 3}-04-01T07:30:00Z"
    builder = ContentBuilder(store, when=started, author=STUDIO_ACCOUNT)
    builder.people(
        {person.email: person.name for person in PEOPLE.values()}, sign_in_names=SIGN_IN_NAMES
    )
    label_ids = labels.create_labels(builder)
    sites = _sites(builder)
    project_files.create_project_files(builder, sites, label_ids, day)
    lists.create_lists(builder, sites, day)
    edge_cases.create_edge_cases(builder, sites, label_ids, day)
    for path, role in zip(SELECTED_PATHS, ("write", "read"), strict=True):
        builder.add(r.SiteGrant(site_id=sites[path].id, application=APPLICATION, role=role))
    builder.save()


def _sites(builder: ContentBuilder) -> dict[str, r.Site]:
    teams = (
        ("", "Harbourlight", "Boats and houses at the water: the whole company", "anonymous"),
        ("/sites/yard", "Yard", "Building and restoring wooden boats", "anonymous"),
        ("/sites/studio", "Studio", "Houses at the water, from sketch to key", "organization"),
        ("/sites/office", "Office", "Contracts, people and accounts", ""),
        ("/sites/store", "Store", "Timber, fittings and where they went", "organization"),
        ("/sites/regatta", "Sommarregatta 2026 ⛵", "The summer regatta, åäö and all", "anonymous"),
    )
    sites = {
        path: builder.site(
            HOST,
            path,
            title,
            description=text,
            sharing=sharing,
            followers=(STUDIO_ACCOUNT,) if path in ("/sites/yard", "/sites/studio") else (),
        )
        for path, title, text, sharing in teams
    }
    sites["/sites/council"] = builder.site(
        HOST, "/sites/council", "Works council", members=_YARD_PEOPLE, sharing=""
    )
    for owner, title in ((STUDIO_ACCOUNT, "Nora Lindqvist"), (_JONAS, "Jonas Ekström")):
        path = f"/personal/{owner.replace('@', '_').replace('.', '_')}"
        sites[path] = builder.site(PEOPLE_HOST, path, title, owner=owner)
    return sites


# Roles of the resources that tests and demos refer to.
SUBJECTS: Mapping[str, str] = MappingProxyType(
    {
        "site": "the yard's site",
        "drive": "the yard's library of documents",
        "second_drive": "the yard's library of drawings",
        "folder": "the folder of one boat",
        "file": "a PDF in that folder",
        "labelled_file": "a file with a label",
        "unreadable_file": "a file whose label cannot be read",
        "locked_file": "a file that somebody has checked out",
        "label": "the label of the labelled file",
        "list": "the berths",
        "list_item": "one of them",
        "large_list": "the 6,000 movements of stock",
        "content_type": "the content type of urgent work orders",
    }
)


def _subjects(store: ContentStore) -> dict[str, str]:
    site_lists = {
        site_list.title: site_list
        for site_list in store.every(r.SiteList)
        if not site_list.drive_id
    }
    drives = {
        (site_list.site_id, site_list.name): site_list for site_list in store.every(r.Library)
    }
    yard = next(site for site in store.every(r.Site) if site.path == "/sites/yard")
    documents = drives[yard.id, "Documents"]
    items = store.items(documents.id)
    everything = [item for drive in drives.values() for item in store.items(drive.id)]
    boat = next(item for item in items if item.name == project_files.FIRST_BOAT)
    pdf = next(item for item in store.below(boat) if item.mime == "application/pdf")
    labelled = next(item for item in everything if item.label)
    return {
        "site": yard.id,
        "drive": documents.id,
        "second_drive": drives[yard.id, "Drawings"].id,
        "folder": boat.id,
        "file": pdf.id,
        "labelled_file": labelled.id,
        "unreadable_file": next(item.id for item in everything if item.label_trouble),
        "locked_file": next(item.id for item in everything if item.is_locked),
        "label": labelled.label,
        "list": site_lists["Berths"].id,
        "list_item": "1",
        "large_list": site_lists["Stock movements"].id,
        "content_type": lists.URGENT.id,
    }
