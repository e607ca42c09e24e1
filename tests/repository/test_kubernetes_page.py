"""The manifests are valid, and the page's commands and variables make a gateway."""

import os
import shutil
import subprocess
import sys

import httpx
import pytest
import yaml
from database_servers import postgres_server, redis_server
from page_commands import SECRETS, clone, commands, fill_in, run, until_ready
from paths import REPOSITORY
from ports import free_port
from programs import program

pytestmark = pytest.mark.slow

PAGE, HEADING = "docs/operate/deployment.md", "## Kubernetes"
FOLDER = REPOSITORY / "deploy/kubernetes"
VERSIONS = ("1.27", "1.37")  # the oldest and the newest of which the validator has schemas


def manifests(folder):
    """Return the objects that `kubectl apply -k` sends, by kind and name."""
    if kubectl := shutil.which("kubectl"):
        text = run(f"{kubectl} kustomize {folder}")
    else:
        listed = yaml.safe_load((folder / "kustomization.yaml").read_text())["resources"]
        text = "\n---\n".join((folder / name).read_text() for name in listed)
    objects = [each for each in yaml.safe_load_all(text) if each]
    return {(each["kind"], each["metadata"]["name"]): each for each in objects}


@pytest.mark.parametrize("version", VERSIONS)
def test_every_manifest_has_the_schema_of_its_kind(version, tmp_path):
    objects = manifests(FOLDER)
    file = tmp_path / "all.yaml"
    file.write_text(yaml.safe_dump_all(objects.values()))
    validator = program("kubernetes-validate")
    done = subprocess.run(
        [validator, "--strict", "-k", version, file], capture_output=True, text=True, check=False
    )

    assert done.returncode == 0, done.stdout + done.stderr
    assert (done.stdout + done.stderr).count(" passed for resource ") == len(objects) == 8


def test_a_wrong_manifest_is_refused(tmp_path):
    """The validator sees what `kubectl` would refuse."""
    text = (FOLDER / "deployment.yaml").read_text()
    file = tmp_path / "wrong.yaml"
    file.write_text(text.replace("startupProbe:", "startUpProbe:"))
    words = [program("kubernetes-validate"), "--strict", file]

    assert subprocess.run(words, capture_output=True, check=False).returncode != 0


def secret_of(folder):
    """Run the lines of the page that make the secret; return its variables."""
    lines = commands(PAGE, HEADING)
    assert [line.split()[0] for line in lines] == ["install", "kubectl", "kubectl", "kubectl"]
    assert lines[3] == f"kubectl apply -k {FOLDER.relative_to(REPOSITORY)}"
    run(lines[0], cwd=folder)
    file = folder / "secret.env"
    assert file.stat().st_mode & 0o777 == 0o600
    yield file
    if shutil.which("kubectl"):
        for line in lines[1:3]:
            made = yaml.safe_load(run(f"{line} --dry-run=client -o yaml", cwd=folder))
            assert made["metadata"]["name"] == "access-gateway"


def test_the_variables_migrate_and_serve(tmp_path):
    folder = clone(tmp_path)
    objects = manifests(folder / "deploy/kubernetes")
    settings = objects["ConfigMap", "access-gateway"]["data"]
    deployment = objects["Deployment", "access-gateway"]["spec"]["template"]["spec"]
    job = objects["Job", "access-gateway-migration"]["spec"]["template"]["spec"]
    [container], [migration] = deployment["containers"], job["containers"]
    steps = secret_of(folder)
    secret = next(steps)
    with postgres_server() as postgres, redis_server(tmp_path) as redis:
        addresses = {"AGW_DATABASE_URL": postgres.url, "AGW_REDIS_URL": redis.url}
        fill_in(secret, {**SECRETS, **addresses})
        assert list(steps) == []  # the other commands of the page
        secrets = dict(
            line.split("=", 1) for line in secret.read_text().splitlines() if line[:3] == "AGW"
        )
        assert set(secrets) == {*SECRETS, *addresses}
        public, admin = free_port(), free_port()
        environment = {
            **{name: text for name, text in os.environ.items() if not name.startswith("AGW_")},
            **settings,
            **secrets,
            # The image's own, and ports of this test.
            "AGW_HOST": "127.0.0.1",
            "AGW_PORT": str(public),
            "AGW_ADMIN_HOST": "127.0.0.1",
            "AGW_ADMIN_PORT": str(admin),
            "AGW_DRAIN_SECONDS": "0",
            "AGW_DATA_DIR": str(tmp_path),
            "PYTHONPATH": f"{folder}/src",
        }
        command = [sys.executable, "-m", "gateway"]
        early = subprocess.run(
            [*command, *container["args"]],
            env=environment,
            cwd=tmp_path,
            capture_output=True,
            text=True,
            check=False,
        )
        assert early.returncode == 1, "a pod must not serve before the job has migrated"
        subprocess.run([*command, *migration["args"]], env=environment, cwd=tmp_path, check=True)
        pod = subprocess.Popen(
            [*command, *container["args"]],
            env=environment,
            cwd=tmp_path,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        try:
            until_ready(f"http://127.0.0.1:{public}")
            ports = {"http": public, "admin": admin}
            for kind in ("startup", "readiness", "liveness"):
                probe = container[f"{kind}Probe"]["httpGet"]
                url = f"http://127.0.0.1:{ports[probe['port']]}{probe['path']}"
                assert httpx.get(url).status_code == 200, kind
            assert httpx.get(f"http://127.0.0.1:{admin}/metrics").status_code == 401
            assert httpx.get(f"http://127.0.0.1:{public}/metrics").status_code == 404
        finally:
            pod.terminate()
            pod.wait(120)
