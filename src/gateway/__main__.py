"""`access-gateway`, also `python -m gateway`: the server, or the command line."""

import sys

from gateway.cli import serving


def main() -> None:
    """Run the command that the arguments name."""
    words = sys.argv[1:]
    variables = serving.plain_options(words[1:]) if words[:1] == ["serve"] else None
    if variables is not None:
        serving.run(variables)
        return
    from gateway.cli.main import run  # noqa: PLC0415 - a server does without it

    run()


if __name__ == "__main__":
    main()
