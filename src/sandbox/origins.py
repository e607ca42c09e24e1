"""Origins of a sandbox: its own, and the second one for pre-authenticated URLs."""

from urllib.parse import urlsplit, urlunsplit


def other_origin(base: str) -> str:
    """Return *base* under another host name of the same machine, unchanged where there is none."""
    parts = urlsplit(base)
    other = {"127.0.0.1": "localhost", "localhost": "127.0.0.1"}.get(parts.hostname or "")
    if other is None:
        return base
    port = "" if parts.port is None else f":{parts.port}"
    return urlunsplit(parts._replace(netloc=f"{other}{port}"))
