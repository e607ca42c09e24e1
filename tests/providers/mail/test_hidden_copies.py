"""With cc hidden, the recipient filter looks at `to` alone."""

import pytest

from providers.mail import query_matching
from providers.ports.mail import MailQuery
from providers.records import mail as mail_records

COPIED = mail_records.Email(
    id="1",
    provider="PROVIDER_A",
    to=(mail_records.Participant(email="bob@example.com"),),
    cc=(mail_records.Participant(email="cy@example.com"),),
)


@pytest.mark.parametrize(("in_cc", "expected"), [(True, True), (False, False)])
def test_a_copy_is_found_only_when_copies_may_be_seen(in_cc, expected):
    query = MailQuery(recipient="cy@example.com", recipient_in_cc=in_cc)

    assert query_matching.Matcher(query, text=False)(COPIED) is expected
    assert ("cc" in query_matching.needed_attributes(query, text=False)) is expected
