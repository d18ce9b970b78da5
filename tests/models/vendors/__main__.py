"""`python -m tests.models.vendors [PORT]`: prints the port as a line of JSON, ends when standard
input closes."""

import asyncio
import sys

from tests.models.vendors.server import run

if __name__ == "__main__":
    asyncio.run(run(int(sys.argv[1]) if len(sys.argv) > 1 else 0))
