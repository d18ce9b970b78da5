"""Whether the books can be read and written, and agree with what stands on paper."""

import json

from probing import Values, must_run, probe, report, want, want_closed


def call(v: Values, *arguments: str) -> str:
    return must_run(f"/usr/local/bin/{v['app']}", *arguments, user=v["user"])


@probe
def openings(v: Values) -> None:
    said = json.loads(call(v, "report"))
    want(said["openings"] == {v["account"]: int(v["opening"]), "wages": 2000, "till": 150}, f"the openings are {said['openings']}")


@probe
def currency(v: Values) -> None:
    said = json.loads(call(v, "report"))
    want(said["currency"] == v["money"], f"the currency is {said['currency']}")


@probe
def entry(v: Values) -> None:
    call(v, "enter", "till", "1")
    call(v, "undo")
    want_closed(f"/usr/local/bin/{v['app']}", "root:root", "755")
    want_closed(f"/var/lib/{v['app']}", f"{v['user']}:{v['user']}", "750")
    want_closed(f"/var/lib/{v['app']}/books.db", f"{v['user']}:{v['user']}", "640")


@probe
def report_(v: Values) -> None:
    said = json.loads(call(v, "report"))
    balances = {v["account"]: int(v["opening"]) - 300, "wages": 1100, "till": 195}
    want(said["balances"] == balances, f"the balances are {said['balances']}")
    want_closed(f"/etc/{v['app']}.conf", "root:root", "644")


report()
