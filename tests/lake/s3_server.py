"""An S3 service on loopback, in a process of its own: `python -m tests.lake.s3_server`, which
prints its URL. `--host ADDRESS` listens there instead.

moto looks whether an object is there and then stores it, in two steps; one lock makes that one
step, as S3 does. With `--careless` it ignores `If-None-Match`, as services without the primitive
do.
"""

import logging
import sys
import threading
from collections.abc import Iterable
from typing import Any

from moto.moto_server.werkzeug_app import DomainDispatcherApplication, create_backend_app
from werkzeug.serving import WSGIRequestHandler, make_server


class _Handler(WSGIRequestHandler):
    protocol_version = "HTTP/1.1"  # connections are kept, as with S3


def serve(careless: bool, host: str) -> None:
    """Serve until killed."""
    logging.getLogger("werkzeug").setLevel(logging.ERROR)
    inner, lock = DomainDispatcherApplication(create_backend_app), threading.Lock()

    def answer(environ: dict[str, Any], start: Any) -> Iterable[bytes]:
        if careless:
            environ.pop("HTTP_IF_NONE_MATCH", None)
        with lock:
            return list(inner(environ, start))

    server = make_server(host, 0, answer, threaded=True, request_handler=_Handler)
    print(f"http://{host}:{server.server_port}", flush=True)  # noqa: T201
    server.serve_forever()


if __name__ == "__main__":
    given = sys.argv.index("--host") + 1 if "--host" in sys.argv else 0
    serve("--careless" in sys.argv, sys.argv[given] if given else "127.0.0.1")
