"""The two origins of a sandbox: its own, and the one of pre-authenticated addresses."""

from urllib.parse import urlsplit, urlunsplit


def other_origin(base: str) -> str:
    """Return *base* on another name of the same machine, or as it is when it has none."""
    parts = urlsplit(base)
    other = {"127.0.0.1": "localhost", "localhost": "127.0.0.1"}.get(parts.hostname or "")
    if other is None:
        return base
    port = "" if parts.port is None else f":{parts.port}"
    return urlunsplit(parts._replace(netloc=f"{other}{port}"))
