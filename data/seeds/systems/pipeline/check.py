"""Whether the pipeline runs to its end and its summary is that of what was delivered."""

from pathlib import Path

from probing import Values, must_run, probe, read, report, want, want_closed


def make_summary(v: Values) -> list[str]:
    result = Path(f"/srv/{v['flow']}/out/summary.txt")
    result.unlink(missing_ok=True)
    must_run(f"/opt/{v['flow']}/run.sh", user=v["user"])
    want(result.is_file(), "there is no summary")
    return read(str(result)).splitlines()


@probe
def runs(v: Values) -> None:
    make_summary(v)
    for name in ("run.sh", "clean.sh", "total.sh"):
        want_closed(f"/opt/{v['flow']}/{name}", "root:root", "755")
    for name in ("out", "work"):
        want_closed(f"/srv/{v['flow']}/{name}", f"{v['user']}:{v['user']}", "755")


@probe
def summary(v: Values) -> None:
    lines = make_summary(v)
    want(lines[-1:] == ["total 155"], f"the summary ends with {lines[-1:]}")
    clean = f"set -a; . /etc/{v['flow']}.env; /opt/{v['flow']}/clean.sh"
    rows = "".join(f"A{v['mark']}{amount}\n" for amount in (int(v["least"]) - 1, int(v["least"])))
    counted = must_run("/bin/bash", "-c", clean, user=v["user"], stdin=rows).splitlines()
    want(counted == [f"A {v['least']}"], f"of amounts about {v['least']} there count {counted}")
    want_closed(f"/etc/{v['flow']}.env", "root:root", "644")
    want_closed(f"/srv/{v['flow']}/in/north.csv", "root:root", "644")


@probe
def sorted_(v: Values) -> None:
    names = [line.rsplit(" ", 1)[0] for line in make_summary(v)[:-1]]
    want(names == ["B", "N", v["name"][0]], f"the summary has {names}")


@probe
def fresh(v: Values) -> None:
    make_summary(v)
    left = sorted(path.name for path in Path(f"/srv/{v['flow']}/work").iterdir())
    want(left == [], f"the run left {left} behind")


report()
