"""The nginx of `deploy/nginx.conf` on loopback ports, in a folder of its own."""

import datetime as dt
import ipaddress
import os
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID
from database_servers import wait_for
from paths import REPOSITORY
from ports import free_port
from programs import program

CONFIG = REPOSITORY / "deploy/nginx.conf"


@dataclass(frozen=True)
class Proxy:
    """A running nginx: its https address, the certificate to trust, its plain port."""

    base: str
    certificate: Path
    plain_port: int
    folder: Path

    def errors(self) -> str:
        return (self.folder / "error.log").read_text()


# What the committed file names outside its own folder.
PATHS = (
    "/run/nginx.pid",
    "/var/log/nginx/access.log",
    "/var/log/nginx/error.log",
    "/etc/nginx/tls/fullchain.pem",
    "/etc/nginx/tls/privkey.pem",
)


def configuration(folder: Path, *, secure: int, plain: int, ports: tuple[int, int]) -> str:
    """Return the committed file with the addresses and paths of a test in place of its own."""
    files = ("nginx.pid", "access.log", "error.log", "cert.pem", "key.pem")
    paths = {path: f"{folder}/{name}" for path, name in zip(PATHS, files, strict=True)}
    text = replaced(
        CONFIG.read_text(), {**paths, **addresses(secure=secure, plain=plain, ports=ports)}
    )
    return with_temporary_files(text, folder)


def addresses(*, secure: int, plain: int, ports: tuple[int, int]) -> dict[str, str]:
    """Return what stands for the addresses of the file in a test, on loopback ports."""
    return {
        "worker_processes auto": "worker_processes 2",
        "server 127.0.0.1:8001": f"server 127.0.0.1:{ports[0]}",
        "server 127.0.0.1:8002": f"server 127.0.0.1:{ports[1]}",
        "listen 80;": f"listen 127.0.0.1:{plain};",
        "listen 443 ssl;": f"listen 127.0.0.1:{secure} ssl;",
    }


def replaced(text: str, changes: Mapping[str, str]) -> str:
    """Replace each key of *changes*, which the text has once."""
    for before, after in changes.items():
        assert text.count(before) == 1, before
        text = text.replace(before, after)
    return text


def with_temporary_files(text: str, folder: Path) -> str:
    """Let nginx write its temporary files into *folder*."""
    temporary = "".join(
        f"    {kind}_temp_path {folder}/temp-{kind};\n"
        for kind in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
    )
    return text.replace("http {\n", f"http {{\n{temporary}", 1)


@contextmanager
def running(folder: Path, ports: tuple[int, int]) -> Iterator[Proxy]:
    """Run nginx in front of gateways at *ports*."""
    folder.mkdir()
    secure, plain = free_port(), free_port()
    write_certificate(folder)
    (folder / "nginx.conf").write_text(
        configuration(folder, secure=secure, plain=plain, ports=ports)
    )
    command = [
        program("nginx"),
        "-p",
        str(folder),
        "-c",
        str(folder / "nginx.conf"),
        "-e",
        "stderr",
    ]
    globals_ = "daemon off;" + (" user root;" if os.geteuid() == 0 else "")
    subprocess.run([*command, "-t", "-g", globals_], check=True, capture_output=True, text=True)
    with (folder / "log").open("wb") as log:
        process = subprocess.Popen([*command, "-g", globals_], stdout=log, stderr=log)
    try:
        wait_for(secure, 30)
        yield Proxy(f"https://127.0.0.1:{secure}", folder / "cert.pem", plain, folder)
    finally:
        process.terminate()
        process.wait(120)


def write_certificate(folder: Path) -> None:
    """Write `cert.pem` and `key.pem` for 127.0.0.1, valid for a day."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "gateway test")])
    now = dt.datetime.now(dt.UTC)
    address = x509.IPAddress(ipaddress.ip_address("127.0.0.1"))
    certificate = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - dt.timedelta(hours=1))
        .not_valid_after(now + dt.timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([address]), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    (folder / "cert.pem").write_bytes(certificate.public_bytes(serialization.Encoding.PEM))
    (folder / "key.pem").write_bytes(
        key.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.NoEncryption(),
        )
    )
