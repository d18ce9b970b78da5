"""Whether requests reach the application through the proxy, whole and with their origin."""

from probing import Values, fetch, probe, report, want, want_closed, want_loopback


@probe
def answers(v: Values) -> None:
    status, text = fetch(v["front"], f"/{v['prefix']}/hello")
    want(status == 200, f"the application answers {status} through the proxy")
    want(f"hello from {v['app']}" in text, "the answer is not the application's")
    want_loopback(v["front"])
    want_closed(f"/etc/nginx/conf.d/{v['app']}.conf", "root:root", "644")
    want_closed(f"/etc/{v['app']}/app.ini", f"root:{v['app']}", "640")


@probe
def addresses(v: Values) -> None:
    status, text = fetch(v["front"], f"/{v['prefix']}/whoami")
    want(status == 200 and text.strip() == "127.0.0.1", f"the visitor's address is shown as {text.strip()!r} (status {status})")


@probe
def uploads(v: Values) -> None:
    status, text = fetch(v["front"], f"/{v['prefix']}/length", "POST", "x" * 10_000)
    want(status == 200 and text.strip() == "10000", f"a form of 10,000 bytes is answered {status}")
    statuses = [fetch(v["front"], f"/{v['prefix']}/length", "POST", "x" * size)[0] for size in (2 << 20, (2 << 20) + 1)]
    want(statuses == [200, 413], f"forms about the limit are answered {statuses}")


@probe
def notes(v: Values) -> None:
    fetch(v["front"], f"/{v['prefix']}/note", "POST", "remember")
    status, text = fetch(v["front"], f"/{v['prefix']}/note")
    want(status == 200 and text.strip() == "remember", f"a note that was left is read with {status}")
    want_closed(f"/var/lib/{v['app']}", f"{v['app']}:{v['app']}", "750")


@probe
def static(v: Values) -> None:
    status, _ = fetch(v["front"], "/about")
    want(status == 200, f"/about answers {status}")


report()
