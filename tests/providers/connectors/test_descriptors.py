"""A connector is its descriptor: nothing outside its own file names an invented one."""

import json
import subprocess
import sys

import pytest
from paths import REPOSITORY


@pytest.mark.slow  # a process of its own: the tables of connectors are made at import
def test_a_connector_in_one_file_is_served_by_every_interface():
    script = REPOSITORY / "tests" / "helpers" / "invented_process.py"
    done = subprocess.run([sys.executable, script], capture_output=True, text=True, check=True)
    shown = json.loads(done.stdout)

    email = {"id": "invented:m1", "subject": "Invented", "provider": "INVENTED"}
    assert shown["page"]["data"] == {"emails": {"emails": [email], "authWarnings": None}}
    assert (shown["message"], shown["missing"]) == (email, 404)
    assert "credentials of INVENTED must have username and password." in shown["refused"]
    assert shown["check"]["findings"] == [
        {"item": "invented", "outcome": "as-expected", "detail": "email", "latencyMs": 0}
    ]
    assert shown["codes"] == [
        *("PROVIDER_A", "PROVIDER_B", "IMAP", "INVENTED", "CALDAV"),
        *("COLLAB", "BOARDS", "PROJECTS"),
    ]
    assert shown["in the schema"]
