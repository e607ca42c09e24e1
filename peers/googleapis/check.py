"""
Check the sandbox's Gmail and Google Calendar with Google's unchanged Node client over a socket.

The packages of googleapis for single services are driven: the whole of it has 200 MB.
"""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

from serving import served

HERE = Path(__file__).resolve().parent
ENVIRONMENT = HERE.parents[1] / ".peers" / HERE.name
SEED = HERE.parent / "provider_a" / "seed.py"


def main() -> None:
    node = shutil.which("node")
    if node is None or not (ENVIRONMENT / "node_modules").is_dir():
        print("no Node here: the vendor's client is not driven")
        return
    environment = {**os.environ, "NODE_PATH": str(ENVIRONMENT / "node_modules")}
    with served(SEED) as facts:
        arguments = json.dumps(facts)
        done = subprocess.run(
            [node, str(HERE / "check.cjs"), arguments], env=environment, check=False
        )
    sys.exit(done.returncode)


if __name__ == "__main__":
    main()
