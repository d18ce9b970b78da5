"""World `loopback_networking`: two services that answer in JSON on the machine's own address."""

import json

from envmill.author.errands.base import Deed, Spot, World
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


def make(spot: Spot) -> World:
    dice, home, word = spot.dice, spot.home, spot.folder
    people, (one, two) = spot.pick("people", 4), dice.sample(range(7100, 7900), 2)
    rows = [{"name": name, "count": dice.randint(20, 90), "keeper": dice.choice(people)} for name in spot.pick("things", dice.randint(10, 14))]
    other = [{"name": name, "count": 1, "keeper": people[0]} for name in spot.pick("nouns", 5)]
    password = f"{spot.pick('nouns', 1)[0]}{dice.randint(100, 999)}"
    files = {f"{home}/serve.py": _SERVER, f"{home}/data/{one}.json": json.dumps(rows) + "\n", f"{home}/data/{two}.json": json.dumps(other) + "\n"}  # fmt: skip
    services = {
        f"{word}_{name}": Service(
            start=f"setsid -f /usr/bin/python3 -B {home}/serve.py {home}/data/{port}.json {port} {password} >/dev/null 2>&1 </dev/null",
            program="/usr/bin/python3",
            pattern=f"{home}/data/{port}.json",
        )
        for name, port in (("stock", one), ("books", two))
    }
    values = {
        "home": home, "one": one, "two": two, "password": password, "names": sorted(row["name"] for row in rows), "keepers": sorted({row["keeper"] for row in rows}),
        "total": 11 * sum(row["count"] for row in rows), "ports": sorted([one, two]), "out": f"{home}/found", "count": len(rows),
    }  # fmt: skip
    first = "Two services listen on 127.0.0.1, ports @one@ and @two@: /items?page=N gives four items a page, /keepers needs the password @password@."
    return World(values, _DEEDS, files, (f"mkdir -p {home}/found",), first, _INITIAL, services)


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
_ALL = "for page in $(seq $(curl -s --retry 9 --retry-connrefused --retry-delay 1 http://127.0.0.1:@one@/items | jq .pages)); do curl -s \"http://127.0.0.1:@one@/items?page=$page\"; done"

_DEEDS = (
    Deed(
        "names", "The service on port @one@ of 127.0.0.1 lists items under /items, page by page (/items?page=2, and so on; it says how many `pages` there are). Write the names of all of them to @out@/names.txt, one a line, sorted.",
        "@out@/names.txt has the lines @names@.", ("@out@/names.txt",),
        "def test_names_of_all_items():\n    assert read(@out@ + '/names.txt').split() == @names@, 'the list is another'",
        (f"({_ALL}) | jq -r '.items[].name' | LC_ALL=C sort >@out@/names.txt",),
    ),
    Deed(
        "total", "Each `count` of the items that the service on port @one@ of 127.0.0.1 lists under /items?page=1, 2 and so on, up to its `pages`, stands for boxes of eleven. How many pieces is that over all pages? Write the number to @out@/pieces.txt.",
        "@out@/pieces.txt holds @total@.", ("@out@/pieces.txt",),
        "def test_pieces():\n    assert read(@out@ + '/pieces.txt').strip() == str(@total@), 'that is not the sum'",
        (f"({_ALL}) | jq -s '[.[].items[].count] | add * 11' >@out@/pieces.txt",), ("@total@",),
    ),
    Deed(
        "keepers", "The service on port @one@ of 127.0.0.1 tells the names of its keepers under /keepers, but only to whoever sends the header `X-Password: @password@`. Save what it answers, as JSON, to @out@/keepers.json.",
        "@out@/keepers.json is @keepers@.", ("@out@/keepers.json",),
        "def test_keepers():\n    assert json.loads(read(@out@ + '/keepers.json')) == @keepers@, 'it says something else'",
        ("curl -s --retry 9 --retry-connrefused --retry-delay 1 -H 'X-Password: @password@' http://127.0.0.1:@one@/keepers >@out@/keepers.json",),
    ),
    Deed(
        "ports", "On which TCP ports of 127.0.0.1 does something listen on this machine? Write the numbers to @out@/ports.txt, one a line, the smallest first.",
        "@out@/ports.txt has the lines @ports@.", ("@out@/ports.txt",),
        "def test_ports():\n    assert read(@out@ + '/ports.txt').split() == [str(each) for each in @ports@], 'the ports are others'",
        ("for _ in $(seq 50); do [ $(ss -Hltn src 127.0.0.1 | wc -l) -ge 2 ] && break; sleep 0.2; done; ss -Hltn src 127.0.0.1 | awk '{ sub(/.*:/, \"\", $4); print $4 }' | sort -n >@out@/ports.txt",),
    ),
    Deed(
        "status", "What do the services on ports @one@ and @two@ of 127.0.0.1 answer when asked for /keepers with no password? Write lines `PORT STATUS`, like `80 200`, to @out@/status.txt, the smaller port first.",
        "@out@/status.txt has 401 for both ports.", ("@out@/status.txt",),
        "def test_status_without_a_password():\n    assert read(@out@ + '/status.txt').splitlines() == [f'{port} 401' for port in @ports@], 'it says something else'",
        ("for port in $(printf '%s\\n' @one@ @two@ | sort -n); do echo $port $(curl -s --retry 9 --retry-connrefused --retry-delay 1 -o /dev/null -w '%{http_code}' http://127.0.0.1:$port/keepers); done >@out@/status.txt",),
    ),
)  # fmt: skip
