"""Draw docs/architecture.svg. Run: python docs/draw_architecture.py > docs/architecture.svg."""

BOXES = [
    # x, y, width, height, title, second line, fill
    (40, 24, 200, 44, "REST client", "documented paths", "#ffffff"),
    (440, 24, 240, 44, "power user, GraphiQL", "POST /graphql", "#ffffff"),
    (40, 128, 200, 64, "rest_compat", "translates: a table and documents", "#e8f1fb"),
    (440, 128, 240, 64, "document guard", "depth, aliases, cost", "#e8f1fb"),
    (200, 252, 320, 72, "graph", "describes: schema, guards, masks, plans", "#dff3ee"),
    (60, 392, 240, 64, "policy", "decides: grants, gates, rules", "#fdf1d8"),
    (420, 392, 260, 64, "providers", "fetches: ports and connectors", "#f3e6f7"),
    (420, 516, 260, 52, "upstreams", "mail, calendars, boards, sites — or the sandbox", "#ffffff"),
]
ARROWS = [
    ((140, 68), (140, 128), ""),
    ((560, 68), (560, 128), ""),
    ((140, 192), (280, 252), "internal documents"),
    ((560, 192), (440, 252), "one door: same caller, same charge"),
    ((270, 324), (200, 392), "may it?"),
    ((450, 324), (530, 392), "fetch what is wanted and visible"),
    ((550, 456), (550, 516), ""),
]


def box(x: int, y: int, width: int, height: int, title: str, line: str, fill: str) -> str:
    """One labelled rectangle."""
    middle = x + width // 2
    return (
        f'<rect x="{x}" y="{y}" width="{width}" height="{height}" rx="8" fill="{fill}" '
        'stroke="#12263a"/>'
        f'<text x="{middle}" y="{y + height // 2 - 3}" class="t">{title}</text>'
        f'<text x="{middle}" y="{y + height // 2 + 14}" class="s">{line}</text>'
    )


def arrow(start: tuple[int, int], end: tuple[int, int], label: str) -> str:
    """One arrow with its label beside the middle."""
    (x1, y1), (x2, y2) = start, end
    text = f'<text x="{(x1 + x2) // 2 + 8}" y="{(y1 + y2) // 2 + 4}" class="l">{label}</text>'
    return f'<path d="M{x1} {y1} L{x2} {y2}" class="a"/>' + (text if label else "")


def main() -> None:
    """Print the picture."""
    shapes = [box(*b) for b in BOXES] + [arrow(*a) for a in ARROWS]
    print(
        '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 720 620" font-family="sans-serif">'
        "<style>.t{font-size:15px;font-weight:bold;text-anchor:middle;fill:#12263a}"
        ".s{font-size:11px;text-anchor:middle;fill:#345}.l{font-size:11px;fill:#345}"
        ".a{stroke:#12263a;stroke-width:1.4;fill:none;marker-end:url(#h)}</style>"
        '<defs><marker id="h" markerWidth="9" markerHeight="9" refX="7" refY="3.5" orient="auto">'
        '<path d="M0 0 L8 3.5 L0 7 z" fill="#12263a"/></marker></defs>'
        '<rect x="16" y="104" width="688" height="376" rx="12" fill="none" stroke="#8aa" '
        'stroke-dasharray="5 4"/>'
        + "".join(shapes)
        + '<text x="28" y="498" class="l">gateway assembles the boxes, holds tokens and '
        "settings, and runs them</text></svg>"
    )


if __name__ == "__main__":
    main()
