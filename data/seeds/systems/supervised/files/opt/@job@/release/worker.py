"""@job@: says who it is, and leaves when it is told to."""

import json
import os
import signal
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

Path("/var/log/@job@/started").write_text(str(os.getpid()))
signal.signal(signal.SIGUSR1, lambda *_: os._exit(0))


class Answers(BaseHTTPRequestHandler):
    def do_GET(self):
        said = {"job": "@job@", "level": os.environ["LEVEL"], "folder": os.getcwd()}
        self.send_response(200)
        self.end_headers()
        self.wfile.write(json.dumps(said).encode())

    def log_message(self, *about):
        pass


HTTPServer(("127.0.0.1", int(os.environ["PORT"])), Answers).serve_forever()
