"""`./run clients`: its lock files, and the check of what an example did."""

import importlib.util
import json
import re

import pytest
from paths import REPOSITORY

EXAMPLES = REPOSITORY / "examples"
OUTPUT = "listed 2 emails\nread with a body\nsent m1\ncreated i1\nuploaded f1\n"


@pytest.fixture(scope="module")
def script():
    spec = importlib.util.spec_from_file_location("clients_script", EXAMPLES / "run.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


class Answers:
    """The answers of a demo in which everything has the name *name*."""

    def __init__(self, name):
        self.answers = {
            "/api/access/email/messages/m1": {"subject": "python-rest"},
            "/api/access/tasks/items/i1": {"item": {"name": name}},
            "/api/access/collab/files/f1/download": {"downloadUrl": "http://demo.test/f1"},
            "http://demo.test/f1": "python-rest",
        }

    def read(self, path):
        answer = self.answers[path]
        return (answer if isinstance(answer, str) else json.dumps(answer)).encode()


def test_every_example_is_run(script):
    folders = {path.parent.name for path in EXAMPLES.glob("*/example.*")}

    assert folders == set(script.COMMANDS)
    assert all(len(commands) == 3 for commands in script.COMMANDS.values())


def test_an_unknown_example_is_refused(script, capsys):
    assert script.main(["python_soap"]) == 2
    assert capsys.readouterr().out.startswith("There is no example python_soap; there are")


def test_what_an_example_did_is_read_from_the_demo(script):
    script.check("python-rest", OUTPUT, Answers("python-rest"))

    with pytest.raises(script.Failed, match="the item is 'other', not 'python-rest'"):
        script.check("python-rest", OUTPUT, Answers("other"))
    without_upload = OUTPUT.replace("uploaded f1\n", "")
    with pytest.raises(script.Failed, match="unexpected output"):
        script.check("python-rest", without_upload, Answers("python-rest"))


def test_a_failed_step_tells_its_output(script, tmp_path):
    with pytest.raises(script.Failed, match=r"(?s)wrong type.*This step failed: sh -c"):
        script.run("sh", "-c", "echo wrong type; exit 3", cwd=tmp_path)


def test_the_generators_are_locked_by_hash_and_name_no_registry():
    python = (EXAMPLES / "requirements.lock").read_text()
    node = json.loads((EXAMPLES / "package-lock.json").read_text())["packages"]
    required = (EXAMPLES / "requirements.in").read_text().split()

    pinned = re.findall(r"^([a-z0-9-]+)==.*\\\n(?= +--hash=sha256:)", python, re.MULTILINE)
    assert len(pinned) == len(re.findall(r"^[a-z]", python, re.MULTILINE))
    assert set(required) <= set(pinned)
    assert "://" not in python
    packages = {name: package for name, package in node.items() if name}
    assert len(packages) > 300
    assert [name for name, package in packages.items() if "integrity" not in package] == []
    assert [name for name, package in packages.items() if "resolved" in package] == []
