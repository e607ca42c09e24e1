"""`./run`: which words are the checkout's own, and which are handed to the product's command."""

import runpy

import pytest
from paths import REPOSITORY

RUN = REPOSITORY / "run"
PRODUCT = "requirements-demo.lock"
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
