"""Help pages and messages about wrong usage."""

import pytest

from policy.presets import Preset
from policy.vocabulary import RuleType


@pytest.mark.parametrize("line", ["demo", "token create", "connection add", "sandbox import"])
def test_the_help_shows_no_types_of_python(run, line):
    shown = run(*line.split(), "--help", env={"TERMINAL_WIDTH": "200"}).stdout

    assert "--" in shown
    for word in ("<bool>", "<str>", "<int", "<path>", "list["):
        assert word not in shown


def test_the_help_shows_ranges_in_words(run):
    shown = run("serve", "--help", env={"TERMINAL_WIDTH": "200"}).stdout

    assert "Port to listen on (AGW_PORT).  [0 to 65535]" in shown
    assert "x<=" not in shown


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("token create", "Missing argument 'name'. See `access-gateway token create --help`.\n"),
        ("tokn", "No such command 'tokn'. Did you mean 'token'? See `access-gateway --help`.\n"),
        (
            "demo --reset --prot 1",
            "No such option: --prot (Possible options: --host, --port, --reset)."
            " See `access-gateway demo --help`.\n",
        ),
    ],
)
def test_wrong_usage_is_one_line(run, line, message):
    done = run(*line.split())

    assert (done.exit_code, done.stdout, done.stderr) == (2, "", message)


@pytest.mark.parametrize(
    ("line", "words"), [("token create", Preset), ("rule add", RuleType)], ids=["presets", "rules"]
)
def test_the_help_lists_every_word(run, line, words):
    shown = run(*line.split(), "--help", env={"TERMINAL_WIDTH": "400"}).stdout

    *first, last = words
    assert f"{', '.join(first)} or {last}" in " ".join(shown.split())
