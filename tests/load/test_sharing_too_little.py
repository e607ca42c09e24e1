"""Processes that share too little say so in their logs and in `doctor`, as operators run them."""

import json
import os
import subprocess
import sys
import time

import pytest
from database_servers import postgres_server, redis_server
from gateway_processes import SECRET, serving

pytestmark = pytest.mark.slow

WITHOUT_REDIS = "2 processes serve one database without Redis"
ON_A_FILE = "2 processes serve one database that is an SQLite file"


def warnings(process):
    """Return the warnings in its log about what processes share."""
    lines = [json.loads(line) for line in process.log().splitlines() if line.startswith("{")]
    return [
        line["event"].partition(":")[0]
        for line in lines
        if line["level"] == "warning" and "serve one database" in line["event"]
    ]


def until_warned(*processes):
    """Wait until each has found the others, which takes two renewals of its lease."""
    end = time.monotonic() + 120
    while not all(warnings(process) for process in processes):
        assert time.monotonic() < end, "No warning"
        time.sleep(0.2)


def doctor(folder, **settings):
    """Return outcome and detail of the two checks of `doctor`."""
    secrets = {"AGW_ADMIN_TOKEN": SECRET, "AGW_SECRET_KEYS": SECRET, "AGW_DATA_DIR": str(folder)}
    done = subprocess.run(
        [sys.executable, "-m", "gateway", "doctor", "--offline", "--json"],
        env={**os.environ, **secrets, **settings},
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )
    checks = {check["name"]: check for check in json.loads(done.stdout)["checks"]}
    return checks["processes"]["outcome"], checks["serving"]["outcome"], checks["serving"]["detail"]


def test_two_services_on_one_data_folder(tmp_path):
    with serving(tmp_path) as first, serving(tmp_path) as second:
        until_warned(first, second)
        processes, outcome, detail = doctor(tmp_path)

        assert warnings(first) == warnings(second) == [WITHOUT_REDIS]
        assert (processes, outcome) == ("ok", "warn")  # each is configured as if it were alone
        assert detail.startswith(WITHOUT_REDIS)
        for process in (first, second):
            assert f"(process {process.process.pid})" in detail


def test_two_workers_without_redis(tmp_path):
    with serving(tmp_path, "--workers", "2") as service:
        assert warnings(service) == [WITHOUT_REDIS]
        assert doctor(tmp_path)[1] == "warn"
    assert warnings(service) == [WITHOUT_REDIS]


def test_two_workers_on_a_file_with_redis(tmp_path):
    with redis_server(tmp_path) as redis:
        shared = {"AGW_REDIS_URL": redis.url}
        with serving(tmp_path, "--workers", "2", **shared) as service:
            assert warnings(service) == [ON_A_FILE]
            assert doctor(tmp_path, **shared)[1] == "warn"


def test_two_services_on_postgresql(tmp_path):
    with postgres_server() as postgres:
        shared = {"AGW_DATABASE_URL": postgres.url}
        with serving(tmp_path, **shared) as first, serving(tmp_path, **shared) as second:
            until_warned(first, second)
            assert warnings(first) == warnings(second) == [WITHOUT_REDIS]
            assert doctor(tmp_path, **shared)[:2] == ("ok", "warn")


def test_two_workers_on_postgresql_with_redis_are_silent(tmp_path):
    with postgres_server() as postgres, redis_server(tmp_path) as redis:
        shared = {"AGW_DATABASE_URL": postgres.url, "AGW_REDIS_URL": redis.url}
        with serving(tmp_path, "--workers", "2", **shared) as service:
            assert doctor(tmp_path, AGW_WORKERS="2", **shared)[:2] == ("ok", "ok")
        assert warnings(service) == []
