"""How a repair ends: mostly the fault is mended, sometimes the failed version comes again, sometimes another fault comes in its place."""

import random
from typing import Literal, TypeAlias

Ending: TypeAlias = Literal["mended", "unmended", "mended_wrongly"]

MENDED = 0.8
"""How often a repair that quotes a failure mends it."""
UNMENDED = 0.12
"""How often it sends the failed version once more; what is left is mended wrongly."""
SPEECHLESS = 0.3
"""How often it is mended when all that is quoted is too little to find the cause by."""
QUOTED = 12
"""Characters of a failure that says anything."""


def end_repair(failure: str, dice: random.Random) -> Ending:
    """How the repair of a program ends."""
    mended = MENDED if len(failure.strip()) >= QUOTED else SPEECHLESS
    drawn = dice.random()
    if drawn < mended:
        return "mended"
    return "unmended" if drawn < mended + (1 - mended) * UNMENDED / (1 - MENDED) else "mended_wrongly"
