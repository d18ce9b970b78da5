"""A user of `datasets`, run in an environment of its own: loads every config and split of a folder,
and writes the rows as JSON."""

import json
import sys

from datasets import get_dataset_config_names, load_dataset  # pyright: ignore[reportMissingImports]

folder = sys.argv[1]
found = {
    config: {
        split: [dict(row) for row in rows] for split, rows in load_dataset(folder, config).items()
    }
    for config in get_dataset_config_names(folder)
}
lines = load_dataset("json", data_files=sys.argv[2], split="train")
sys.stdout.write(json.dumps({"rows": found, "lines": [sorted(row) for row in lines]}))
