"""Handler of ``/v1.0`` and ``/beta`` with all paths of the collaboration content."""

from sandbox.collab import labels, sites
from sandbox.collab.endpoint import CollabEndpoint
from sandbox.collab.files import changes, deltas, listing, sharing, transfer
from sandbox.collab.lists import list_items, lists
from sandbox.collab.search import query
from sandbox.http import Handler
from sandbox.state import SandboxState


def create_handler(state: SandboxState) -> Handler:
    """Return the request handler of the content API."""
    endpoint = CollabEndpoint(state)
    for module in (
        sites,
        listing,
        deltas,
        changes,
        transfer,
        sharing,
        labels,
        lists,
        list_items,
        query,
    ):
        module.install(endpoint.routes)
    return endpoint.handler()
