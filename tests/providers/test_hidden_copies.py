"""With cc hidden, the recipient filter looks at `to` alone."""

import pytest

from providers import matching, records
from providers.ports import MailQuery

COPIED = records.Email(
    id="1",
    provider="PROVIDER_A",
    to=(records.Participant(email="bob@example.com"),),
    cc=(records.Participant(email="cy@example.com"),),
)


@pytest.mark.parametrize(("in_cc", "found"), [(True, True), (False, False)])
def test_a_copy_is_found_only_when_copies_may_be_seen(in_cc, found):
    query = MailQuery(recipient="cy@example.com", recipient_in_cc=in_cc)

    assert matching.passes(COPIED, query, text=False) is found
    assert ("cc" in matching.needed(query, text=False)) is found
