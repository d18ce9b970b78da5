"""Field tables of docs/exports.md: `python -m tests.exporters.fields`."""

import sys

from envmill.exporters.dataset import CONFIGS, tell_fields

if __name__ == "__main__":
    for config, (what, columns) in CONFIGS.items():
        sys.stdout.write(f"### `{config}`: {what}\n\n{tell_fields(columns)}\n\n")
