"""Certificates that are their own authority, for servers of the tests."""

from datetime import UTC, datetime, timedelta
from ipaddress import ip_address

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec


def alternative_name(host: str) -> x509.GeneralName:
    """Return *host*, an address or a name, as a certificate spells it."""
    try:
        return x509.IPAddress(ip_address(host))
    except ValueError:
        return x509.DNSName(host)


def certificate(name: str, *hosts: str, expired: bool = False) -> tuple[bytes, bytes]:
    """Return a certificate of *hosts* and its key, both as PEM; *expired*: since an hour."""
    key = ec.generate_private_key(ec.SECP256R1())
    subject = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, name)])
    now = datetime.now(UTC)
    built = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(subject)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + timedelta(hours=-1 if expired else 24))
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .add_extension(
            x509.SubjectAlternativeName(list(map(alternative_name, hosts))), critical=False
        )
        .sign(key, hashes.SHA256())
    )
    pem = serialization.Encoding.PEM
    plain = serialization.NoEncryption()
    return built.public_bytes(pem), key.private_bytes(pem, serialization.PrivateFormat.PKCS8, plain)
