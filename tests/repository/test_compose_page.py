"""compose.yaml is valid, and its page, commands and variables start a gateway without a daemon."""

import os
import re
import shlex
import subprocess
import sys

import httpx
import nginx
import pytest
import yaml
from database_servers import postgres_server, wait_for
from page_commands import clone, commands, fill_in, run, until_ready, variables
from paths import REPOSITORY
from ports import free_port
from programs import program

pytestmark = pytest.mark.slow

PAGE, HEADING = "docs/operate/deployment.md", "## Image and Compose"
PASSWORD = "any p@ss/w:rd %1"  # the page promises that PostgreSQL's may hold any character


def test_the_file_has_the_schema_of_compose_files():
    validator = program("check-jsonschema")
    words = ["--builtin-schema", "vendor.compose-spec", "compose.yaml"]
    subprocess.run([validator, *words], cwd=REPOSITORY, check=True)


def interpolated(text, known):
    """Return *text* as Compose fills it in."""

    def value(match):
        name, kind, default = match.groups()
        if kind == ":?":
            return known[name]
        return known.get(name) or default or ""

    text = re.sub(r"\$\{(\w+)(?:(:-|:\?)([^}]*))?\}", value, text)
    return text.replace("$$", "$")


def compose_lines(lines):
    """Return the words of each `docker compose` command behind these two."""
    return [shlex.split(line)[2:] for line in lines if line.startswith("docker compose ")]


def test_the_commands_of_the_page_fit_the_file():
    services = yaml.safe_load((REPOSITORY / "compose.yaml").read_text())["services"]
    profiles = {profile for each in services.values() for profile in each.get("profiles", ())}
    used = compose_lines(commands(PAGE, HEADING))

    assert [words for words in used if words[0] != "exec"] == [
        ["up", "-d"],
        ["--profile", *profiles, "up", "-d"],
    ]
    assert {tuple(words[1:3]) for words in used if words[0] == "exec"} == {
        ("gateway", "access-gateway")
    }


def test_the_certificate_of_the_page_serves_the_profile(tmp_path):
    folder = clone(tmp_path)
    for line in commands(PAGE, HEADING):
        if line.startswith(("install", "openssl")):
            run(line, cwd=folder)
    volumes = yaml.safe_load((folder / "compose.yaml").read_text())["services"]["nginx"]["volumes"]
    [mounted] = [each for each in volumes if each.endswith(":/etc/nginx/tls:ro")]
    tls = folder / interpolated(mounted, {}).partition(":")[0]
    for name, made in {"cert.pem": "fullchain.pem", "key.pem": "privkey.pem"}.items():
        (tmp_path / name).symlink_to(tls / made)
    text = nginx.configuration(tmp_path, secure=8443, plain=8080, ports=(8001, 8002))
    (tmp_path / "nginx.conf").write_text(text)

    checked = [program("nginx"), "-t", "-p", tmp_path, "-c", tmp_path / "nginx.conf"]
    subprocess.run([*checked, "-e", "stderr"], check=True, capture_output=True)
    taken = subprocess.run(
        ["git", "check-ignore", "--no-index", "deploy/tls/privkey.pem", ".env"],
        cwd=REPOSITORY,
        capture_output=True,
        text=True,
        check=True,
    )
    assert taken.stdout.split() == ["deploy/tls/privkey.pem", ".env"]


def listening_redis(service, known, folder):
    """Start what the service runs, on a loopback port; return process, port and environment."""
    port = free_port()
    shell, option, script = service["command"]
    script = interpolated(script, known).replace(
        "redis-server", f"{program('redis-server')} --bind 127.0.0.1 --port {port} --dir {folder}"
    )
    secret = {name: interpolated(value, known) for name, value in service["environment"].items()}
    environment = {**os.environ, **secret}
    process = subprocess.Popen([shell, option, script], env=environment, stdout=subprocess.DEVNULL)
    wait_for(port)
    check = service["healthcheck"]["test"][1].replace("redis-cli", f"redis-cli -p {port}")
    run(check, **secret)
    return process, port


