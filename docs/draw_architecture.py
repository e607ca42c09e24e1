"""Draw docs/architecture.svg. Run: python docs/draw_architecture.py > docs/architecture.svg."""

BOXES = [
    # x, y, width, height, title, second line, fill
    (40, 24, 200, 44, "REST client", "documented paths", "#ffffff"),
    (300, 24, 200, 44, "GraphQL client, GraphiQL", "POST /graphql", "#ffffff"),
    (560, 24, 200, 44, "operator", "management API, command line", "#ffffff"),
    (40, 108, 460, 44, "gateway/http, gateway/auth", "limits, token, quota, overload", "#eef1f4"),
    (560, 108, 200, 44, "gateway/operations", "one function per use case", "#eef1f4"),
    (40, 196, 200, 64, "rest_compat", "translates: table and documents", "#e8f1fb"),
    (120, 316, 380, 72, "graph", "describes: schema, guards, masks, plans", "#dff3ee"),
    (40, 444, 220, 64, "policy", "decides: grants, gates, rules", "#fdf1d8"),
    (320, 444, 260, 64, "providers", "fetches: ports and connectors", "#f3e6f7"),
    (560, 196, 200, 64, "gateway/store", "SQLite or PostgreSQL, Redis", "#eef1f4"),
    (320, 566, 260, 52, "upstreams", "mail, calendars, boards, sites, files", "#ffffff"),
    (620, 566, 140, 52, "sandbox", "imitates them", "#f6f6f6"),
]
ARROWS = [
    ((140, 68), (140, 108), ""),
    ((400, 68), (400, 108), ""),
    ((660, 68), (660, 108), ""),
    ((660, 152), (660, 196), ""),
    ((140, 152), (140, 196), ""),
    ((400, 152), (400, 316), "a caller's document"),
    ((180, 260), (230, 316), "internal document"),
    ((220, 388), (170, 444), "is it allowed?"),
    ((420, 388), (440, 444), "fetch what is requested and visible"),
    ((450, 508), (450, 566), ""),
    ((620, 592), (584, 592), ""),
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
        '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 800 632" font-family="sans-serif">'
        "<style>.t{font-size:15px;font-weight:bold;text-anchor:middle;fill:#12263a}"
        ".s{font-size:11px;text-anchor:middle;fill:#345}.l{font-size:11px;fill:#345}"
        ".a{stroke:#12263a;stroke-width:1.4;fill:none;marker-end:url(#h)}</style>"
        '<defs><marker id="h" markerWidth="9" markerHeight="9" refX="7" refY="3.5" orient="auto">'
        '<path d="M0 0 L8 3.5 L0 7 z" fill="#12263a"/></marker></defs>'
        '<rect x="16" y="88" width="768" height="440" rx="12" fill="none" stroke="#8aa" '
        'stroke-dasharray="5 4"/>'
        + "".join(shapes)
        + '<text x="28" y="546" class="l">one process: gateway assembles and runs '
        "the packages</text></svg>"
    )


if __name__ == "__main__":
    main()
