"""The email suite over a shared mailbox in place of the Outlook mailbox: every row holds."""

import pytest
from paths import REPOSITORY
from suite_runs import run_suite

FOLDER = REPOSITORY / "tests" / "rest_compat" / "email"
MODULES = (
    "attachments",
    "changed_drafts",
    "draft_mode",
    "drafts",
    "drafts_of_answers",
    "email_dry_runs",
    "email_idempotency",
    "email_reads",
    "email_writes",
    "recipient_rules",
    "sent_attachments",
    "sent_drafts",
    "uploaded_attachments",
)


@pytest.mark.slow  # the fast tests of a dozen modules
def test_every_mail_route_holds_on_a_shared_mailbox(tmp_path):
    paths = [FOLDER / f"test_{name}.py" for name in MODULES]
    passed, failed = run_suite("shared_suite_plugin", tmp_path, *map(str, paths), marks="not slow")

    assert failed == []
    assert len(passed) > 500
