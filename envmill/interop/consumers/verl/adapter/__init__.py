# pyright: basic, reportMissingImports=false
"""Exported scenarios in verl: tools for its agent loop, and a reward function.

row ──tools_kwargs──► MillTool.execute ──► session of the rollout ──► Trail: moves, hash of the state
Trail and the last words ──compute_score──► the moves made again, and judged: 1 or 0
"""

from importlib.metadata import PackageNotFoundError, version

TESTED = "0.9.1"
"""Version of verl that this adapter was tested with."""

try:
    _found = version("verl")
except PackageNotFoundError:
    raise ImportError(f"This adapter needs verl: pip install verl=={TESTED}.") from None
if _found.split(".")[:2] != TESTED.split(".")[:2]:
    raise ImportError(
        f"This adapter was tested with verl {TESTED}, and {_found} is installed, which may differ: "
        f"pip install verl=={TESTED}, or export the scenarios again with a newer EnvMill."
    )
