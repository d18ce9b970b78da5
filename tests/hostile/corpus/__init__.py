"""Hostile programs by family, as one table."""

from tests.hostile.corpus.base import Attack
from tests.hostile.corpus.exhausting import EXHAUSTING
from tests.hostile.corpus.loosening import LOOSENING
from tests.hostile.corpus.lying import LYING
from tests.hostile.corpus.outlasting import OUTLASTING
from tests.hostile.corpus.reaching import REACHING
from tests.hostile.corpus.storing import STORING

CORPUS: dict[str, Attack] = {
    **OUTLASTING,
    **EXHAUSTING,
    **REACHING,
    **LOOSENING,
    **LYING,
    **STORING,
}

__all__ = ["CORPUS", "OUTLASTING", "Attack"]
