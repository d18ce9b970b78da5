# pyright: basic, reportMissingImports=false
"""Numbers of a running server, in Prometheus' text format: `/metrics`."""

import math
import time
from collections import Counter, deque
from collections.abc import Generator
from contextlib import contextmanager
from threading import Lock

RECENT = 4096
"""Latencies of each kind that quantiles are taken of."""
_QUANTILES = (0.5, 0.99)


class Metrics:
    """Counts and latencies. Latencies are the server's own: from a message to its answer, waiting
    included."""

    def __init__(self) -> None:
        self.live = 0
        """Sessions that clients hold."""
        self.counts: Counter[tuple[str, str]] = Counter()
        """(name, label) → how often since the server started."""
        self._recent: dict[str, deque[float]] = {}
        self._lock = Lock()

    def count(self, name: str, label: str = "") -> None:
        """One more."""
        with self._lock:
            self.counts[name, label] += 1

    def hold(self, change: int) -> None:
        """A client more, or one less."""
        with self._lock:
            self.live += change

    @contextmanager
    def clock(self, kind: str) -> Generator[list[str]]:
        """Time an answer. The kind may be corrected in the list, when it is known."""
        kinds, begun = [kind], time.perf_counter()
        try:
            yield kinds
        except BaseException:
            self.count("errors", kinds[-1])
            raise
        finally:
            with self._lock:
                self._recent.setdefault(kinds[-1], deque(maxlen=RECENT)).append(
                    time.perf_counter() - begun
                )
                self.counts["answers", kinds[-1]] += 1

    def render(self, **gauges: float) -> str:
        """All of it as text."""
        with self._lock:
            counts, recent = (
                dict(self.counts),
                {kind: sorted(times) for kind, times in self._recent.items()},
            )
        lines = ["# TYPE envmill_sessions gauge", f"envmill_sessions {self.live}"]
        for name, value in gauges.items():
            lines += [f"# TYPE envmill_{name} gauge", f"envmill_{name} {value:g}"]
        for name in sorted({name for name, _ in counts}):
            lines.append(f"# TYPE envmill_{name}_total counter")
            told = sorted(
                (label, value) for (found, label), value in counts.items() if found == name
            )
            lines += [f'envmill_{name}_total{{kind="{label}"}} {value}' for label, value in told]
        lines.append("# TYPE envmill_latency_seconds summary")
        for kind, times in sorted(recent.items()):
            for share in _QUANTILES:
                value = times[math.ceil(share * len(times)) - 1]
                lines.append(
                    f'envmill_latency_seconds{{kind="{kind}",quantile="{share:g}"}} {value:.6f}'
                )
        return "\n".join(lines) + "\n"
