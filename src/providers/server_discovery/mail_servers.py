"""Servers for IMAP and for outgoing mail: tried without a password, then signed in to."""

import asyncio
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace

from providers.failures import NeedsReauth, ProviderFailure
from providers.imap.accounts import Account
from providers.imap.connecting import NO_SUCH_NAME
from providers.imap.session import Session
from providers.imap.submission import Submission
from providers.server_discovery.candidates import Candidate, Source, mail_candidates
from providers.server_discovery.dns_records import Resolver
from providers.server_discovery.search import MailServers, Report, Search, StepOutcome
from providers.server_discovery.trust import NeedsConfirmation, Trust
from providers.server_discovery.web import Web

SECONDS = 5.0  # to try one server


async def find_mail_servers(
    search: Search, trust: Trust, resolver: Resolver, web: Web, report: Report
) -> MailServers | None:
    """
    Find the servers of a mailbox, and sign in where there is a password.

    Returns:
        None when no server for IMAP answers.

    Raises:
        ValueError: An address that a person gave is not valid.
    """
    candidates = await mail_candidates(search, resolver, web, report)
    reading, sending = await asyncio.gather(
        _first_working(candidates["imap"], "imap", _try_imap, trust, report),
        _first_working(candidates["smtp"], "smtp", _try_submission, trust, report),
    )
    if reading is None:
        return None
    server = reading.endpoint.url("imap")
    submission = "" if sending is None else sending.endpoint.url("smtp")
    users = search.usernames(reading.username)
    if search.password is None:
        return MailServers(server=server, submission=submission, username=users[0], signed_in=False)
    signed_in, is_refused = await _sign_in(search, reading, users, _log_in_to_imap, "imap", report)
    if signed_in is None:
        return MailServers(
            server=server,
            submission=submission,
            username=users[0],
            signed_in=False,
            refused=is_refused,
        )
    if sending is not None:
        user = sending.username or signed_in
        sender, _ = await _sign_in(search, sending, (user,), _log_in_to_submission, "smtp", report)
        submission = submission if sender == signed_in else ""
    return MailServers(server=server, submission=submission, username=signed_in, signed_in=True)


async def _first_working(
    candidates: Sequence[Candidate],
    protocol: str,
    attempt: Callable[[Account], Awaitable[None]],
    trust: Trust,
    report: Report,
) -> Candidate | None:
    """Try all candidates at once; return the first one, in their order, that answers."""

    async def run(candidate: Candidate) -> Candidate | None:
        url = candidate.endpoint.url(protocol)
        host = candidate.endpoint.host
        try:
            address = ""
            if candidate.source is not Source.GIVEN:
                is_vouched = candidate.source is Source.AUTOCONFIG
                address = await trust.admit(host, vouched=is_vouched)
            pinned = replace(candidate, endpoint=replace(candidate.endpoint, address=address))
            await attempt(Account(pinned.endpoint, "", ""))
        except NeedsConfirmation as needed:
            report.ask(url, needed.confirmation)
        except ProviderFailure as failure:
            report.add(url, StepOutcome.FAILED, failure.message)
        except OSError:
            report.add(url, StepOutcome.FAILED, NO_SUCH_NAME)
        else:
            sentence = f"The server answers, with a valid certificate; {candidate.source} names it."
            if candidate.endpoint.is_plain:
                sentence = "The server answers, without encryption."
            report.add(url, StepOutcome.WORKS, sentence)
            return pinned
        return None

    tried = await asyncio.gather(*map(run, candidates))
    return next((candidate for candidate in tried if candidate is not None), None)


async def _try_imap(account: Account) -> None:
    (await Session.open(account)).close()


async def _try_submission(account: Account) -> None:
    (await Submission.open(account, ends=time.monotonic() + SECONDS)).close()


async def _sign_in(  # noqa: PLR0913, PLR0917 - what to sign in with, where and how
    search: Search,
    candidate: Candidate,
    users: Sequence[str],
    log_in: Callable[[Account], Awaitable[None]],
    protocol: str,
    report: Report,
) -> tuple[str | None, bool]:
    """Return the first user that the server takes, and whether it refused one."""
    url = candidate.endpoint.url(protocol)
    is_refused = False
    for user in users:
        account = Account(
            candidate.endpoint, user, search.password or "", has_token=search.has_token
        )
        try:
            await log_in(account)
        except NeedsReauth as failure:
            is_refused = True
            report.add(url, StepOutcome.FAILED, failure.message)
        except ProviderFailure as failure:
            report.add(url, StepOutcome.FAILED, failure.message)
            return None, is_refused
        else:
            report.add(url, StepOutcome.WORKS, "The server takes the login.")
            return user, False
    return None, is_refused


async def _log_in_to_imap(account: Account) -> None:
    (await Session.connect(account)).close()


async def _log_in_to_submission(account: Account) -> None:
    (await Submission.connect(account, ends=time.monotonic() + SECONDS)).close()
