"""World `log_analysis`: the access log of a web server."""

from collections import Counter

from envmill.author.errands.base import Deed, Spot, World


def make(spot: Spot) -> World:
    dice, home = spot.dice, spot.home
    paths, clients = spot.pick("paths", 6), [f"10.0.{dice.randint(1, 9)}.{number}" for number in (7, 19, 23, 54, 81)]
    rows = [_draw(spot, paths, clients, number) for number in range(dice.randint(50, 70))]
    rows += [(clients[0], 9, 59, paths[0], status, 512) for status in (404, 500, 503)]
    by_status, by_client = Counter(row[4] for row in rows), Counter(row[0] for row in rows)
    log = "".join(
        f'{ip} - - [12/Mar/2026:{hour:02}:{minute:02}:00 +0000] "GET {path} HTTP/1.1" {status} {size}\n'
        for ip, hour, minute, path, status, size in sorted(rows, key=lambda row: row[1:3])
    )
    ranked = sorted(by_client.items(), key=lambda pair: (-pair[1], pair[0]))
    values = {
        "log": f"{home}/access.log", "report": f"{home}/report",
        "statuses": [f"{status} {count}" for status, count in sorted(by_status.items())],
        "broken": sorted({row[3] for row in rows if row[4] >= 500}),
        "bytes": sum(row[5] for row in rows if row[4] == 200),
        "clients": [f"{count} {ip}" for ip, count in ranked],
        "missing": sorted({row[0] for row in rows if row[4] == 404}),
    }  # fmt: skip
    return World(values, _DEEDS, {f"{home}/access.log": log}, (f"mkdir -p {home}/report",), "The folder @report@ is empty.", _INITIAL)


def _draw(spot: Spot, paths: list[str], clients: list[str], number: int) -> tuple[str, int, int, str, int, int]:
    dice = spot.dice
    status = dice.choices([200, 304, 404, 500, 503], [60, 12, 12, 6, 4])[0]
    return dice.choice(clients), 6 + number // 8, dice.randrange(60), dice.choice(paths), status, dice.randint(180, 4800)


_INITIAL = """
def test_report_is_empty():
    assert Path(@report@).is_dir() and not list(Path(@report@).iterdir()), "the report is there already, or its folder is not"
"""
_LINES = '    assert [line.strip() for line in read(path).splitlines() if line.strip()] == {0}, f"{{path}} says something else"'


def _test(name: str, file: str, value: str) -> str:
    return f"def test_{name}():\n    path = @report@ + '/{file}'\n{_LINES.format(f'@{value}@')}"


_DEEDS = (
    Deed(
        "statuses", "Count the answers of @log@ by status: @report@/status.txt should have a line `STATUS COUNT`, like `200 17`, for each status, the smallest status first.",
        "@report@/status.txt has the lines @statuses@.", ("@report@/status.txt",), _test("answers_by_status", "status.txt", "statuses"),
        ("awk '{ n[$9]++ } END { for (s in n) print s, n[s] }' @log@ | sort -n >@report@/status.txt",),
    ),
    Deed(
        "broken", "Which paths were answered with 500 or more? List them in @report@/broken.txt, one a line, sorted, each once. All is in @log@.",
        "@report@/broken.txt has the lines @broken@.", ("@report@/broken.txt",), _test("broken_paths", "broken.txt", "broken"),
        ("awk '$9 >= 500 { print $7 }' @log@ | LC_ALL=C sort -u >@report@/broken.txt",),
    ),
    Deed(
        "bytes", "How many bytes did the answers with status 200 in @log@ have together? Write the number into @report@/bytes.txt.",
        "@report@/bytes.txt holds @bytes@.", ("@report@/bytes.txt",),
        "def test_bytes_that_were_sent():\n    assert read(@report@ + '/bytes.txt').strip() == str(@bytes@), \"that is not the sum\"",
        ("awk '$9 == 200 { sum += $10 } END { print sum }' @log@ >@report@/bytes.txt",), ("@bytes@",),
    ),
    Deed(
        "clients", "List who asked how often in @report@/clients.txt: lines `COUNT ADDRESS`, most first, and where two are level the address that sorts first as text. They stand in @log@.",
        "@report@/clients.txt has the lines @clients@.", ("@report@/clients.txt",), _test("who_asked", "clients.txt", "clients"),
        ("awk '{ n[$1]++ } END { for (c in n) print n[c], c }' @log@ | LC_ALL=C sort -k1,1nr -k2,2 >@report@/clients.txt",),
    ),
    Deed(
        "missing", "Whoever got a 404 in @log@ has an old link. List their addresses in @report@/old-links.txt, one a line, sorted as text, each once.",
        "@report@/old-links.txt has the lines @missing@.", ("@report@/old-links.txt",), _test("old_links", "old-links.txt", "missing"),
        ("awk '$9 == 404 { print $1 }' @log@ | LC_ALL=C sort -u >@report@/old-links.txt",),
    ),
)  # fmt: skip
