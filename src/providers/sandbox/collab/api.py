"""The wire below ``/v1.0`` and ``/beta``: every path of the collaboration content."""

from providers.sandbox.collab import (
    changes,
    labels,
    listing,
    listitems,
    lists,
    query,
    sharing,
    sites,
    transfer,
)
from providers.sandbox.collab.door import Door
from providers.sandbox.ground import Ground
from providers.sandbox.wire import Handler


def open_wire(ground: Ground) -> Handler:
    """Return the wire."""
    door = Door(ground)
    for part in (sites, listing, changes, transfer, sharing, labels, lists, listitems, query):
        part.install(door)
    return door.handler()
