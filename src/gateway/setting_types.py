"""Types of settings: how the text of a variable becomes a value."""

from ipaddress import ip_network
from typing import Annotated
from urllib.parse import urlsplit

from pydantic import AfterValidator, BeforeValidator, Field, SecretStr
from pydantic_settings import NoDecode


def _comma_separated(value: object) -> object:
    if isinstance(value, str):
        return [part.strip() for part in value.split(",") if part.strip()]
    return value


def _without_slash(url: str) -> str:
    parts = urlsplit(url)
    if parts.scheme not in {"http", "https"} or not parts.hostname or parts.query:
        raise ValueError("must be an http or https URL without a query")
    return url.rstrip("/")


def origin_of(url: str) -> str:
    """Return `scheme://host:port`; the port is always written."""
    parts = urlsplit(url)
    port = parts.port or (443 if parts.scheme == "https" else 80)
    host = parts.hostname or ""
    return f"{parts.scheme}://{f'[{host}]' if ':' in host else host}:{port}"


def _networks(texts: tuple[str, ...]) -> tuple[str, ...]:
    for text in texts:
        ip_network(text, strict=False)
    return texts


def _user_agent(text: str) -> str:
    if not text.isascii() or not text.isprintable() or len(text) > 200:
        raise ValueError("must be at most 200 printable ASCII characters")
    return text if "gzip" in text else f"{text} (gzip)"


BaseUrl = Annotated[str, AfterValidator(_without_slash)]
Words = Annotated[tuple[str, ...], NoDecode, BeforeValidator(_comma_separated)]
ClientSecret = Annotated[
    SecretStr | None, Field(description="Its secret; none for a public client.")
]
UserAgent = Annotated[str, AfterValidator(_user_agent)]
Networks = Annotated[Words, AfterValidator(_networks)]
