"""
Names of the providers' products, for people who operate a gateway or look at a page of it.

Responses to clients have the codes of the contract alone.
"""

from collections.abc import Mapping
from types import MappingProxyType

# Kind of a connection -> its provider -> the name.
PRODUCTS: Mapping[str, Mapping[str, str]] = MappingProxyType(
    {
        "email": {"PROVIDER_A": "Gmail", "PROVIDER_B": "Outlook", "IMAP": "own mail server"},
        "calendar": {
            "PROVIDER_A": "Google Calendar",
            "PROVIDER_B": "Outlook calendar",
            "CALDAV": "own calendar server",
        },
        "tasks": {"BOARDS": "monday.com", "PROJECTS": "Asana"},
        "collab": {"COLLAB": "SharePoint and OneDrive"},
    }
)


def with_product(kind: str, provider: str) -> str:
    """Return the code of a provider with the product's name: `PROVIDER_A (Gmail)`."""
    name = PRODUCTS.get(kind, {}).get(provider)
    return provider if name is None else f"{provider} ({name})"
