"""Short runs of `exactly_once.py`; the long ones are in its docstring."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from programs import program, require

from sandbox.own_servers import dovecot, postfix

pytestmark = pytest.mark.slow

SCRIPT = Path(__file__).with_name("exactly_once.py")
SIZES = ("SEND_KEYS", "SEND_KILLS", "SEND_FREEZES", "SEND_MIXED")
KEYS, KILLS, FREEZES, MIXED = (int(os.environ.get(name, "0")) for name in SIZES)

SHORT_LEASE = "15"  # seconds; a run ends that long after its last kill, a freeze lasts up to three
MOST_UNKNOWN = 3  # of the keys of one process
BY_SMTP = Path(__file__).with_name("exactly_once_by_smtp.py")


def sent_once(keys, kills, *words, script=SCRIPT):
    words = [*words, *([] if KEYS else ["--lease", SHORT_LEASE])]
    command = [sys.executable, script, "--keys", str(keys), "--kills", str(kills), *words]
    run = subprocess.run(command, capture_output=True, text=True, timeout=3600, check=False)
    sys.stdout.write(run.stdout)
    assert run.returncode == 0, run.stdout + run.stderr
    assert "0 duplicates, 0 missing" in run.stdout
    return run.stdout


def unknown_of(stdout, keys):
    """Check that the outcome of few keys is unknown, and that all others came to an end."""
    figures = r"(\d+) answered \d+, 0 duplicates, 0 missing, (\d+) unknown, 0 unfinished"
    answered, unknown = map(int, re.search(figures, stdout).groups())
    assert answered + unknown == keys
    assert unknown <= MOST_UNKNOWN
    return unknown


def test_no_send_is_doubled_or_lost_by_kills_and_lost_answers():
    """A few may be unknown: those whose look-ups failed for as long as one request lasts."""
    keys = KEYS or 30
    unknown_of(sent_once(keys, KILLS or 2), keys)


def test_no_mail_of_an_own_server_is_doubled_or_lost_by_kills():
    """By Postfix's own log; one may be unknown when a kill meets the instant of its last line."""
    program("postfix")
    require(dovecot, postfix)
    stdout = sent_once(KEYS or 12, KILLS or 1, script=BY_SMTP)
    assert "Sent folder: 0 doubled, 0 without a copy" in stdout


def test_a_message_is_held_once_in_draft_mode():
    """Nothing is delivered, and there is one draft for each key."""
    keys = KEYS or 16
    stdout = sent_once(keys, KILLS or 1, "--drafts")
    unknown = unknown_of(stdout, keys)
    drafts = int(re.search(r"messages: 0 in sent, 0 in inbox, (\d+) in drafts", stdout)[1])
    assert keys - unknown <= drafts <= keys


def test_a_draft_of_a_person_is_sent_once_and_never_lost():
    """It is a draft or a sent message; what may still be sent later is of unknown outcome."""
    keys = KEYS or 12
    stdout = sent_once(keys, KILLS or 1, "--stored")
    assert "0 unfinished" in stdout


def test_a_send_retried_on_the_other_process_goes_out_once():
    """
    Two processes over PostgreSQL and Redis, killed in turn; each retry goes to the other one.

    A few may end as `OUTCOME_UNKNOWN` while upstream fails: those went out at most once.
    """
    sent_once(KEYS or 12, KILLS or 2, "--processes", "2")


def test_a_send_of_a_frozen_process_goes_out_once():
    """One of three processes stands still for up to three leases, and then goes on."""
    sent_once(KEYS or 12, KILLS or 1, "--processes", "3", "--freezes", str(FREEZES or 1))


def test_a_send_goes_out_once_while_everything_fails():
    """
    Kills, freezes, wrong clocks, errors of PostgreSQL, partitions, in random order.

    All errors of PostgreSQL are in `SEND_MIXED=24` and more.
    """
    program("faketime")
    sent_once(KEYS or 12, 0, "--processes", "3", "--mixed", str(MIXED or 1))


def test_a_send_behind_pgbouncer_goes_out_once():
    """In transaction mode, every transaction of a process may use another connection."""
    program("pgbouncer")
    sent_once(KEYS or 12, KILLS or 1, "--processes", "2", "--pgbouncer")
