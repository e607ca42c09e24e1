"""Methods of saved documents, and the statuses of their successes; commands read them too."""

from collections.abc import Mapping
from types import MappingProxyType

STATUSES: Mapping[str, tuple[int, ...]] = MappingProxyType(
    {"GET": (200,), "POST": (200, 201, 204), "PATCH": (200, 204), "DELETE": (200, 204)}
)
METHODS = tuple(STATUSES)
