"""`./run`: which words are the checkout's own, and which are handed to the product's command."""

import runpy
import sys

import pytest
from paths import REPOSITORY

RUN = REPOSITORY / "run"
PRODUCT = "requirements.lock"
DEVELOPER = "requirements-dev.lock"


@pytest.mark.parametrize(
    ("words", "lock", "started"),
    [
        (["schema"], DEVELOPER, ["docs/generators/artefacts.py"]),
        (["schema", "print"], PRODUCT, ["-m", "gateway", "schema", "print"]),
        (["schema", "check", "old"], PRODUCT, ["-m", "gateway", "schema", "check", "old"]),
        (["docs", "--serve"], DEVELOPER, ["docs/generators/site_builder.py", "--serve"]),
        (["bench", "--quick"], DEVELOPER, ["-m", "benchmarks", "--quick"]),
        (["token", "list"], PRODUCT, ["-m", "gateway", "token", "list"]),
        ([], PRODUCT, ["-m", "gateway"]),
    ],
)
def test_arguments_start_the_named_tasks(words, lock, started, monkeypatch):
    script = runpy.run_path(str(RUN), run_name="run")
    main = script["main"]
    world = main.__globals__
    seen = []
    monkeypatch.setattr("sys.argv", ["run", *words])
    monkeypatch.setitem(world, "set_up", lambda file: seen.append(file.name))
    monkeypatch.setitem(world, "replace_process", lambda argv: seen.append(argv) or 0)
    monkeypatch.setattr("subprocess.call", lambda argv, **_: seen.append(argv[1:]) or 0)

    assert main() == 0
    assert seen == [lock, started]


@pytest.mark.parametrize(("tests", "types"), [(0, 0), (0, 2), (1, 0)])
def test_check_fails_when_the_tests_or_the_types_do(tests, types, monkeypatch, capfd):
    script = runpy.run_path(str(RUN), run_name="run")
    main = script["main"]
    world = main.__globals__
    checking = f"print('types'); raise SystemExit({types})"
    monkeypatch.setattr("sys.argv", ["run", "check"])
    monkeypatch.setitem(world, "set_up", lambda file: None)
    monkeypatch.setitem(world, "PYTHON", sys.executable)
    monkeypatch.setitem(world, "TYPES", ["-c", checking])
    monkeypatch.setattr("subprocess.call", lambda argv, **_: tests if "pytest" in argv else 0)

    assert main() == (tests or types)
    assert capfd.readouterr().out == "types\n"


def test_the_image_and_the_checkout_have_the_reader_of_pdf():
    assert "\npypdf==" in (REPOSITORY / PRODUCT).read_text()
