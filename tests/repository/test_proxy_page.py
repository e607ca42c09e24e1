"""The page on nginx is executed, with the certificate that it makes, before a running gateway."""

import os
import subprocess

import httpx
import nginx
import pytest
from database_servers import wait_for
from gateway_processes import ADMIN, serving
from page_commands import below, commands, run
from ports import free_port
from programs import program

pytestmark = pytest.mark.slow

PAGE = "docs/guides/behind-a-proxy.md"
NAME = "gateway.example.com"


@pytest.fixture(scope="module")
def root(tmp_path_factory):
    folder = tmp_path_factory.mktemp("root")
    for name in ("etc/nginx", "var/log/nginx", "run"):
        (folder / name).mkdir(parents=True)
    return folder


def started(root, *more):
    """Return the command of the nginx below *root*."""
    command = [program("nginx"), "-p", root, "-c", root / "etc/nginx/nginx.conf", "-e", "stderr"]
    return [*command, "-g", "daemon off;" + (" user root;" if os.geteuid() == 0 else ""), *more]


def test_the_page_makes_a_certificate_and_a_proxy(root, tmp_path):
    lines = commands(PAGE)
    exports = dict(line.split(" ")[1].split("=", 1) for line in lines if line[:6] == "export")
    served = [line for line in lines if line.startswith("access-gateway serve --port 800")]
    assert len(served) == 2
    configuration = root / "etc/nginx/nginx.conf"
    secure, plain = free_port(), free_port()
    seen = []
    with serving(tmp_path, **exports) as gateway:
        for line in lines[len(exports) + len(served) :]:
            seen.append(line.partition(" ")[0])
            if line.startswith("cp "):
                run(below(root, line))
                text = nginx.replaced(
                    configuration.read_text(),
                    {
                        **nginx.addresses(secure=secure, plain=plain, ports=(gateway.port,) * 2),
                        **{path: below(root, path) for path in nginx.PATHS},
                    },
                )
                configuration.write_text(nginx.with_temporary_files(text, root))
            elif line == "nginx -t":
                subprocess.run(started(root, "-t"), check=True, capture_output=True)
            elif line == "systemctl restart nginx":
                process = subprocess.Popen(started(root))
                wait_for(secure, 30)
            elif line.startswith("curl "):
                try:
                    here = line.replace(f"{NAME}:443:", f"{NAME}:{secure}:")
                    answer = run(below(root, here.replace(f"{NAME}/", f"{NAME}:{secure}/")))
                    refused = httpx.get(
                        f"http://127.0.0.1:{plain}/api/tokens", headers={"Host": NAME}
                    )
                    hidden = run(
                        below(
                            root,
                            f"curl -s --cacert /etc/nginx/tls/fullchain.pem --resolve "
                            f"{NAME}:{secure}:127.0.0.1 https://{NAME}:{secure}/api/operators "
                            f"-H 'Authorization: {ADMIN['Authorization']}'",
                        )
                    )
                finally:
                    process.terminate()
                    process.wait(60)
            else:
                run(below(root, line))

    assert seen == ["install", "openssl", "cp", "nginx", "systemctl", "curl"]
    assert answer == '{"status":"ok"}'
    assert (refused.status_code, refused.headers["location"]) == (308, f"https://{NAME}/api/tokens")
    assert '"NOT_FOUND"' in hidden
