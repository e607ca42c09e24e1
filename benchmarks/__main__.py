"""Command line of the benchmarks: measure, print, and fail when a promised ratio is missed."""

import argparse
import asyncio
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

import uvloop

from benchmarks import (
    bodies,
    concurrency,
    decisions,
    edges,
    growing,
    layers,
    plot,
    processes,
    report,
    requests,
    shapes,
    upstream,
)
from benchmarks.baselines import stock_client
from benchmarks.rounds import Effort, measure
from benchmarks.table import Figure, Growth, Result, Table

SHAPES = "Shape of a token: CPU"
PROCESSES = "Processes: start, commands, sockets, memory"
CONCURRENCY = "Concurrency: 64 clients over 16 mailboxes, upstream at 20 ms"
FULL, QUICK = Effort(rounds=15, seconds=0.08), Effort(rounds=9, seconds=0.03)


def main() -> int:
    """Run the command line; return 1 when a promise is missed."""
    options = _arguments()
    effort = QUICK if options.quick else FULL
    stock_client.provide_sniffio()
    loop = uvloop.new_event_loop()
    asyncio.set_event_loop(loop)
    verbose = not options.json
    facts = dict(report.setting(effort))
    if verbose:
        report.print_facts("Setting", facts)
    results = list(_results(loop, effort, options.only, verbose=verbose))
    growths = [] if options.only else list(_growths(loop, verbose=verbose))
    figures = list(_figures(loop, options.only, verbose=verbose))
    if options.json:
        print(report.as_json(results, growths, figures, facts))
    if options.plot:
        options.plot.write_text(plot.draw(results, growths, figures), "utf-8")
    missed = report.missed(results)
    if missed:
        print(f"\nMissed: {', '.join(missed)}", file=sys.stderr)
    return 1 if missed and not options.no_check else 0


def _results(
    loop: asyncio.AbstractEventLoop, effort: Effort, only: Sequence[str] | None, *, verbose: bool
) -> Iterator[Result]:
    with upstream.running() as base:
        prepared = requests.tables(base)
        whole = loop.run_until_complete(prepared.__aenter__())
        for table in (*bodies.tables(loop), *edges.tables(loop), decisions.table(), *whole):
            if only and not any(word in table.title for word in only):
                continue
            result = Result(table, measure(loop, table.variants, effort), _layers(loop, table))
            if verbose:
                report.print_result(result)
            yield result
        loop.run_until_complete(prepared.__aexit__(None, None, None))


def _figures(
    loop: asyncio.AbstractEventLoop, only: Sequence[str] | None, *, verbose: bool
) -> Iterator[Figure]:
    measurements: Mapping[str, Callable[[], list[Figure]]] = {
        SHAPES: shapes.figures,
        PROCESSES: lambda: loop.run_until_complete(processes.figures()),
        CONCURRENCY: lambda: loop.run_until_complete(concurrency.figures()),
    }
    for title, measured in measurements.items():
        if only and not any(word in title for word in only):
            continue
        figures = measured()
        if verbose:
            report.print_figures(title, figures)
        yield from figures


def _layers(loop: asyncio.AbstractEventLoop, table: Table) -> Mapping[str, float]:
    return {} if table.layered is None else layers.measured(loop, table.variants[table.layered])


def _growths(loop: asyncio.AbstractEventLoop, *, verbose: bool) -> Iterator[Growth]:
    for growth in growing.tables(loop, QUICK):
        if verbose:
            report.print_growth(growth)
        yield growth


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="./run bench", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="fewer and shorter rounds")
    parser.add_argument("--json", action="store_true", help="print JSON instead of tables")
    parser.add_argument("--plot", type=Path, metavar="FILE.svg", help="draw the figures")
    parser.add_argument("--no-check", action="store_true", help="exit with 0 in any case")
    parser.add_argument("--only", nargs="*", metavar="WORD", help="tables whose title has a word")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
