"""After the holes are filled, what is made next lies together."""

import subprocess
import sys

from envmill.base.settings import ROOT

# In a process of its own: what is filled is never given back.
LOOK = """
from envmill.runtime.jail import heap_prefill

def count_pages():
    made = [bytes(67) for _ in range(40)]
    return len({id(one) >> 12 for one in made})

scattered = [bytes(67) for _ in range(20_000)]
for place in range(0, 20_000, 37): scattered[place] = None
before = count_pages()
heap_prefill.fill()
print(before, count_pages())
"""


def test_what_is_made_afterwards_lies_together() -> None:
    done = subprocess.run(
        [sys.executable, "-c", LOOK],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
        env={"PYTHONPATH": str(ROOT)},
    )
    before, after = map(int, done.stdout.split())
    assert before > 8
    assert after <= 3, (before, after)
