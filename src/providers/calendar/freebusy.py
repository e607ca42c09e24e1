"""Free and busy: the union of what is taken, and what that leaves. Source: decisions 6.5."""

from collections.abc import Iterable, Iterator, Sequence
from datetime import timedelta

from providers.ports.calendar import Span
from providers.records.calendar import TimePeriod

_MINUTE = timedelta(minutes=1)


def merge_busy(taken: Iterable[Span], within: Span) -> tuple[Span, ...]:
    """Join what overlaps or touches, cut to *within*; by start, none of them empty."""
    joined: list[Span] = []
    for one in sorted(_cut(taken, within)):
        if joined and one.start <= joined[-1].end:
            joined[-1] = Span(joined[-1].start, max(joined[-1].end, one.end))
        else:
            joined.append(one)
    return tuple(joined)


def free_spans(taken: Sequence[Span], within: Span) -> tuple[Span, ...]:
    """Return what *taken*, as `merge_busy` returns it, leaves of *within*."""
    edges = [within.start, *(edge for one in taken for edge in one), within.end]
    gaps = (Span(start, end) for start, end in zip(edges[::2], edges[1::2], strict=True))
    return tuple(gap for gap in gaps if not gap.empty)


def to_periods(spans: Iterable[Span]) -> tuple[TimePeriod, ...]:
    """Write spans as callers see them."""
    return tuple(
        TimePeriod(
            start_utc=one.start,
            end_utc=one.end,
            duration_minutes=(one.end - one.start) // _MINUTE,
        )
        for one in spans
    )


def split_span(span: Span, longest: timedelta) -> Iterator[Span]:
    """Cut a span into pieces that upstream will answer, none longer than *longest*."""
    start = span.start
    while start < span.end:
        end = span.end if span.end - start <= longest else start + longest
        yield Span(start, end)
        start = end


def _cut(taken: Iterable[Span], within: Span) -> Iterator[Span]:
    for one in taken:
        cut = Span(max(one.start, within.start), min(one.end, within.end))
        if not cut.empty:
            yield cut
