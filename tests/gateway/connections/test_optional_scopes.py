"""Scopes that a consent may lack; docs/spec/upstream/oauth.md#required-scopes."""

import pytest

from gateway.connections.oauth_servers import missing_scopes, scopes_of


@pytest.mark.parametrize("scope", ["SensitivityLabel.Read", "User.Read"])
@pytest.mark.parametrize("writing", [False, True])
def test_content_works_without_labels_and_addresses(scope, writing):
    asked = scopes_of("collab", "COLLAB", writing=writing)

    assert scope in asked
    granted = [name for name in asked if name != scope]
    assert missing_scopes("collab", "COLLAB", granted, writing=writing) == ()
