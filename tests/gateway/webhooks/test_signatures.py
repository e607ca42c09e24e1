"""Signatures of wake-up calls, held to the published vector and to an independent verifier."""

import base64

import pytest
from webhook_receiver import verified

from gateway.webhooks import signatures
from gateway.webhooks.targets import PREVIOUS_SECRET_MS, Secrets, checked_url

# The vector in the tests of the reference implementations (standard-webhooks 1.0.0).
SECRET = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
ID, SECONDS, BODY = "msg_p5jXN8AQM9LWM0D4loKWxJek", 1614265330, b'{"test": 2432232314}'
SIGNATURE = "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="


def test_the_published_vector_is_signed_as_published():
    assert signatures.sign(SECRET, ID, SECONDS, BODY) == SIGNATURE
    assert verified(SECRET, signatures.headers([SECRET], ID, SECONDS, BODY), BODY)


def test_both_secrets_of_a_rotation_sign_for_a_day():
    new, other = signatures.new_secret(), signatures.new_secret()
    secrets = Secrets(new, SECRET, previous_until=PREVIOUS_SECRET_MS)
    headers = signatures.headers(secrets.valid_at(PREVIOUS_SECRET_MS - 1), ID, SECONDS, BODY)

    assert headers["webhook-signature"].endswith(f" {SIGNATURE}")
    assert [verified(each, headers, BODY) for each in (new, SECRET, other)] == [True, True, False]
    assert not verified(new, headers, BODY + b" ")
    assert not verified(new, {**headers, "webhook-timestamp": "1614265331"}, BODY)
    assert secrets.valid_at(PREVIOUS_SECRET_MS) == (new,)


def test_a_secret_has_256_bits():
    first, second = signatures.new_secret(), signatures.new_secret()

    assert first != second
    assert first[:6] == "whsec_"
    assert len(base64.b64decode(first[6:])) == 32


@pytest.mark.parametrize(
    "url",
    [
        *("http://hooks.example/x", "https://", "ftp://hooks.example/", "https://a@hooks.example/"),
        *("https://hooks.example/#x", "https://hooks.example/ x", "https://hooks.example/ä"),
        *("https://127.0.0.1/x", "https://[::1]/", "https://10.0.0.8/", "https://169.254.169.254/"),
        *("https://localhost/", "https://a.localhost:8443/", "https://[::ffff:10.0.0.1]/"),
        "https://hooks.example/" + "x" * 2000,
    ],
)
def test_a_url_that_cannot_be_a_target_is_refused(url):
    with pytest.raises(ValueError, match=r"URL"):
        checked_url(url)


@pytest.mark.parametrize("url", ["https://hooks.example", "https://hooks.example:8443/a?b=c"])
def test_a_public_https_url_can_be_a_target(url):
    assert checked_url(url) == url
