"""The demo as a person starts it: a real process, a real socket, twice."""

import json
import subprocess
import sys
import time
import urllib.request

import pytest

pytestmark = pytest.mark.slow


def start(folder, manifest):
    """Start the demo on a free port; return the process and its manifest once it answers."""
    manifest.unlink(missing_ok=True)
    command = [sys.executable, "-m", "gateway", "demo", "--port", "0"]
    process = subprocess.Popen(
        [*command, "--data", str(folder), "--manifest", str(manifest)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=folder.parent,
    )
    for _ in range(600):
        if manifest.exists():
            return process, json.loads(manifest.read_text())
        if process.poll() is not None:
            break
        time.sleep(0.1)
    process.kill()
    raise AssertionError(process.communicate()[1])


def stop(process):
    process.terminate()
    printed, _ = process.communicate(timeout=180)
    return printed


def get(described, path, token):
    request = urllib.request.Request(
        described["baseUrl"] + path,
        headers={"Authorization": f"Bearer {described['tokens'][token]}"},
    )
    with urllib.request.urlopen(request) as response:
        return json.loads(response.read()), response.headers


def test_a_restarted_demo_has_the_same_tokens(tmp_path):
    folder, manifest = tmp_path / "demo", tmp_path / "manifest.json"
    process, first = start(folder, manifest)
    try:
        answer, headers = get(first, "/api/access/email/messages?limit=3", "full")
    finally:
        printed = stop(process)

    assert len(answer["emails"]) == 3
    assert headers["X-RateLimit-Limit"] == "60"
    assert headers["Server"] is None
    for text in (first["baseUrl"], first["adminToken"], *first["tokens"].values()):
        assert text in printed
    assert printed.count("curl -s") == 3

    process, second = start(folder, manifest)
    try:
        masked, _ = get(second, "/api/access/email/messages?limit=3&includeBody=true", "masked")
    finally:
        stop(process)

    assert second["tokens"] == first["tokens"]
    assert {email["body"] for email in masked["emails"]} == {None}
