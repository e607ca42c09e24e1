"""Types of settings: how the text of a variable becomes a value."""

import re
from ipaddress import ip_network
from typing import Annotated
from urllib.parse import urlsplit

from pydantic import AfterValidator, BeforeValidator, Field, SecretStr
from pydantic_settings import NoDecode

from providers.server_discovery.dns_records import server_address

_ADMIN_NAME = re.compile(r"[A-Za-z0-9._@-]{1,64}", re.ASCII)


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


def _dns_server(text: str) -> str:
    if text:
        server_address(text)
    return text


def _user_agent(text: str) -> str:
    if not text.isascii() or not text.isprintable() or len(text) > 200:
        raise ValueError("must be at most 200 printable ASCII characters")
    return text if "gzip" in text else f"{text} (gzip)"


def named_tokens(
    unnamed: SecretStr | None, named: SecretStr | None, *, shortest: int
) -> dict[str, str]:
    """
    Return admin token -> its name, of the settings `admin_token` and `admin_tokens`.

    Raises:
        ValueError: A token has fewer characters than *shortest*, or there are two of a name or a
            token; the message names the setting and quotes no token.
    """
    entries = [("admin", unnamed.get_secret_value())] if unnamed else []
    for entry in named.get_secret_value().split(",") if named else ():
        name, separator, token = entry.strip().partition(":")
        if separator and _ADMIN_NAME.fullmatch(name):
            entries.append((name, token))
        elif entry.strip():
            raise ValueError(
                "AGW_ADMIN_TOKENS must be name:token, comma-separated; a name has letters, digits "
                "and ._@- and at most 64 characters."
            )
    if any(len(token) < shortest for _, token in entries):
        variable = "AGW_ADMIN_TOKENS" if named else "AGW_ADMIN_TOKEN"
        raise ValueError(f"{variable} needs secrets of at least {shortest} characters.")
    tokens = {token: name for name, token in entries}
    if not len(entries) == len(tokens) == len(set(tokens.values())):
        raise ValueError(
            "AGW_ADMIN_TOKENS has a name or a token twice; `admin` is the name of AGW_ADMIN_TOKEN."
        )
    return tokens


BaseUrl = Annotated[str, AfterValidator(_without_slash)]
Words = Annotated[tuple[str, ...], NoDecode, BeforeValidator(_comma_separated)]
ClientSecret = Annotated[
    SecretStr | None, Field(description="Its secret; none for a public client.")
]
DnsServer = Annotated[str, AfterValidator(_dns_server)]
UserAgent = Annotated[str, AfterValidator(_user_agent)]
Networks = Annotated[Words, AfterValidator(_networks)]
