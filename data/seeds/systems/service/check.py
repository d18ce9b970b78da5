"""Whether the service answers with the prices of its present library and its places."""

import json
from urllib.parse import quote as spell

from probing import Values, fetch, probe, report, want, want_closed


def ask(v: Values, path: str) -> dict[str, object]:
    status, text = fetch(v["port"], path)
    want(status == 200, f"{path.partition('?')[0]} answers {status}")
    return json.loads(text)


@probe
def health(v: Values) -> None:
    want(ask(v, "/health") == {"app": v["app"], "library": v["good"], "places": 2}, "the service describes itself wrongly")
    want_closed(f"/etc/{v['app']}.conf", "root:root", "644")
    want_closed(f"/opt/{v['app']}/requires.txt", "root:root", "644")
    want_closed(f"/var/lib/{v['app']}", f"{v['app']}:{v['app']}", "755")


@probe
def quote(v: Values) -> None:
    want(ask(v, "/quote?units=10") == {"price": 10 * int(v["rate"])}, "ten units have the wrong price")


@probe
def place(v: Values) -> None:
    want(ask(v, f"/place?name={spell(v['place'])}") == {"zone": 4}, "a place that is served is not found")
    want_closed(f"/srv/{v['app']}/places.csv", "root:root", "644")


@probe
def kept(v: Values) -> None:
    first, second = ask(v, "/count"), ask(v, "/count")
    want(second["count"] != first["count"], "answers are not counted")


report()
