"""
Benchmarks of the CPU cost of calls, as ratios of the gateway's cost to that of fair alternatives.

    ./run bench [--quick] [--json] [--plot FILE.svg] [--no-check] [--only WORD …]

See docs/guides/benchmarks.md.
"""
