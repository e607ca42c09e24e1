"""
The email suite over a shared mailbox in place of the Outlook mailbox: every row holds.

The modules that make each call of mail; `SHARED_SUITE=all` runs the others too, about keys, dry
runs, rules and drafts that change.
"""

import os

import pytest
from paths import REPOSITORY
from suite_runs import run_suite

FOLDER = REPOSITORY / "tests" / "rest_compat" / "email"
EACH_CALL = ("attachments", "drafts", "email_reads", "email_writes", "sent_drafts")
OTHERS = (
    "changed_drafts",
    "draft_mode",
    "drafts_of_answers",
    "email_dry_runs",
    "email_idempotency",
    "recipient_rules",
    "sent_attachments",
    "uploaded_attachments",
)
ALL = os.environ.get("SHARED_SUITE") == "all"


@pytest.mark.slow  # the fast tests of several modules
def test_every_mail_route_holds_on_a_shared_mailbox(tmp_path):
    paths = [FOLDER / f"test_{name}.py" for name in (*EACH_CALL, *(OTHERS if ALL else ()))]
    passed, failed = run_suite("shared_suite_plugin", tmp_path, *map(str, paths), marks="not slow")

    assert failed == []
    assert len(passed) > (500 if ALL else 200)
