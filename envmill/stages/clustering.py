"""Clusters of texts by their vectors: k-means on the unit sphere, the same on every machine.

vectors ─► centres, each the vector farthest from those before ─► each vector to its nearest centre ─► means ─► until nothing moves
"""

from collections.abc import Sequence

from envmill.models.embedding import Vector

_ROUNDS = 20
_Lines = Sequence[Sequence[float]]


def find_clusters(vectors: Sequence[Vector], wanted: int) -> list[int]:
    """Number of the cluster of each vector. The first vector is the first centre; one without a
    word is a cluster of its own."""
    import numpy as np  # late: a tenth of a second that only those pay who cluster

    known = [place for place, vector in enumerate(vectors) if vector]
    found = [-1 - place for place in range(len(vectors))]
    if not known:
        return found
    points = np.array([vectors[place] for place in known], dtype=np.float64)
    centres = points[_choose_centres((points @ points.T).tolist(), min(wanted, len(known)))]
    nearest = np.argmax(points @ centres.T, axis=1)
    for _ in range(_ROUNDS):
        for number in range(len(centres)):
            held = points[nearest == number]
            mean = held.sum(axis=0) if len(held) else centres[number]
            length = float(np.sqrt((mean * mean).sum()))
            centres[number] = mean / length if length > 0.0 else centres[number]
        again = np.argmax(points @ centres.T, axis=1)
        if (again == nearest).all():
            break
        nearest = again
    for place, number in zip(known, nearest, strict=True):
        found[place] = int(number)
    return found


def _choose_centres(likeness: _Lines, wanted: int) -> list[int]:
    """Each the farthest from those before; `likeness` of any two."""
    chosen, likest = [0], list(likeness[0])
    while len(chosen) < wanted:
        chosen.append(likest.index(min(likest)))
        likest = [max(pair) for pair in zip(likest, likeness[chosen[-1]], strict=True)]
    return chosen
