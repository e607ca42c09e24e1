"""Folders that tests read from."""

from pathlib import Path

TESTS = Path(__file__).resolve().parents[1]
REPOSITORY = TESTS.parent
SHARED = REPOSITORY.parent / "shared"  # the published specifications, beside the checkout