def role_with_a_password(postgres):
    """Make what the image of PostgreSQL makes of its variables; the role needs its password."""
    asked = {"PGHOST": "127.0.0.1", "PGPORT": str(postgres.port), "PGUSER": "postgres"}
    run(f"psql -c \"CREATE ROLE gateway LOGIN PASSWORD '{PASSWORD}'\"", **asked)
    run('psql -c "CREATE DATABASE gateway OWNER gateway"', **asked)
    rule = "host all gateway 127.0.0.1/32 scram-sha-256"
    run(f"sed -i '1i {rule}' {postgres.data}/pg_hba.conf")
    run('psql -c "SELECT pg_reload_conf()"', **asked)


def test_command_and_variables_start_a_gateway(tmp_path):
    folder = clone(tmp_path)
    services = yaml.safe_load((folder / "compose.yaml").read_text())["services"]
    [copying] = [line for line in commands(PAGE, HEADING) if line.startswith("cp ")]
    run(copying, cwd=folder)
    filled = {"AGW_ADMIN_TOKEN": "a" * 64, "AGW_SECRET_KEYS": "b" * 64, "REDIS_PASSWORD": "c0ffee"}
    fill_in(folder / ".env", {**filled, "POSTGRES_PASSWORD": PASSWORD})
    known = variables(folder / ".env")
    gateway, port = services["gateway"], free_port()
    with postgres_server() as postgres:
        role_with_a_password(postgres)
        redis, redis_port = listening_redis(services["redis"], known, tmp_path)
        own = {name: interpolated(text, known) for name, text in gateway["environment"].items()}
        assert own["PGPASSWORD"] == PASSWORD
        own["AGW_DATABASE_URL"] = nginx.replaced(
            own["AGW_DATABASE_URL"], {"@postgres/": f"@127.0.0.1:{postgres.port}/"}
        )
        own["AGW_REDIS_URL"] = nginx.replaced(
            own["AGW_REDIS_URL"], {"@redis:6379/": f"@127.0.0.1:{redis_port}/"}
        )
        data = tmp_path / "data"
        data.mkdir()
        environment = {
            **{name: text for name, text in os.environ.items() if not name.startswith("AGW_")},
            **{name: text for name, text in known.items() if name.startswith("AGW_")},
            **own,
            "AGW_PORT": str(port),
            "AGW_DATA_DIR": str(data),
            "PYTHONPATH": f"{folder}/src",
        }
        program_words = [sys.executable, "-m", "gateway"]
        with (tmp_path / "log").open("wb") as log:
            served = subprocess.Popen(
                [*program_words, *gateway["command"]],
                cwd=data,
                env=environment,
                stdout=log,
                stderr=log,
            )
        try:
            assert until_ready(f"http://127.0.0.1:{port}")["status"] == "ready"
            image = (folder / "Dockerfile").read_text()
            [probe] = re.findall(r'^    CMD \["python", "-c", "(.+)"\]$', image, re.MULTILINE)
            probed = [sys.executable, "-c", probe.replace('\\"', '"')]
            subprocess.run(probed, env=environment, check=True)
            for words in compose_lines(commands(PAGE, HEADING)):
                if words[0] == "exec":
                    last = [word.replace("/data", str(data)) for word in words[3:]]
                    done = subprocess.run(
                        [*program_words, *last, *(["--offline"] if last == ["doctor"] else [])],
                        cwd=data,
                        env=environment,
                        capture_output=True,
                        text=True,
                        check=False,
                    )
                    assert done.returncode == 0, done.stdout + done.stderr
            assert httpx.get(f"http://127.0.0.1:{port}/healthz").status_code == 200
        finally:
            served.terminate()
            served.wait(120)
            redis.terminate()
            redis.wait(60)
    assert (data / "copy-1").stat().st_size > 0
    assert "serve one database" not in (tmp_path / "log").read_text()
