"""Output of the figures as text and as JSON."""

import json
import os
import platform
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from importlib.metadata import version
from typing import Any

from benchmarks.rounds import Effort
from benchmarks.table import Figure, Growth, Promise, Result

_LIBRARIES = (
    "strawberry-graphql",
    "graphql-core",
    "fastapi",
    "starlette",
    "pydantic",
    "msgspec",
    "orjson",
    "httpx",
    "httpcore",
    "uvloop",
)


def kept(result: Result, promise: Promise) -> bool:
    """Tell whether a promise is kept."""
    return result.measured.ratio(promise.of, promise.to).middle <= promise.most


def print_result(result: Result) -> None:
    """Print a table with its noise, and whether its promises are kept."""
    measured = result.measured
    first = next(iter(measured.micros))
    noise = measured.noise
    print(f"\n{result.table.title}")
    print(f"  noise (the first against itself): {noise.middle:.2f}, {_quarters(noise)}")
    width = max(map(len, measured.micros))
    for name, micros in measured.micros.items():
        ratio = measured.ratio(name, first)
        print(f"  {name:<{width}}  {_time(micros)}  x {ratio.middle:6.3f}  {_quarters(ratio)}")
    for promise in result.table.promises:
        ratio = measured.ratio(promise.of, promise.to)
        word = "kept  " if ratio.middle <= promise.most else "MISSED"
        print(f"  {word} {promise.name}: {ratio.middle:.3f} <= {promise.most}  {_quarters(ratio)}")
    if result.layers:
        print(f"  layers of {result.table.layered}, {sum(result.layers.values()):.0f} µs in all")
        for name, micros in result.layers.items():
            print(f"    {micros:6.1f} µs  {name}")


def print_growth(growth: Growth) -> None:
    """Print one row per size."""
    print(f"\n{growth.title}")
    sizes = sorted({size for line in growth.lines.values() for size, _ in line})
    print("  " + " | ".join([f"{growth.by:>20}", *(f"{name:>26}" for name in growth.lines)]))
    for size in sizes:
        cells = [
            _time(dict(line)[size]) if size in dict(line) else "" for line in growth.lines.values()
        ]
        print("  " + " | ".join([f"{size:>20}", *(f"{cell:>26}" for cell in cells)]))


def print_figures(title: str, figures: Sequence[Figure]) -> None:
    """Print the figures of processes."""
    print(f"\n{title}")
    width = max(len(figure.name) for figure in figures)
    for figure in figures:
        line = f"  {figure.name:<{width}}  {figure.value:8.2f} {figure.unit:<6}"
        if figure.to is not None:
            line += f"  x {figure.value / figure.to:.2f}"
        print(line.rstrip())


def print_facts(title: str, facts: Mapping[str, str]) -> None:
    """Print names with their texts."""
    print(f"\n{title}")
    width = max(map(len, facts))
    for name, text in facts.items():
        print(f"  {name:<{width}}  {text}")


def setting(effort: Effort) -> Mapping[str, str]:
    """Describe the machine, the libraries and the length of the measurement."""
    return {
        "machine": f"{platform.machine()}, {os.cpu_count()} cores, {_processor()}",
        "load": ", ".join(f"{load:.1f}" for load in os.getloadavg()),
        "Python": platform.python_version(),
        "libraries": ", ".join(f"{name} {version(name)}" for name in _LIBRARIES),
        "rounds": f"{effort.rounds}, {effort.seconds * 1000:.0f} ms of CPU time each and more",
    }


def as_json(
    results: Iterable[Result],
    growths: Iterable[Growth],
    figures: Iterable[Figure],
    facts: Mapping[str, Any],
) -> str:
    """Return all results as JSON."""
    return json.dumps(
        {
            "setting": facts,
            "tables": [_table(result) for result in results],
            "growth": [
                {"title": growth.title, "by": growth.by, "microseconds": growth.lines}
                for growth in growths
            ],
            "processes": [asdict(figure) for figure in figures],
        },
        indent=2,
    )


def missed(results: Sequence[Result]) -> list[str]:
    """Return the names of the promises that are not kept."""
    return [
        promise.name
        for result in results
        for promise in result.table.promises
        if not kept(result, promise)
    ]


def _table(result: Result) -> Mapping[str, Any]:
    measured = result.measured
    first = next(iter(measured.micros))
    return {
        "title": result.table.title,
        "noise": _spread(measured.noise),
        "variants": {
            name: {"microseconds": micros, "ratio": _spread(measured.ratio(name, first))}
            for name, micros in measured.micros.items()
        },
        "layers": result.layers,
        "promises": [
            {
                "name": promise.name,
                "of": promise.of,
                "to": promise.to,
                "most": promise.most,
                "ratio": _spread(measured.ratio(promise.of, promise.to)),
                "kept": kept(result, promise),
            }
            for promise in result.table.promises
        ],
    }


def _spread(spread: Any) -> Mapping[str, float]:
    return {"low": spread.low, "middle": spread.middle, "high": spread.high}


def _quarters(spread: Any) -> str:
    return f"[{spread.low:.3f} to {spread.high:.3f}]"


def _time(micros: float) -> str:
    return f"{micros:9.1f} µs" if micros < 10_000 else f"{micros / 1000:9.1f} ms"


def _processor() -> str:
    try:
        with open("/proc/cpuinfo", encoding="utf-8") as lines:  # noqa: PTH123 - one line of it
            return next(line.partition(":")[2].strip() for line in lines if "model name" in line)
    except (OSError, StopIteration):
        return platform.processor() or "unknown"
