"""Whether the pipeline runs to its end and its summary is that of what was delivered."""

from pathlib import Path

from probing import Values, must_run, probe, read, report, want


def make_summary(v: Values) -> list[str]:
    result = Path(f"/srv/{v['flow']}/out/summary.txt")
    result.unlink(missing_ok=True)
    must_run(f"/opt/{v['flow']}/run.sh", user=v["user"])
    want(result.is_file(), "there is no summary")
    return read(str(result)).splitlines()


@probe
def runs(v: Values) -> None:
    make_summary(v)


@probe
def summary(v: Values) -> None:
    lines = make_summary(v)
    want(lines[-1:] == ["total 155"], f"the summary ends with {lines[-1:]}")


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
