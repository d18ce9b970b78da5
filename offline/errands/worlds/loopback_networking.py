"""World `loopback_networking`: two services that answer in JSON on the machine's own address."""

import json

from offline.errands.base import ErrandWorld, WorldSite
from schemas.base import Json
from schemas.system import Service

_SERVER = '''"""Answers with what stands in one file."""

import json
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

ROWS, PORT, PASSWORD = json.loads(Path(sys.argv[1]).read_text()), int(sys.argv[2]), sys.argv[3]


class Handler(BaseHTTPRequestHandler):
    def do_GET(self):
        path, _, query = self.path.partition("?")
        page = int(query.removeprefix("page=") or 1) if query.startswith("page=") or not query else 0
        status, told = 404, {"error": "nothing here"}
        if path == "/items" and page > 0:
            status, told = 200, {"page": page, "pages": -(-len(ROWS) // 4), "items": ROWS[4 * page - 4 : 4 * page]}
        elif path == "/keepers":
            known = self.headers.get("X-Password") == PASSWORD
            status, told = (200, sorted({row["keeper"] for row in ROWS})) if known else (401, {"error": "send X-Password"})
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("X-Rows", str(len(ROWS)))
        self.end_headers()
        self.wfile.write(json.dumps(told).encode())

    def log_message(self, *_):
        pass


ThreadingHTTPServer(("127.0.0.1", PORT), Handler).serve_forever()
'''


def make(spot: WorldSite) -> ErrandWorld:
    dice, home, word = spot.dice, spot.home, spot.folder
    people, (one, two) = spot.pick("people", 4), dice.sample(range(7100, 7900), 2)
    rows: list[Json] = [
        {"name": name, "count": dice.randint(20, 90), "keeper": dice.choice(people)}
        for name in spot.pick("things", dice.randint(10, 14))
    ]
    other = [{"name": name, "count": 1, "keeper": people[0]} for name in spot.pick("nouns", 5)]
    password = f"{spot.pick('nouns', 1)[0]}{dice.randint(100, 999)}"
    files = {
        f"{home}/serve.py": _SERVER,
        f"{home}/data/{one}.json": json.dumps(rows) + "\n",
        f"{home}/data/{two}.json": json.dumps(other) + "\n",
    }
    services = {
        f"{word}_{name}": Service(
            start=f"setsid -f /usr/bin/python3 -B {home}/serve.py {home}/data/{port}.json {port} "
            f"{password} >/dev/null 2>&1 </dev/null",
            program="/usr/bin/python3",
            pattern=f"{home}/data/{port}.json",
        )
        for name, port in (("stock", one), ("books", two))
    }
    values: dict[str, Json] = {
        "home": home,
        "one": one,
        "two": two,
        "password": password,
        "names": sorted(row["name"] for row in rows),
        "keepers": sorted({row["keeper"] for row in rows}),
        "total": 11 * sum(row["count"] for row in rows),
        "ports": sorted([one, two]),
        "out": f"{home}/found",
        "count": len(rows),
    }
    first = (
        "Two services listen on 127.0.0.1, ports @one@ and @two@: /items?page=N gives four items "
        "a page, /keepers wants @password@."
    )
    return ErrandWorld(values, files, (f"mkdir -p {home}/found",), first, _INITIAL, services)


_INITIAL = """
def test_services_answer():
    import urllib.request

    for port in @ports@:
        for _ in range(50):
            try:
                with urllib.request.urlopen(f"http://127.0.0.1:{port}/items", timeout=10) as answer:
                    assert json.loads(answer.read())["page"] == 1, "it answers otherwise"
                break
            except OSError:
                time.sleep(0.2)
        else:
            assert False, f"nothing answers on port {port}"
"""
