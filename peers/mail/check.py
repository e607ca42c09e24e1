"""
Compare this project's reading of messages with those of mailparser and postal-mime (npm).

`MAIL_MESSAGES`, `MAIL_REAL_SHAPED` and `MAIL_SEED` choose the messages. Without Node nothing is
compared.
"""

import os
import shutil
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
ENVIRONMENT = HERE.parents[1] / ".peers" / HERE.name


def main() -> None:
    node = shutil.which("node")
    if node is None or not (ENVIRONMENT / "node_modules").is_dir():
        print("Node or its packages are not installed: mailparser and postal-mime were not asked")
        return
    python = os.environ.get("PEERS_PROJECT_PYTHON", sys.executable)
    variables = {**os.environ, "NODE_PATH": str(ENVIRONMENT / "node_modules"), "TZ": "UTC"}
    with subprocess.Popen([python, HERE / "read.py"], stdout=subprocess.PIPE) as reading:
        command = [node, str(HERE / "check.cjs")]
        status = subprocess.run(command, stdin=reading.stdout, env=variables, check=False)
    sys.exit(status.returncode or reading.returncode)


main()
