"""World `log_analysis`: the access log of a web server."""

from collections import Counter

from offline.errands.base import ErrandWorld, WorldSite
from schemas.base import Json


def make(spot: WorldSite) -> ErrandWorld:
    dice, home = spot.dice, spot.home
    paths, clients = (
        spot.pick("paths", 6),
        [f"10.0.{dice.randint(1, 9)}.{number}" for number in (7, 19, 23, 54, 81)],
    )
    rows = [_sample_line(spot, paths, clients, number) for number in range(dice.randint(50, 70))]
    rows += [(clients[0], 9, 59, paths[0], status, 512) for status in (404, 500, 503)]
    by_status, by_client = Counter(row[4] for row in rows), Counter(row[0] for row in rows)
    log = "".join(
        f'{ip} - - [12/Mar/2026:{hour:02}:{minute:02}:00 +0000] "GET {path} HTTP/1.1" {status} '
        f"{size}\n"
        for ip, hour, minute, path, status, size in sorted(rows, key=lambda row: row[1:3])
    )
    ranked = sorted(by_client.items(), key=lambda pair: (-pair[1], pair[0]))
    values: dict[str, Json] = {
        "log": f"{home}/access.log",
        "report": f"{home}/report",
        "statuses": [f"{status} {count}" for status, count in sorted(by_status.items())],
        "broken": sorted({row[3] for row in rows if row[4] >= 500}),
        "bytes": sum(row[5] for row in rows if row[4] == 200),
        "clients": [f"{count} {ip}" for ip, count in ranked],
        "missing": sorted({row[0] for row in rows if row[4] == 404}),
    }
    return ErrandWorld(
        values,
        {f"{home}/access.log": log},
        (f"mkdir -p {home}/report",),
        "The folder @report@ is empty.",
        _INITIAL,
    )


def _sample_line(
    spot: WorldSite, paths: list[str], clients: list[str], number: int
) -> tuple[str, int, int, str, int, int]:
    dice = spot.dice
    status = dice.choices([200, 304, 404, 500, 503], [60, 12, 12, 6, 4])[0]
    return (
        dice.choice(clients),
        6 + number // 8,
        dice.randrange(60),
        dice.choice(paths),
        status,
        dice.randint(180, 4800),
    )


_INITIAL = """
def test_report_is_empty():
    assert Path(@report@).is_dir() and not list(Path(@report@).iterdir()), "the report is there already, or its folder is not"
"""
