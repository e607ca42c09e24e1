"""Short runs of `exactly_once.py`; the long one is `--keys 1000 --kills 30`, see CONTRIBUTING."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from database_servers import postgres_server, redis_server

pytestmark = pytest.mark.slow

SCRIPT = Path(__file__).with_name("exactly_once.py")
KEYS, KILLS = (int(os.environ.get(name, "0")) for name in ("SEND_KEYS", "SEND_KILLS"))


def sent_once(keys, kills, *words):
    command = [sys.executable, SCRIPT, "--keys", str(keys), "--kills", str(kills), *words]
    run = subprocess.run(command, capture_output=True, text=True, timeout=3600, check=False)
    sys.stdout.write(run.stdout)
    assert run.returncode == 0, run.stdout + run.stderr
    assert "0 duplicates, 0 missing" in run.stdout
    return run.stdout


def test_no_send_is_doubled_or_lost_by_kills_and_lost_answers():
    keys = KEYS or 60
    assert f"{keys} answered 200, 0 duplicates, 0 missing" in sent_once(keys, KILLS or 3)


def test_a_send_retried_on_the_other_process_goes_out_once(tmp_path):
    """
    Two processes over PostgreSQL and Redis, killed in turn; each retry goes to the other one.

    A few may end as `OUTCOME_UNKNOWN` while upstream fails: those went out at most once.
    """
    with postgres_server() as postgres, redis_server(tmp_path) as redis:
        shared = ("--database-url", postgres.url, "--redis-url", redis.url)
        sent_once(KEYS or 60, KILLS or 4, "--processes", "2", *shared)
