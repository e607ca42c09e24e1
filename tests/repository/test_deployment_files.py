"""The files under `deploy/`, the Dockerfile and compose.yaml fit the program and each other."""

import re
import shutil
import subprocess
import sys

import nginx
import pytest
import yaml
from paths import REPOSITORY
from programs import program

from gateway.settings import Settings

KUBERNETES = REPOSITORY / "deploy/kubernetes"
UNIT = REPOSITORY / "deploy/systemd/access-gateway@.service"
DIGEST = re.compile(r"[\w./-]+:[\w.-]+@sha256:[0-9a-f]{64}")
VARIABLES = {f"AGW_{name.upper()}" for name in Settings.model_fields}


def compose():
    return yaml.safe_load((REPOSITORY / "compose.yaml").read_text())


def manifests():
    """Return every object of the kustomization, by kind and name."""
    kustomization = yaml.safe_load((KUBERNETES / "kustomization.yaml").read_text())
    objects = [
        document
        for name in kustomization["resources"]
        for document in yaml.safe_load_all((KUBERNETES / name).read_text())
    ]
    return {(each["kind"], each["metadata"]["name"]): each for each in objects}


def test_images_are_pinned_by_digest():
    base = re.search(
        r"^ARG PYTHON_IMAGE=(\S+)$", (REPOSITORY / "Dockerfile").read_text(), re.MULTILINE
    )[1]
    services = compose()["services"]
    defaults = [
        re.fullmatch(r"\$\{\w+:-(.+)\}", services[name]["image"])[1]
        for name in ("postgres", "redis", "nginx")
    ]
    built = services["gateway"]["build"]["args"]["PYTHON_IMAGE"]

    assert all(DIGEST.fullmatch(image) for image in [base, *defaults])
    assert built == f"${{PYTHON_IMAGE:-{base}}}"


def test_all_variables_of_the_files_are_settings():
    files = [
        REPOSITORY / "Dockerfile",
        REPOSITORY / "compose.yaml",
        UNIT,
        *(path for path in (REPOSITORY / "deploy").rglob("*") if path.is_file()),
    ]
    named = {name for path in files for name in re.findall(r"AGW_[A-Z_]*[A-Z]", path.read_text())}

    assert named - VARIABLES == set()
    assert named >= {"AGW_ADMIN_TOKEN", "AGW_SECRET_KEYS", "AGW_DRAIN_SECONDS"}


def test_no_service_stops_before_the_gateway_has_drained():
    settings = manifests()["ConfigMap", "access-gateway"]["data"]
    pod = manifests()["Deployment", "access-gateway"]["spec"]["template"]["spec"]
    least = sum(Settings.model_fields[name].default for name in ("drain_seconds", "stop_seconds"))
    in_pod = int(settings["AGW_DRAIN_SECONDS"]) + int(settings["AGW_STOP_SECONDS"])

    assert int(compose()["services"]["gateway"]["stop_grace_period"].rstrip("s")) > least
    assert int(re.search(r"^TimeoutStopSec=(\d+)s$", UNIT.read_text(), re.MULTILINE)[1]) > least
    assert pod["terminationGracePeriodSeconds"] > in_pod


def test_compose_passes_every_setting_and_keeps_data():
    services, volumes = compose()["services"], compose()["volumes"]

    assert services["gateway"]["env_file"] == [".env"]
    assert services["nginx"]["profiles"] == ["nginx"]
    mounted = [
        volume.partition(":")[0]
        for name in ("gateway", "postgres")
        for volume in services[name]["volumes"]
    ]
    assert sorted(mounted) == sorted(volumes)
    example = (REPOSITORY / "deploy/compose.env.example").read_text()
    required = set(re.findall(r"\$\{(\w+):\?", (REPOSITORY / "compose.yaml").read_text()))
    assert required <= set(re.findall(r"^(\w+)=", example, re.MULTILINE))


def test_the_image_has_a_command_a_health_check_and_no_rights():
    text = (REPOSITORY / "Dockerfile").read_text()

    assert 'ENTRYPOINT ["access-gateway"]' in text
    assert "HEALTHCHECK" in text
    assert "postgresql-client" in text
    assert re.findall(r"^USER (.+)$", text, re.MULTILINE) == ["10001"]
    for name in re.findall(r"^COPY (?!--from)(.+) \S+$", text, re.MULTILINE):
        assert all((REPOSITORY / part).exists() for part in name.split())


INSTALLERS = ("pip", "setuptools", "ensurepip")


def removals(prefix):
    """Return the commands of the Dockerfile that remove files of *prefix*; they are its last."""
    text = (REPOSITORY / "Dockerfile").read_text().replace("\\\n", " ")
    steps = re.findall(r"^RUN (.+)$", text, re.MULTILINE)
    commands = [part.strip() for step in steps for part in step.split("&&") if prefix in part]
    kinds = ["uninstall" in command or command.startswith("rm ") for command in commands]
    assert kinds == sorted(kinds), f"something is installed after the removal: {commands}"
    return [command for command, removes in zip(commands, kinds, strict=True) if removes]


