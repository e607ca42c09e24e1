"""The URL a person opens to give consent, and the proof that goes with it."""

import re
from urllib.parse import parse_qsl, urlsplit

from providers.catalogue.tables import CONSENTS
from providers.oauth.token_endpoint import Pkce, authorize_url


def test_a_challenge_is_the_documented_digest():
    proof = Pkce("dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk")

    assert proof.challenge == "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM"  # RFC 7636, B


def test_a_verifier_is_random_and_of_the_allowed_characters():
    verifiers = {Pkce.new().verifier for _ in range(100)}

    assert len(verifiers) == 100
    assert all(re.fullmatch(r"[A-Za-z0-9._~-]{43,128}", verifier) for verifier in verifiers)
    assert "verifier" not in repr(Pkce.new())


def test_an_authorization_url_has_the_standard_parameters():
    url = authorize_url(
        "https://id.test/authorize",
        client_id="us",
        redirect_uri="https://gw.test/oauth/callback?x=1",
        scopes=("openid", "mail.read"),
        state="s&t",
        challenge="c",
    )

    assert urlsplit(url)[:3] == ("https", "id.test", "/authorize")
    assert parse_qsl(urlsplit(url).query) == [
        ("client_id", "us"),
        ("redirect_uri", "https://gw.test/oauth/callback?x=1"),
        ("response_type", "code"),
        ("scope", "openid mail.read"),
        ("state", "s&t"),
        ("code_challenge", "c"),
        ("code_challenge_method", "S256"),
    ]


def test_parameters_of_a_provider_are_added():
    for extra in (CONSENTS["PROVIDER_A"].parameters, CONSENTS["PROVIDER_B"].parameters):
        url = authorize_url(
            "https://id.test/authorize?tenant=a",
            client_id="us",
            redirect_uri="https://gw.test/cb",
            scopes=(),
            state="s",
            challenge="c",
            extra=extra,
        )
        query = parse_qsl(urlsplit(url).query, keep_blank_values=True)
        assert query[0] == ("tenant", "a")
        assert query[-len(extra) :] == list(extra.items())
