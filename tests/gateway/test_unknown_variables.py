"""Variables that no setting reads are named, with the nearest setting."""

import pytest

from gateway.unknown_variables import unknown_variables


@pytest.fixture(autouse=True)
def _empty_folder(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)


def test_known_variables_and_those_of_others_are_not_named(monkeypatch):
    monkeypatch.setenv("AGW_PORT", "1")
    monkeypatch.setenv("agw_host", "h")
    monkeypatch.setenv("OTHER", "x")

    assert unknown_variables() == []


def test_an_unknown_variable_is_named_with_the_nearest_one_and_without_its_value(monkeypatch):
    monkeypatch.setenv("AGW_DATABSE_URL", "secret")
    monkeypatch.setenv("AGW_ZZZZZZZZ", "secret")

    assert unknown_variables() == [
        "AGW_DATABSE_URL is not a setting; did you mean AGW_DATABASE_URL?",
        "AGW_ZZZZZZZZ is not a setting.",
    ]


def test_the_file_is_read_too(tmp_path):
    (tmp_path / ".env").write_text("AGW_ADMIN_TOKN=x\nAGW_PORT=1\nOTHER=1\n")

    assert unknown_variables() == ["AGW_ADMIN_TOKN is not a setting; did you mean AGW_ADMIN_TOKEN?"]
