"""Charts: bars that the server draws, each with a table of the same figures in the same order."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from gateway.operations.overviews import hours
from gateway.operations.overviews.hours import Hour
from gateway.operations.overviews.quotas import QuotaLeft
from gateway.store import timestamps
from gateway.telemetry.account_times import AccountTime
from policy.quota import DAY, HOUR, MINUTE

_WINDOWS = {MINUTE: "a minute", HOUR: "an hour", DAY: "a day"}


class Bar(NamedTuple):
    """*label* is its row of the table; *height* and *red*, its lower part, are in percent."""

    label: str
    height: float
    red: float


class Chart(NamedTuple):
    """Bars from left to right, and the table; *summary* says in words what they show."""

    title: str
    summary: str
    heads: Sequence[str]
    rows: Sequence[Sequence[str]]
    bars: Sequence[Bar]


def of_hours(counted: Sequence[Hour]) -> Chart:
    """Return the chart of calls, whose red parts were refused."""
    rows = [
        (
            timestamps.to_text(hour.start)[11:16],
            f"{hour.calls:,}",
            f"{hour.refused:,}{'+' if hour.refused >= hours.MOST else ''}",
        )
        for hour in counted
    ]
    figures = [(hour.calls, hour.refused) for hour in counted]
    calls, refused = (sum(each) for each in zip(*figures, strict=True))
    summary = (
        f"About {calls:,} calls in 24 hours, of which {refused:,} were refused (the red parts)."
    )
    return _chart("Calls by hour", summary, ("Hour (UTC)", "Calls", "Refused"), rows, figures)


def of_times(times: Sequence[AccountTime], addresses: Mapping[int, str]) -> Chart | None:
    """Return the chart of upstream seconds by account, longest first; None: there were no calls."""
    rows = [
        (addresses.get(each.id, "others"), f"{each.seconds:,.1f}", f"{each.calls:,}")
        for each in times
    ]
    summary = f"{len(rows)} accounts; the longest time is on the left."
    heads = ("Account", "Seconds", "Upstream calls")
    figures = [(each.seconds, 0.0) for each in times]
    return _chart("Upstream time by account", summary, heads, rows, figures) if rows else None


def of_quota(windows: Sequence[QuotaLeft]) -> Chart:
    """Return the chart of what is left of a quota, each window of the same height."""
    rows = [
        (f"Token {each.token_id}, {_WINDOWS[each.seconds]}", str(each.left), str(each.limit))
        for each in windows
    ]
    parts = [each.left / each.limit if each.limit else 0.0 for each in windows]
    figures = [(1.0, 1.0 - part) for part in parts]
    summary = f"{min(parts):.0%} of the tightest window is left; what is used is red."
    return _chart("Quota left", summary, ("Window", "Left", "Of"), rows, figures)


def _chart(
    title: str,
    summary: str,
    heads: Sequence[str],
    rows: Sequence[Sequence[str]],
    figures: Sequence[tuple[float, float]],
) -> Chart:
    """*figures* are the whole of each bar and its red part."""
    highest = max([1e-9, *(whole for whole, _ in figures)])
    bars = [
        Bar(", ".join(row), round(100 * whole / highest, 2), round(100 * red / highest, 2))
        for row, (whole, red) in zip(rows, figures, strict=True)
    ]
    return Chart(title, summary, heads, rows, bars)
