"""The versions of package and API (docs/operate/versions.md); the build reads the first here."""

VERSION = "0.3.0.dev0"
API_VERSION = "2026-11-20"  # docs/spec/requests.md#versioning
