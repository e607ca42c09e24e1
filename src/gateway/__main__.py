"""`python -m gateway`: the command line."""

from gateway.cli.main import run

if __name__ == "__main__":
    run()
