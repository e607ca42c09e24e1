"""The calendar suite over calendars shared with a person in place of an own account."""

import pytest
from suite_runs import run_suite

# A 403 of a shared mailbox says that it is not shared, and not that a policy denies access.
OTHER_WORDS = "test_when_all_fail_it_is_the_failure[403-"


@pytest.mark.slow  # the fast tests of a dozen modules
def test_every_calendar_route_holds_on_shared_calendars(tmp_path):
    path = "tests/rest_compat/calendar"
    passed, failed = run_suite("shared_suite_plugin", tmp_path, path, marks="not slow")

    assert [name for name in failed if not name.startswith(OTHER_WORDS)] == []
    assert len(failed) == 4  # one for each route
    assert len(passed) > 450
