"""`sandbox import`: a line per file, each skipped entry once, and the exit code."""

MAIL = b"From: a@x.example\r\nTo: b@x.example\r\nSubject: x\r\nMessage-ID: <1@x>\r\n\r\nHello\r\n"


def run_import(run, folder, *paths):
    return run("sandbox", "import", "--into", "provider-a", "--data", folder / "data", *paths)


def test_each_skipped_file_is_named_once(run, tmp_path):
    source = tmp_path / "mail"
    source.mkdir()
    (source / "a.eml").write_bytes(MAIL)
    (source / "notes.txt").write_text("no mail")

    done = run_import(run, tmp_path, source)

    assert done.exit_code == 0
    assert done.stdout == f"{source}: 1 imported, 1 skipped.\n"
    assert done.stderr.count("notes.txt") == 1


def test_nothing_imported_is_exit_code_1(run, tmp_path):
    notes = tmp_path / "notes.txt"
    notes.write_text("no mail")

    done = run_import(run, tmp_path, notes)

    assert done.exit_code == 1
    assert done.stderr.splitlines()[-1] == "Nothing was imported."
