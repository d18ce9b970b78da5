"""@app@: prices and places over HTTP."""

import atexit
import json
import os
import signal
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

sys.dont_write_bytecode = True
sys.path.insert(0, "/opt/@app@/lib/rates")
import rates

settings = {"count": "no", "encoding": "ascii"}
for line in Path("/etc/@app@.conf").read_text().splitlines():
    if line and not line.startswith("#"):
        name, value = line.split()
        settings[name] = value

wanted = Path("/opt/@app@/requires.txt").read_text().strip()
if wanted != f"rates=={rates.version}":
    sys.exit(f"{wanted} is required, and rates is {rates.version}")
rows = Path(settings["places"]).read_bytes().decode(settings["encoding"]).split("\n")
places = dict(row.split(",") for row in rows if row)

pid = Path("/var/lib/@app@/pid")
owner = pid.read_text().strip() if pid.exists() else "nobody"
if not owner or Path("/proc", owner).exists():
    sys.exit(f"{pid} exists: @app@ runs already")
pid.write_text(str(os.getpid()))
atexit.register(pid.unlink)
signal.signal(signal.SIGTERM, lambda *_: sys.exit())
counted = 0


class Answers(BaseHTTPRequestHandler):
    def do_GET(self):
        global counted
        parts = urlsplit(self.path)
        asked = {name: values[0] for name, values in parse_qs(parts.query).items()}
        if parts.path == "/health":
            self.say({"app": "@app@", "library": rates.version, "places": len(places)})
        elif parts.path == "/quote":
            self.say({"price": rates.price(int(asked["units"]))})
        elif parts.path == "/place" and asked["name"] in places:
            self.say({"zone": int(places[asked["name"]])})
        elif parts.path == "/count":
            counted += settings["count"] == "yes"
            self.say({"count": counted})
        else:
            self.send_error(404)

    def say(self, value):
        data = json.dumps(value).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *about):
        pass


ThreadingHTTPServer(("127.0.0.1", int(settings["port"])), Answers).serve_forever()
