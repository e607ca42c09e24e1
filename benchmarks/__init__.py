"""
What a call costs, as ratios: the project's own paths against fair stand-ins of what else there is.

    ./run bench [--quick] [--json] [--plot FILE.svg] [--no-check] [--only WORD …]

See docs/guides/benchmarks.md.
"""
