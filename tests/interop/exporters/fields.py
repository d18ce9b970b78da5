"""Field tables of docs/exports.md: `python -m tests.interop.exporters.fields`."""

import sys

from envmill.interop.exporters.dataset import CONFIGS, describe_fields, list_columns

if __name__ == "__main__":
    for config, columns in list_columns({}).items():
        sys.stdout.write(f"### `{config}`: {CONFIGS[config]}\n\n{describe_fields(columns)}\n\n")