@pytest.mark.slow
@pytest.mark.parametrize("prefix", ["/opt/access-gateway", "/usr/local"])
def test_the_image_has_nothing_that_installs_packages(prefix, tmp_path):
    """The Dockerfile's commands are run on an environment that has what the image begins with."""
    environment = tmp_path / "environment"
    subprocess.run([sys.executable, "-m", "venv", environment], check=True)
    version = f"python{sys.version_info.major}.{sys.version_info.minor}"
    library = environment / "lib" / version
    if prefix == "/usr/local":  # Python's own folders
        (library / "ensurepip").mkdir()
    installed = library / "site-packages"
    assert (installed / "pip").is_dir()

    for command in removals(prefix):
        subprocess.run(
            ["bash", "-ec", command.replace(prefix, str(environment))], check=True, cwd=tmp_path
        )

    assert [
        path.name
        for folder in (library, installed)
        for path in folder.iterdir()
        if path.name.split("-")[0] in INSTALLERS
    ] == []


def test_the_objects_of_kubernetes_fit_each_other():
    objects = manifests()
    deployment = objects["Deployment", "access-gateway"]
    pod = deployment["spec"]["template"]
    container = pod["spec"]["containers"][0]
    ports = {port["name"]: port["containerPort"] for port in container["ports"]}
    settings = objects["ConfigMap", "access-gateway"]["data"]
    autoscaler = objects["HorizontalPodAutoscaler", "access-gateway"]["spec"]
    probes = [container[f"{kind}Probe"] for kind in ("startup", "readiness", "liveness")]

    assert ports == {"http": 8000, "admin": int(settings["AGW_ADMIN_PORT"])}
    assert [probe["httpGet"]["path"] for probe in probes] == ["/readyz", "/readyz", "/healthz"]
    labels = pod["metadata"]["labels"]
    assert deployment["spec"]["selector"]["matchLabels"] == labels
    assert (
        objects["PodDisruptionBudget", "access-gateway"]["spec"]["selector"]["matchLabels"]
        == labels
    )
    for name in ("access-gateway", "access-gateway-admin"):
        service = objects["Service", name]["spec"]
        assert service["selector"] == labels
        assert {port["targetPort"] for port in service["ports"]} <= set(ports)
    target = autoscaler["scaleTargetRef"]
    assert (target["kind"], target["name"]) in objects
    assert int(settings["AGW_PROCESSES"]) == autoscaler["maxReplicas"]
    assert all(isinstance(value, str) for value in settings.values())


@pytest.mark.parametrize("kind", ["Deployment", "Job"])
def test_pods_have_no_rights_and_all_volumes(kind):
    pods = [
        each["spec"]["template"]["spec"] for (name, _), each in manifests().items() if name == kind
    ]
    assert len(pods) == 1
    container = pods[0]["containers"][0]

    assert pods[0]["securityContext"]["runAsUser"] == 10001
    assert container["securityContext"] == {
        "allowPrivilegeEscalation": False,
        "readOnlyRootFilesystem": True,
        "capabilities": {"drop": ["ALL"]},
    }
    volumes = {volume["name"] for volume in pods[0]["volumes"]}
    assert {mount["name"] for mount in container["volumeMounts"]} == volumes


def test_the_migration_job_and_the_pods_share_settings():
    objects = manifests()
    job = objects["Job", "access-gateway-migration"]["spec"]["template"]["spec"]["containers"][0]
    pod = objects["Deployment", "access-gateway"]["spec"]["template"]["spec"]["containers"][0]

    assert job["args"] == ["db", "upgrade"]
    assert job["envFrom"] == pod["envFrom"]
    assert objects["ConfigMap", "access-gateway"]["data"]["AGW_MIGRATE"] == "false"


@pytest.mark.slow
@pytest.mark.skipif(not shutil.which("systemd-analyze"), reason="needs systemd-analyze")
def test_systemd_accepts_the_unit(tmp_path):
    copy = tmp_path / "access-gateway@8001.service"
    copy.write_text(
        UNIT.read_text().replace("/opt/access-gateway/bin/access-gateway", sys.executable)
    )
    done = subprocess.run(
        ["systemd-analyze", "verify", "--man=no", str(copy)],
        capture_output=True,
        text=True,
        check=False,
    )

    assert [line for line in done.stderr.splitlines() if "access-gateway" in line] == []


@pytest.mark.slow
def test_nginx_accepts_the_file_of_the_profile(tmp_path):
    nginx.write_certificate(tmp_path)
    text = nginx.configuration(tmp_path, secure=8443, plain=8080, ports=(8001, 8002))
    script = compose()["services"]["nginx"]["command"][2]
    for expression in re.findall(r"-e '([^']+)'", script):
        text = subprocess.run(
            ["sed", "-e", expression], input=text, capture_output=True, text=True, check=True
        ).stdout
    assert text.count("server gateway:8000") == 1
    assert "8002" not in text
    (tmp_path / "nginx.conf").write_text(text.replace("gateway:8000", "127.0.0.1:8000"))

    subprocess.run(
        [program("nginx"), "-t", "-p", tmp_path, "-c", tmp_path / "nginx.conf", "-e", "stderr"],
        check=True,
        capture_output=True,
    )
