"""`python3 FOLDER/envrun …`: the command line of an exported environment, with nothing
installed."""

import sys
from importlib import import_module
from pathlib import Path

if __name__ == "__main__":
    # The folder stays as it was exported.
    sys.dont_write_bytecode = True
    here = Path(__file__).resolve().parent
    sys.path.insert(0, str(here.parent))
    sys.exit(import_module(f"{here.name}.terminal").main(sys.argv[1:]))
