"""World `services`: a small server over HTTP with its settings in one file."""

from offline.errands.base import ErrandWorld, WorldSite
from schemas.base import Json
from schemas.system import Service

_SERVER = '''"""Answers on the machine's own address, as its settings say."""

import json
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

SETTINGS = json.loads(Path("@settings@").read_text())
ITEMS, TOKEN = Path("@items@"), Path("@token@")


class Handler(BaseHTTPRequestHandler):
    def do_GET(self):
        status, text = self.look()
        self.send_response(status)
        self.end_headers()
        self.wfile.write(text.encode())

    def look(self):
        if self.path == "/":
            return 200, SETTINGS["greeting"] + "\\n"
        if self.path == "/private":
            known = TOKEN.is_file() and TOKEN.stat().st_mode & 0o077 == 0 and TOKEN.read_text().strip()
            return (200, "welcome\\n") if known and self.headers.get("X-Token") == known else (403, "no\\n")
        item = ITEMS / (self.path.strip("/") + ".txt")
        return (200, item.read_text()) if SETTINGS["items"] and item.parent == ITEMS and item.is_file() else (404, "none\\n")

    def log_message(self, *_):
        pass


ThreadingHTTPServer(("127.0.0.1", SETTINGS["port"]), Handler).serve_forever()
'''


def make(spot: WorldSite) -> ErrandWorld:
    dice, word, home = spot.dice, spot.folder, spot.home
    old, new = dice.sample(range(8100, 8900), 2)
    thing, other, stock = spot.pick("things", 3)
    settings, token = f"/etc/{word}/settings.json", f"/etc/{word}/token"
    values: dict[str, Json] = {
        "settings": settings,
        "token": token,
        "items": f"{home}/items",
        "word": word,
        "old": old,
        "new": new,
        "greeting": f"Good day from the {word}",
        "thing": thing,
        "item": f"{home}/items/{thing}.txt",
        "text": f"{dice.randint(3, 90)} in stock",
        "other": other,
        "stock": f"{stock}s: 4\n",
        "secret": f"{other}-{dice.randint(10000, 99999)}",
    }
    server = (
        _SERVER.replace("@settings@", settings)
        .replace("@items@", f"{home}/items")
        .replace("@token@", token)
    )
    files = {
        f"{home}/serve.py": server,
        settings: f'{{\n  "port": {old},\n  "greeting": "hello",\n  "items": false\n}}\n',
        f"{home}/items/{stock}.txt": f"{stock}s: 4\n",
    }
    start = f"setsid -f /usr/bin/python3 -B {home}/serve.py >/dev/null 2>&1 </dev/null"
    services = {word: Service(start=start, program="/usr/bin/python3", pattern=f"{home}/serve.py")}
    first = (
        "The service @word@ is {home}/serve.py; it listens on 127.0.0.1, port @old@, and shows "
        "no items."
    ).replace("{home}", home)
    return ErrandWorld(
        values | {"stocked": stock}, files, (), first, f"{_FETCH}{_INITIAL}", services
    )


_FETCH = """
def fetch(path, port=0, **headers):
    import urllib.error
    import urllib.request

    settings = json.loads(read(@settings@))
    asked = urllib.request.Request(f"http://127.0.0.1:{port or settings['port']}{path}", headers=headers)
    for _ in range(50):
        try:
            with urllib.request.urlopen(asked, timeout=10) as answer:
                return answer.status, answer.read().decode()
        except urllib.error.HTTPError as error:
            return error.code, error.read().decode()
        except OSError:
            time.sleep(0.2)
    return 0, "no answer"


"""
_INITIAL = """def test_service_answers():
    assert fetch("/", @old@) == (200, "hello\\n"), "it answers otherwise"
"""
