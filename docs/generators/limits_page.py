"""`docs/reference/limits.md`: every limit with its value in the code, and the setting of it."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from gateway.connections import oauth_flow
from gateway.feeds import states, streams, subscriptions
from gateway.http import admission_control, attachment_links, protocol
from gateway.management import rules as rule_bodies
from gateway.operations import tokens
from gateway.rule_intents import log as rule_intents
from gateway.settings import Settings
from gateway.store import uploads
from gateway.store.idempotency import store as idempotency
from graph import file_content, page_tokens
from graph.changes import queries
from graph.collab import file_queries, item_queries, search_queries, site_queries
from graph.documents import cost_limits
from graph.documents import variables as document_variables
from graph.emails import attached_files, page_positions, sending
from graph.emails import filters as email_filters
from graph.emails import mutations as email_mutations
from graph.events import filters as event_filters
from graph.execution import counting_executor
from graph.masking import text_limits
from graph.tasks import write_arguments
from policy import patterns
from policy.quota import SURFACE_WINDOWS
from providers.http import client as upstream
from providers.mail import delivery
from providers.ports import calendar, tasks
from rest_compat import body, contents, multipart, readers, request
from rest_compat import uploads as upload_bodies

_HEAD = """# All limits

Every limit with its value. A limit with a setting is changed by the setting; the others are
constants of this version. [Limits](../rest/limits.md) explains what callers meet, the
[specification](../spec/limits.md) has the response beyond each limit. This page is written by code
from the constants themselves.
"""
_HOUR_MS = 3600 * 1000


@dataclass(frozen=True, slots=True)
class Limit:
    """One row: what is limited, the value in words, and the setting; "" for a constant."""

    what: str
    value: str
    setting: str = ""


def limits_page() -> str:
    """Return the page: a table for each group of limits."""
    lines = [_HEAD]
    for title, limits in _groups():
        lines += [f"## {title}", "", "| Limit | Value | Setting |", "|---|---|---|"]
        for limit in limits:
            setting = f"[`{limit.setting}`](settings.md)" if limit.setting else "-"
            lines.append(f"| {limit.what} | {limit.value} | {setting} |")
        lines.append("")
    return "\n".join(lines).rstrip() + "\n"


def _groups() -> Iterator[tuple[str, Sequence[Limit]]]:
    yield "Rates", list(_rates())
    yield "Sizes of requests", _sizes()
    yield "Uploads and attachments", _files()
    yield "Pages and lists", _pages()
    yield "Fields of messages, tasks and rules", _fields()
    yield "Texts of arguments, parameters and members", list(_texts())
    yield "GraphQL documents", _documents()
    yield "Times", _times()
    yield "Feed of changes", tuple(_changes())
    yield "A worker", list(_worker())


def _rates() -> Iterator[Limit]:
    for bucket, windows in SURFACE_WINDOWS.items():
        rates = ", ".join(f"{window.limit} in {window.seconds} s" for window in windows)
        yield Limit(f"requests of one address, bucket `{bucket}`", rates, "AGW_RATE_LIMIT_WINDOWS")
    yield Limit("requests of one token", "none, unless its `quota` says so")


def _sizes() -> Sequence[Limit]:
    return (
        Limit("head of a request", f"{_size(protocol.MAX_HEAD)}, {protocol.MAX_LINES} lines"),
        Limit("query parameters", str(request.MAX_PARAMETERS)),
        Limit("JSON body of a send, reply or forward", _size(body.MAX_BODY)),
        Limit("any other JSON body", _size(readers.MAX_SHORT_BODY)),
        Limit("values of a JSON body", _number(body.MAX_VALUES)),
        Limit("values of a whole set of rules", _number(rule_bodies.MAX_VALUES)),
        Limit("nesting of a JSON body", f"{body.MAX_DEPTH} levels"),
        Limit("entries of a list in a body", str(document_variables.MAX_ITEMS)),
        Limit("page token", f"{page_tokens.MAX_LENGTH} characters"),
        Limit("response of a provider", _size(upstream.MAX_BYTES)),
    )


def _files() -> Sequence[Limit]:
    return (
        Limit("uploaded file", f"{_number(upload_bodies.MAX_UPLOAD)} bytes"),
        Limit("form around an uploaded file", _size(multipart.MAX_ENVELOPE)),
        Limit("file inside a GraphQL document", _size(file_content.MAX_INLINE)),
        Limit("attachments of a message", f"{attached_files.MAX_FILES} files"),
        Limit("those in `contentBase64`", f"{_number(attached_files.MAX_BYTES)} bytes together"),
        Limit("all of them", f"{_number(attached_files.MAX_STORED_BYTES)} bytes together"),
        Limit(
            "uploaded attachments of a token",
            f"{uploads.MAX_FILES} files, {_number(uploads.MAX_BYTES)} bytes together",
        ),
        Limit("file name of a download", f"{contents.MAX_NAME} characters"),
    )


def _pages() -> Sequence[Limit]:
    return (
        Limit("messages of a page", str(email_filters.MAX_LIMIT)),
        Limit("mailboxes of one search", str(page_positions.MAX_MAILBOXES)),
        Limit("events of a page", str(event_filters.MAX_LIMIT)),
        Limit("events read of one calendar and range", _number(calendar.MAX_EVENTS)),
        Limit("calendars of one request", str(event_filters.MAX_CALENDARS)),
        Limit("range of free and busy times", f"{event_filters.MAX_FREE_BUSY.days} days"),
        Limit("comments of a task item", str(tasks.MAX_COMMENTS)),
        Limit("files of a page", str(file_queries.MAX_LIMIT)),
        Limit("sites of a page", str(site_queries.MAX_SITES)),
        Limit("lists of a page", str(site_queries.MAX_LISTS)),
        Limit("list items of a page", str(item_queries.MAX_LIMIT)),
        Limit("hits of a page of the content search", str(search_queries.MAX_LIMIT)),
    )


def _fields() -> Sequence[Limit]:
    return (
        Limit("recipients of a message", str(sending.MAX_RECIPIENTS)),
        Limit("names of all recipients", f"{_number(sending.MAX_NAMES)} characters"),
        Limit("labels that one request adds or removes", str(email_mutations.MAX_LABELS)),
        Limit("columns that one request sets", str(write_arguments.MAX_FIELDS)),
        Limit("pattern of a rule", f"{patterns.MAX_PATTERN_LENGTH} characters"),
        Limit("rules of a token", _number(rule_intents.MAX_RULES)),
    )


def _texts() -> Iterator[Limit]:
    for name, limit in {**text_limits.ARGUMENTS, **text_limits.MEMBERS}.items():
        parts = f", {limit.part} between two commas" if limit.part else ""
        yield Limit(f"`{name}`", f"{_number(limit.characters)} characters{parts}")


def _documents() -> Sequence[Limit]:
    return (
        Limit("body, without the bytes of attachments", _size(cost_limits.MAX_BYTES)),
        Limit("body with them", _size(cost_limits.MAX_BYTES_WITH_FILES)),
        Limit("tokens", _number(cost_limits.MAX_TOKENS)),
        Limit("levels of fields", str(cost_limits.MAX_DEPTH)),
        Limit("aliases", str(cost_limits.MAX_ALIASES)),
        Limit("fields", _number(cost_limits.MAX_FIELDS)),
        Limit("directives", str(cost_limits.MAX_DIRECTIVES)),
        Limit("root fields that call a provider", str(cost_limits.MAX_UPSTREAM)),
        Limit("objects of a response", _number(counting_executor.MAX_OBJECTS)),
    )


def _times() -> Sequence[Limit]:
    return (
        Limit("page token", f"{page_tokens.MAX_AGE // 3600} hours"),
        Limit("stored response of an `Idempotency-Key`", _hours(idempotency.RETENTION_MS)),
        Limit("uploaded attachment", _hours(uploads.LIFETIME_MS)),
        Limit("link to an attachment", f"{attachment_links.LIFETIME_MS // 60_000} minutes"),
        Limit("consent of a person", f"{oauth_flow.CONSENT_LIFETIME_MS // 60_000} minutes"),
        Limit("old text of a rotated token", f"{tokens.MAX_GRACE_SECONDS // 3600} hours at most"),
        Limit("wait for the next bytes of an upload", f"{body.IDLE_SECONDS:g} seconds"),
        Limit("read of a provider, retries included", f"{upstream.READ_SECONDS:g} seconds"),
        Limit("write to a provider", f"{upstream.WRITE_SECONDS:g} seconds"),
        Limit("download", f"{upstream.STREAM_SECONDS:g} seconds"),
        Limit(
            "send of a message",
            f"{delivery.SEND_SECONDS:g} seconds, and one for each"
            f" {_number(delivery.STORED_BYTES_PER_SECOND)} bytes of uploaded files",
        ),
        Limit("wait of a request for its turn", f"{admission_control.QUEUE_SECONDS:g} seconds"),
    )


def _changes() -> Iterator[Limit]:
    yield Limit("rows of one answer", f"{queries.MAX_LIMIT}; more is lowered")
    yield Limit("feeds of one token", f"{states.MAX_FEEDS}; the oldest go")
    kept = states.KEPT_STATES
    yield Limit("cursors of one feed that are kept", f"{kept}, and the one that was used last")
    yield Limit("streams of one token in one process", str(streams.MAX_OF_TOKEN))
    yield Limit("streams in one process", _number(streams.MAX_OF_PROCESS))
    yield Limit("subscriptions of one token", str(subscriptions.MAX_SUBSCRIPTIONS))
    seconds = Settings.model_fields["feed_poll_seconds"].default
    yield Limit("time between two looks for changes", f"{seconds} s", "AGW_FEED_POLL_SECONDS")


def _worker() -> Iterator[Limit]:
    settings = {
        "max_connections": "connections of clients",
        "max_connections_per_address": "connections of one address",
        "max_active": "requests at the same time",
        "max_queued": "requests that wait",
        "database_connections": "connections to PostgreSQL",
        "decision_days": "days that the decision log is kept",
        "provider_error_days": "days that the texts of failed providers are kept",
        "drain_seconds": "seconds of service after SIGTERM",
        "stop_seconds": "seconds for running requests after that",
    }
    for name, what in settings.items():
        yield Limit(what, f"{Settings.model_fields[name].default:g}", f"AGW_{name.upper()}")


def _size(size: int) -> str:
    for unit, name in ((1024 * 1024, "MiB"), (1024, "KiB")):
        if size >= unit and size % unit == 0:
            return f"{size // unit} {name}"
    return f"{_number(size)} bytes"


def _number(value: int) -> str:
    return f"{value:,}"


def _hours(milliseconds: int) -> str:
    hours = milliseconds // _HOUR_MS
    return f"{hours} hours" if hours > 1 else "1 hour"
