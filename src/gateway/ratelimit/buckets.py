"""The rate-limit bucket of a path: docs/spec/limits.md#rate-limits."""

from types import MappingProxyType

from policy.vocabulary import Surface

MANAGEMENT = "management"
AGENTS_PATH = "/mcp"
GRAPHQL_PATHS = frozenset({"/graphql", "/graphql/rest-of", "/graphql/explain"})

# Part of the path -> its bucket.
_BUCKETS = MappingProxyType(
    {
        **{surface.value: surface.value for surface in Surface},
        **dict.fromkeys(("people", "changes"), Surface.EMAIL.value),
    }
)


def bucket_of(path: str) -> tuple[str, str]:
    """Return the rate-limit bucket and the mount of *path*; ("", "") for pages and health."""
    mount = "/internal" if path.startswith("/internal/") else ""
    segments = path.removeprefix(mount).split("/")
    if segments[:3] == ["", "api", "access"] and len(segments) > 3 and segments[3] in _BUCKETS:
        return _BUCKETS[segments[3]], mount
    if segments[:2] == ["", "api"] or path == AGENTS_PATH:
        return MANAGEMENT, mount
    return ("graphql", "") if path in GRAPHQL_PATHS else ("", "")
