"""Whether requests reach the application through the proxy, whole and with their origin."""

from probing import Values, fetch, probe, report, want


@probe
def answers(v: Values) -> None:
    status, text = fetch(v["front"], f"/{v['prefix']}/hello")
    want(status == 200, f"the application answers {status} through the proxy")
    want(f"hello from {v['app']}" in text, "the answer is not the application's")


@probe
def addresses(v: Values) -> None:
    status, text = fetch(v["front"], f"/{v['prefix']}/whoami")
    want(status == 200 and text.strip() == "127.0.0.1", f"the visitor's address is shown as {text.strip()!r} (status {status})")


@probe
def uploads(v: Values) -> None:
    status, text = fetch(v["front"], f"/{v['prefix']}/length", "POST", "x" * 10_000)
    want(status == 200 and text.strip() == "10000", f"a form of 10,000 bytes is answered {status}")


@probe
def notes(v: Values) -> None:
    fetch(v["front"], f"/{v['prefix']}/note", "POST", "remember")
    status, text = fetch(v["front"], f"/{v['prefix']}/note")
    want(status == 200 and text.strip() == "remember", f"a note that was left is read with {status}")


@probe
def static(v: Values) -> None:
    status, _ = fetch(v["front"], "/about")
    want(status == 200, f"/about answers {status}")


report()
