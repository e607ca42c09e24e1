"""Busy spans, merged, and the free spans between them: docs/spec/calendar.md#busy-periods."""

from collections.abc import Iterable, Iterator, Sequence
from datetime import timedelta

from providers.ports.calendar import Span
from providers.records.calendar import TimePeriod

_MINUTE = timedelta(minutes=1)


def merge_busy(taken: Iterable[Span], within: Span) -> tuple[Span, ...]:
    """Merge spans that overlap or touch, cut to *within*; sorted by start, none empty."""
    merged: list[Span] = []
    for span in sorted(_cut(taken, within)):
        if merged and span.start <= merged[-1].end:
            merged[-1] = Span(merged[-1].start, max(merged[-1].end, span.end))
        else:
            merged.append(span)
    return tuple(merged)


def free_spans(taken: Sequence[Span], within: Span) -> tuple[Span, ...]:
    """Return the gaps of *within* between the spans *taken*, which are as `merge_busy` returns."""
    edges = [within.start, *(edge for span in taken for edge in span), within.end]
    gaps = (Span(start, end) for start, end in zip(edges[::2], edges[1::2], strict=True))
    return tuple(gap for gap in gaps if not gap.empty)


def to_periods(spans: Iterable[Span]) -> tuple[TimePeriod, ...]:
    """Convert spans to records."""
    return tuple(
        TimePeriod(
            start_utc=span.start,
            end_utc=span.end,
            duration_minutes=(span.end - span.start) // _MINUTE,
        )
        for span in spans
    )


def split_span(span: Span, longest: timedelta) -> Iterator[Span]:
    """Split a span into consecutive ones that are at most *longest*."""
    start = span.start
    while start < span.end:
        end = span.end if span.end - start <= longest else start + longest
        yield Span(start, end)
        start = end


def _cut(taken: Iterable[Span], within: Span) -> Iterator[Span]:
    for span in taken:
        cut = Span(max(span.start, within.start), min(span.end, within.end))
        if not cut.empty:
            yield cut
