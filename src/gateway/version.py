"""The versions of package and API (docs/operate/versions.md); the build reads the first here."""

VERSION = "0.2.0"
API_VERSION = "2026-11-20"  # docs/spec/requests.md#versioning
