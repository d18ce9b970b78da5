"""An S3 service that refuses everything, with one code: `python -m tests.lake.s3_refusing CODE STATUS [TIMES]`, which prints its URL.

With TIMES it refuses so many requests, and then answers that the object is not there.
"""

import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import count

_BODY = '<?xml version="1.0" encoding="UTF-8"?><Error><Code>{0}</Code><Message>{0} it is</Message></Error>'


def main(code: str, status: int, times: int) -> None:
    numbers = count()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            self.rfile.read(int(self.headers.get("Content-Length", 0)))
            refusing = next(numbers) < times
            body = _BODY.format(code if refusing else "NoSuchKey").encode()
            self.send_response(status if refusing else 404)
            self.send_header("Content-Type", "application/xml")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(b"" if self.command == "HEAD" else body)

        do_PUT = do_DELETE = do_POST = do_HEAD = do_GET

        def log_message(self, *_: object) -> None:
            """Nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    print(f"http://127.0.0.1:{server.server_port}", flush=True)  # noqa: T201
    server.serve_forever()


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]) if len(sys.argv) > 3 else 1_000_000)
