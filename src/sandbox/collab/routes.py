"""The wire below ``/v1.0`` and ``/beta``: every path of the collaboration content."""

from sandbox.collab import labels, sites
from sandbox.collab.endpoint import CollabEndpoint
from sandbox.collab.files import changes, listing, sharing, transfer
from sandbox.collab.lists import list_items, lists
from sandbox.collab.search import query
from sandbox.http import Handler
from sandbox.state import SandboxState


def create_handler(state: SandboxState) -> Handler:
    """Return the wire."""
    door = CollabEndpoint(state)
    for part in (sites, listing, changes, transfer, sharing, labels, lists, list_items, query):
        part.install(door)
    return door.handler()
