"""Field tables of docs/exports.md: `python -m tests.interop.exporters.fields`."""

import sys

from envmill.interop.exporters.dataset import CONFIGS, describe_fields

if __name__ == "__main__":
    for config, (what, columns) in CONFIGS.items():
        sys.stdout.write(f"### `{config}`: {what}\n\n{describe_fields(columns)}\n\n")
