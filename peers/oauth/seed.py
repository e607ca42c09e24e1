"""Seed of the OAuth check: its registered client (see ``peers/serve.py``)."""

from sandbox.oauth.clients import ClientRegistry

BACK = "http://127.0.0.1:5000/back"


def fill(sandbox):
    clients = ClientRegistry(sandbox.state.database)
    for server in ("provider-a", "provider-b", "tasks", "projects"):
        clients.register(server, "peer", "its secret", [BACK])
    return {"back": BACK}
