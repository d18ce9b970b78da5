"""Field tables of docs/exports.md: `python -m tests.interop.exporters.fields`."""

import sys

from envmill.interop.exporters import attempts
from envmill.interop.exporters.dataset import CONFIGS, describe_fields, list_columns

if __name__ == "__main__":
    told = {
        **CONFIGS,
        "attempts": "stored attempts, in `rl/attempts/SPLIT.parquet` with `--attempts`",
    }
    for config, columns in {**list_columns({}), "attempts": attempts.list_columns({})}.items():
        sys.stdout.write(f"### `{config}`: {told[config]}\n\n{describe_fields(columns)}\n\n")
