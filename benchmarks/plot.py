"""SVG chart of the figures: bars for the promises, values without one, lines for growth."""

from collections.abc import Iterable, Iterator, Sequence
from html import escape

from benchmarks.table import Figure, Growth, Result

WIDTH, MARGIN, BAR = 860, 24, 22
CHART = 190
COLOURS = ("#2563eb", "#ea580c", "#059669")
_FONT = 'font-family="system-ui, sans-serif" font-size="12"'


def draw(
    results: Sequence[Result], growths: Sequence[Growth], figures: Sequence[Figure] = ()
) -> str:
    """Return the SVG text."""
    bars, height = _bars(_promised(results), MARGIN)
    lines, height = _values(figures, height)
    for growth in growths:
        lines += _lines(growth, height)
        height += CHART + 70
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" {_FONT}>',
            f'<rect width="{WIDTH}" height="{height}" fill="white"/>',
            *bars,
            *lines,
            "</svg>\n",
        ]
    )


def _promised(results: Iterable[Result]) -> Iterator[tuple[str, str, float, float]]:
    """Return name, baseline, figure and promised maximum of each promise."""
    for result in results:
        for promise in result.table.promises:
            ratio = result.measured.ratio(promise.of, promise.to)
            yield promise.name, promise.to, ratio.middle, promise.most


def _bars(promised: Iterable[tuple[str, str, float, float]], top: int) -> tuple[list[str], int]:
    """Draw each figure as a share of the promised maximum."""
    parts = [_text(MARGIN, top, "Cost as a share of the promised ratio (line: the promise)")]
    left, full = 330, 380
    y = top + 14
    for name, baseline, value, most in promised:
        share = value / most
        width = min(share, 1.35) * full / 1.35
        colour = COLOURS[0] if share <= 1 else "#dc2626"
        parts += [
            _rect(left, y, width, colour, f"{name}: {value:.3f} of {baseline}, at most {most}"),
            _text(MARGIN, y + 12, f"{name}  ({baseline})"[:52]),
            _text(left + round(width) + 6, y + 12, f"{value:.3f} ≤ {most}"),
        ]
        y += BAR
    at = left + full / 1.35
    parts.append(
        f'<line x1="{at:.1f}" y1="{top + 10}" x2="{at:.1f}" y2="{y}" stroke="#111" '
        'stroke-dasharray="4 3"/>'
    )
    return parts, y + 40


def _values(figures: Sequence[Figure], top: int) -> tuple[list[str], int]:
    """Write the figures without a promise, one per line; return the height after them."""
    if not figures:
        return [], top
    parts = [_text(MARGIN, top, "Without a promise")]
    for row, figure in enumerate(figures, start=1):
        y = top + row * BAR
        share = "" if figure.to is None else f"  ({figure.share:.3f} of the plain application)"
        value = f"{figure.value:,.2f} {figure.unit}{share}"
        parts += [_text(MARGIN, y, figure.name[:52]), _text(330, y, value)]
    return parts, top + len(parts) // 2 * BAR + 40


def _lines(growth: Growth, top: int) -> list[str]:
    """Draw one line chart; both axes begin at zero."""
    left, right = 90, WIDTH - 220
    sizes = [size for line in growth.lines.values() for size, _ in line]
    most, dearest = max(sizes), max(cost for line in growth.lines.values() for _, cost in line)
    bottom = top + CHART

    def place(size: int, cost: float) -> str:
        x = left + (right - left) * size / most
        return f"{x:.1f},{bottom - (CHART - 20) * cost / dearest:.1f}"

    parts = [
        _text(MARGIN, top, growth.title),
        f'<path d="M{left},{top + 14} V{bottom} H{right}" fill="none" stroke="#999"/>',
        _text(left - 80, top + 24, f"{dearest:,.0f} µs"),
        _text(right - 40, bottom + 18, f"{most} {growth.by}"),
        _text(left, bottom + 18, "0"),
    ]
    for colour, (name, line) in zip(COLOURS, growth.lines.items(), strict=False):
        points = " ".join(place(size, cost) for size, cost in line)
        parts.append(
            f'<polyline points="{points}" fill="none" stroke="{colour}" stroke-width="2"/>'
        )
        x, y = place(*line[-1]).split(",")
        parts.append(_text(round(float(x)) + 6, round(float(y)) + 4, name, colour))
    return parts


def _rect(x: int, y: int, width: float, colour: str, tooltip: str) -> str:
    place = f'x="{x}" y="{y}" width="{width:.1f}" height="{BAR - 6}"'
    return f'<rect {place} fill="{colour}"><title>{escape(tooltip)}</title></rect>'


def _text(x: int, y: int, text: str, colour: str = "#111") -> str:
    return f'<text x="{x}" y="{y}" fill="{colour}">{escape(text)}</text>'
