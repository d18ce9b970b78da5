"""An S3 service that only lists: `python -m tests.lake.s3_keys RUNS FILES` prints its URL. Its keys are computed, in order.

envmill/lake/attrition/run=000001/000001.parquet …   FILES in each of RUNS folders
envmill/lake/wide/…                                  RUNS × FILES in one folder
"""

import bisect
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, urlsplit

_PAGE = 1000


def make_keys(runs: int, files: int) -> list[str]:
    deep = [
        f"lake/attrition/run={run:06d}/{file:06d}-{'0' * 32}.parquet"
        for run in range(runs)
        for file in range(files)
    ]
    return deep + [f"lake/wide/{number:09d}-{'0' * 32}.parquet" for number in range(runs * files)]


def list_page(
    keys: list[str], prefix: str, delimiter: str, after: str
) -> tuple[list[str], list[str], str]:
    """Files, folders, and where the next page begins; as ListObjectsV2 has them."""
    files: list[str] = []
    folders: list[str] = []
    at = bisect.bisect_left(keys, max(prefix, after))
    while at < len(keys) and keys[at].startswith(prefix):
        if len(files) + len(folders) == _PAGE:
            return files, folders, keys[at]
        end = keys[at].find(delimiter, len(prefix)) if delimiter else -1
        if end < 0:
            files.append(keys[at])
            at += 1
        else:
            folders.append(keys[at][: end + 1])
            at = bisect.bisect_left(keys, keys[at][:end] + chr(ord("/") + 1))
    return files, folders, ""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    keys: list[str]

    def do_GET(self) -> None:
        asked = {name: values[0] for name, values in parse_qs(urlsplit(self.path).query).items()}
        files, folders, rest = list_page(
            self.keys,
            asked.get("prefix", ""),
            asked.get("delimiter", ""),
            asked.get("continuation-token", ""),
        )
        contents = "".join(
            f"<Contents><Key>{key}</Key><LastModified>2026-01-01T00:00:00.000Z</LastModified>"
            f'<ETag>"0"</ETag><Size>1</Size><StorageClass>STANDARD</StorageClass></Contents>'
            for key in files
        )
        common = "".join(
            f"<CommonPrefixes><Prefix>{name}</Prefix></CommonPrefixes>" for name in folders
        )
        more = f"<NextContinuationToken>{rest}</NextContinuationToken>" if rest else ""
        body = (
            "<?xml version='1.0'?><ListBucketResult xmlns='http://s3.amazonaws.com/doc/2006-03-01/'>"
            f"<Name>envmill</Name><Prefix>{asked.get('prefix', '')}</Prefix><MaxKeys>{_PAGE}</MaxKeys>"
            f"<KeyCount>{len(files) + len(folders)}</KeyCount><IsTruncated>{'true' if rest else 'false'}"
            f"</IsTruncated>{more}{contents}{common}</ListBucketResult>"
        ).encode()
        self.send_response(200)
        self.send_header("content-type", "application/xml")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *_: object) -> None:  # the original's signature
        pass


if __name__ == "__main__":
    handler = type("Handler", (_Handler,), {"keys": make_keys(int(sys.argv[1]), int(sys.argv[2]))})
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    print(f"http://127.0.0.1:{server.server_port}", flush=True)  # noqa: T201
    server.serve_forever()
