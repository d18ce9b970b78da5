"""@app@: a few answers over HTTP."""

import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

settings = {}
section = ""
for number, line in enumerate(Path(sys.argv[1]).read_text().splitlines(), 1):
    line = line.strip()
    if not line or line.startswith("#"):
        continue
    if line.startswith("[") and line.endswith("]"):
        section = line[1:-1]
    elif section and "=" in line:
        name, _, value = line.partition("=")
        settings[section, name.strip()] = value.strip()
    else:
        sys.exit(f"{sys.argv[1]}:{number}: cannot be read: {line!r}")

state = Path(settings["server", "state"])


class Answers(BaseHTTPRequestHandler):
    def do_GET(self):
        if self.path == "/hello":
            self.say("hello from @app@")
        elif self.path == "/whoami":
            self.say(self.headers.get("X-Real-IP", "unknown"))
        elif self.path == "/note":
            self.say((state / "note").read_text())
        else:
            self.send_error(404)

    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        if self.path == "/note":
            (state / "note").write_bytes(body)
        self.say(str(len(body)))

    def say(self, text):
        data = (text + "\n").encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *about):
        pass


ThreadingHTTPServer(("127.0.0.1", int(settings["server", "port"])), Answers).serve_forever()
