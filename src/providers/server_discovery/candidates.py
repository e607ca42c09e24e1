"""
The servers that may be those of a domain, in the order to try them.

A person's own words, then SRV records (RFC 6186, RFC 8314), then the domain's autoconfig, then the
usual names. A domain whose records say that it does not offer a service is not guessed at.
"""

import asyncio
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum

from providers.failures import ProviderFailure
from providers.imap.endpoints import Endpoint, Security
from providers.server_discovery import autoconfig
from providers.server_discovery.autoconfig import ConfiguredServer
from providers.server_discovery.dns_records import Resolver, ServiceRecord
from providers.server_discovery.search import Report, Search, StepOutcome
from providers.server_discovery.trust import NeedsConfirmation
from providers.server_discovery.web import Web, sentence_of

MAX_CANDIDATES = 6  # of a protocol


class Source(StrEnum):
    """The origin of a candidate."""

    GIVEN = "a person"
    SRV = "DNS"
    AUTOCONFIG = "the domain's autoconfig"
    USUAL_NAME = "the usual name"


@dataclass(frozen=True, slots=True)
class Candidate:
    """
    A server that may be that of the account.

    Attributes:
        username: The user that the source names; "" for none.
    """

    endpoint: Endpoint
    source: Source
    username: str = ""


# Protocol -> SRV services with their security, and usual names with their securities and ports.
_SERVICES = {
    "imap": (("_imaps._tcp", Security.TLS), ("_imap._tcp", Security.STARTTLS)),
    "smtp": (("_submissions._tcp", Security.TLS), ("_submission._tcp", Security.STARTTLS)),
}
_USUAL = {
    "imap": (("imap.", "mail.", ""), ((Security.TLS, 993), (Security.STARTTLS, 143))),
    "smtp": (("smtp.", "mail.", ""), ((Security.TLS, 465), (Security.STARTTLS, 587))),
}


async def mail_candidates(
    search: Search, resolver: Resolver, web: Web, report: Report
) -> dict[str, Sequence[Candidate]]:
    """Return the candidates by protocol, "imap" and "smtp", in the order to try them."""
    named = {
        protocol: Candidate(Endpoint.parse(address, protocol), Source.GIVEN)
        for protocol, address in (("imap", search.server), ("smtp", search.submission))
        if address
    }
    wanted = [protocol for protocol in _SERVICES if protocol not in named]
    if not wanted:
        return {protocol: [candidate] for protocol, candidate in named.items()}
    configured, recorded = await asyncio.gather(
        _configured(search, web, report),
        asyncio.gather(
            *(_recorded(protocol, search.domain, resolver, report) for protocol in wanted)
        ),
    )
    candidates: dict[str, Sequence[Candidate]] = {
        protocol: [candidate] for protocol, candidate in named.items()
    }
    for protocol, (records, is_declined) in zip(wanted, recorded, strict=True):
        listed = [
            Candidate(server.endpoint, Source.AUTOCONFIG, server.username)
            for server in configured.get(protocol, ())
        ]
        usual = [] if is_declined else list(_usual(protocol, search.domain))
        by_endpoint: dict[Endpoint, Candidate] = {}
        # What the domain's own pages name needs no confirmation, so it stands for the record.
        for candidate in (*_preferring(records, listed), *listed, *usual):
            by_endpoint.setdefault(candidate.endpoint, candidate)
        candidates[protocol] = list(by_endpoint.values())[:MAX_CANDIDATES]
    return candidates


def _preferring(recorded: Sequence[Candidate], listed: Sequence[Candidate]) -> Iterator[Candidate]:
    by_endpoint = {candidate.endpoint: candidate for candidate in listed}
    return (by_endpoint.get(candidate.endpoint, candidate) for candidate in recorded)


async def _recorded(
    protocol: str, domain: str, resolver: Resolver, report: Report
) -> tuple[list[Candidate], bool]:
    """Return the servers of SRV records, and whether the domain says that it has none."""
    services = _SERVICES[protocol]
    answers = await asyncio.gather(
        *(resolver.services(f"{service}.{domain}") for service, _ in services),
        return_exceptions=True,
    )
    candidates, declined = [], 0
    for (service, security), answer in zip(services, answers, strict=True):
        name = f"{service}.{domain}"
        if isinstance(answer, BaseException):
            report.add(name, StepOutcome.FAILED, "DNS did not answer.")
        elif answer and not any(record.host for record in answer):
            declined += 1
            report.add(name, StepOutcome.NOT_FOUND, "The domain says that it has no such server.")
        elif not answer:
            report.add(name, StepOutcome.NOT_FOUND, "There is no SRV record.")
        else:
            endpoints = [
                Endpoint(record.host, record.port, security) for record in answer if _usable(record)
            ]
            hosts = ", ".join(f"{endpoint.host}:{endpoint.port}" for endpoint in endpoints)
            report.add(name, StepOutcome.FOUND, f"DNS names {hosts}.")
            candidates += [Candidate(endpoint, Source.SRV) for endpoint in endpoints]
    return candidates, declined > 0 and not candidates


def _usable(record: ServiceRecord) -> bool:
    return bool(record.host) and record.port > 0


async def _configured(
    search: Search, web: Web, report: Report
) -> dict[str, Sequence[ConfiguredServer]]:
    """Return the servers of the domain's autoconfig; of two files that of the first address."""
    urls = autoconfig.addresses(search.domain)
    files = await asyncio.gather(*(_read(url, search, web, report) for url in urls))
    return next((file for file in files if file is not None), {})


async def _read(
    url: str, search: Search, web: Web, report: Report
) -> dict[str, Sequence[ConfiguredServer]] | None:
    try:
        answer = await web.request("GET", url, max_bytes=autoconfig.MAX_BYTES)
        servers = autoconfig.parse(answer.body, search.email)
    except NeedsConfirmation as needed:
        report.ask(url, needed.confirmation)
        return None
    except (ProviderFailure, OSError) as failure:
        report.add(url, StepOutcome.NOT_FOUND, sentence_of(failure))
        return None
    except ValueError as failure:
        report.add(url, StepOutcome.FAILED, str(failure))
        return None
    count = sum(map(len, servers.values()))
    report.add(url, StepOutcome.FOUND, f"The domain's autoconfig names {count} servers.")
    return servers


def _usual(protocol: str, domain: str) -> Iterator[Candidate]:
    prefixes, securities = _USUAL[protocol]
    for security, port in securities:
        for prefix in prefixes:
            yield Candidate(Endpoint(f"{prefix}{domain}", port, security), Source.USUAL_NAME)
