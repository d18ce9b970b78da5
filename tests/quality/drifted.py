"""Data Docs of a drawn night in which one thing has drifted, beside fourteen quiet nights: what a
person sees when a night is held back.

python -m tests.quality.drifted FOLDER [DRIFT]      ─► FOLDER/index.html, and what is not met, in words
"""

import sys
from collections.abc import Sequence
from pathlib import Path

from quality.nights.docs import write_docs
from quality.nights.drift import NIGHTS, bound, measure
from quality.nights.suites import run_suites
from tests.quality.nights import DRIFTS, draw_night

RUN = "drawn-night"


def show_drift(folder: Path, drift: str) -> dict[str, str]:
    """What is not met, by frame and column."""
    before = [measure(draw_night(number)) for number in range(NIGHTS)]
    tonight = draw_night(NIGHTS, drifted=DRIFTS[drift])
    bounds = bound(measure(tonight), before)
    folder.mkdir(parents=True, exist_ok=True)
    write_docs(RUN, tonight, bounds, folder)
    return run_suites(RUN, tonight, bounds)


def main(words: Sequence[str]) -> None:
    folder, drift = Path(words[0]), " ".join(words[1:]) or "longer requests"
    if drift not in DRIFTS:
        raise SystemExit(f"There is no drift {drift!r}. Known: {', '.join(DRIFTS)}.")
    broken = show_drift(folder, drift)
    told = "".join(f"{name}: {words}\n" for name, words in broken.items())
    sys.stdout.write(f"{folder / 'index.html'}: a night whose drift is {drift!r}\n{told}")


if __name__ == "__main__":
    main(sys.argv[1:])
