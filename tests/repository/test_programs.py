"""Programs that tests run: a version that they do not know leaves tests out, or is passed over."""

import ast
import os
import re
from dataclasses import replace

import programs
import pytest
from paths import REPOSITORY
from programs import NEEDED, leave_out, program

LOCKED = [name for name, needed in NEEDED.items() if needed.locked]
# What a test may start without asking: parts of every system, and of this repository.
PLAIN = {"bash", "git", "kubectl", "jq", "openssl", "ps", "sed", "systemd-analyze"}


def fake(folder, name, version, *, status=0):
    """Make a program that tells a version, as every one of them is asked."""
    folder.mkdir(exist_ok=True)
    for each in (name, "postconf"):
        path = folder / each
        path.write_text(f"#!/bin/sh\necho '{name} version {version}'\nexit {status}\n")
        path.chmod(0o755)


@pytest.fixture
def alone(tmp_path, monkeypatch):
    """Look for programs in the path alone, whose first folder is the test's own."""
    monkeypatch.delenv("CI", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    for name, needed in NEEDED.items():
        monkeypatch.setitem(NEEDED, name, replace(needed, folders=()))
    programs.find.cache_clear()
    yield tmp_path / "bin"
    programs.find.cache_clear()


@pytest.mark.parametrize("name", sorted(NEEDED))
def test_another_version_leaves_the_test_out_and_is_named(name, alone):
    fake(alone, name, "0.0.7")
    with pytest.raises(pytest.skip.Exception) as skipped:
        program(name)

    sentence = str(skipped.value)
    assert sentence.startswith(f"{name} is only in version 0.0.7 installed; the tests need ")
    assert re.search(r"\d", sentence.partition("need")[2])


@pytest.mark.parametrize("name", sorted(NEEDED))
def test_a_missing_program_leaves_the_test_out_and_is_named(name, alone):
    with pytest.raises(pytest.skip.Exception, match=rf"^{name} is not installed; the tests need "):
        program(name)


def test_a_program_that_tells_no_version_leaves_the_test_out(alone):
    fake(alone, "redis-server", "unheard of", status=1)
    with pytest.raises(pytest.skip.Exception, match="only in version unknown installed"):
        program("redis-server")


def test_a_version_that_fits_is_found_behind_one_that_does_not(alone, monkeypatch):
    later = alone.parent / "later"
    fake(alone, "redis-server", "5.0.3")
    fake(later, "redis-server", "7.2.4")
    monkeypatch.setenv("PATH", f"{alone}{os.pathsep}{later}")

    assert program("redis-server") == str(later / "redis-server")


@pytest.mark.parametrize(
    ("name", "version", "fits"),
    [
        ("nginx", "1.19.4", False),
        ("nginx", "1.19.5", True),
        ("nginx", "1.22.1", True),
        ("postfix", "3.10.4", True),
        ("postfix", "4.0", False),
        ("postgres", "14.9", False),
        ("postgres", "15.20", True),
    ],
)
def test_versions_are_compared_as_numbers(name, version, fits):
    assert NEEDED[name].fits(name, version) is fits


@pytest.mark.parametrize("name", LOCKED)
def test_the_version_of_a_locked_program_is_that_of_its_lock(name, alone):
    lock = NEEDED[name].locked
    pinned = re.search(rf"^{name}==(\S+)", lock.read_text(), re.MULTILINE)[1]
    fake(alone, name, pinned)
    assert program(name) == str(alone / name)
    programs.find.cache_clear()
    fake(alone, name, f"{pinned}.1")
    with pytest.raises(pytest.skip.Exception, match=f"need {re.escape(pinned)}, of tests/"):
        program(name)


def test_the_locked_environment_comes_before_the_path(alone, monkeypatch):
    """Debian has a radicale of its own, which comes first on the path."""
    locked = alone.parent / "locked"
    pinned = re.search(r"^radicale==(\S+)", programs.CALENDAR_LOCK.read_text(), re.MULTILINE)[1]
    for folder in (alone, locked):
        fake(folder, "radicale", pinned)
    needed = replace(NEEDED["radicale"], folders=(str(locked),))
    monkeypatch.setitem(NEEDED, "radicale", needed)

    assert program("radicale") == str(locked / "radicale")


def test_ci_does_not_skip(monkeypatch):
    monkeypatch.setenv("CI", "true")
    with pytest.raises(pytest.fail.Exception, match="CI must not skip its tests"):
        leave_out("radicale is not installed")


def test_no_test_looks_for_a_program_by_itself():
    """Every search goes by `programs`, but for what is part of any system."""
    searches = []
    for path in (REPOSITORY / "tests").rglob("*.py"):
        text = path.read_text("utf-8")
        if "which(" not in text or path.name == "programs.py":
            continue
        for node in ast.walk(ast.parse(text)):
            if not isinstance(node, ast.Call) or getattr(node.func, "attr", "") != "which":
                continue
            sought = node.args[0]
            if not isinstance(sought, ast.Constant) or sought.value not in PLAIN:
                searches.append(f"{path.relative_to(REPOSITORY)}:{node.lineno}")

    assert searches == []
