"""Run a recipe in this process, and print what was kept and why the rest was dropped.

    python examples/run_a_recipe.py [AUTHOR]

AUTHOR is a model such as openai:my-model@my_server (docs/models/README.md). Without it, the
embedded author writes: it needs no key, and shows the plumbing only.
"""

import sys

import envmill
import offline


def main() -> None:
    author = sys.argv[1] if len(sys.argv) > 1 else offline.answer
    summary = envmill.run_recipe("envscaler", author, environments=2, scenarios=2, seed=1)
    print(
        f"run {summary.run}: {len(summary.environments)} environments and "
        f"{len(summary.scenarios)} scenarios kept"
    )
    for (gate, reason), items in summary.drops.items():
        print(f"  dropped by {gate}: {reason} ({items})")
    for folder in sorted((summary.folder / "bundle").iterdir()):
        print(f"bundle: {folder}")


if __name__ == "__main__":
    main()
