"""Who can do what in the shared folders, tried as each of them."""

from pathlib import Path

from probing import Values, must_run, probe, report, run, want, want_closed


def can(user: str, command: str) -> bool:
    return run("/bin/sh", "-c", command, user=user)[0] == 0


@probe
def common(v: Values) -> None:
    path = Path(f"/srv/{v['team']}/common/probe")
    try:
        want(can(v["lead"], f"umask 007; echo a > {path}"), f"{v['lead']} cannot write to the common folder")
        want(can(v["hand"], f"echo b >> {path}"), f"{v['hand']} cannot change what {v['lead']} wrote there")
        want_closed(f"/srv/{v['team']}/common", f"root:{v['team']}", "2770")
        want(not can(v["guest"], f"cat {path}"), f"{v['guest']} can read the common folder")
    finally:
        path.unlink(missing_ok=True)


@probe
def plans(v: Values) -> None:
    path = f"/srv/{v['team']}/plans/year.txt"
    want(can(v["hand"], f"cat {path}"), f"{v['hand']} cannot read the plan")
    want(not can(v["hand"], f": >> {path}"), f"{v['hand']} can write the plan")
    want(can(v["lead"], f": >> {path}"), f"{v['lead']} cannot write the plan")
    want(not can(v["guest"], f"cat {path}"), f"{v['guest']} can read the plan")
    want_closed(f"/srv/{v['team']}/plans", f"{v['lead']}:{v['team']}", "750")
    want_closed(path, f"{v['lead']}:{v['team']}", "640")


@probe
def private(v: Values) -> None:
    folder = f"/srv/{v['team']}/private"
    want(can(v["lead"], f": >> {folder}/pay.txt"), f"{v['lead']} cannot write the pay list")
    want(not can(v["hand"], f"ls {folder}"), f"{v['hand']} can look into the private folder")
    want_closed(folder, f"{v['lead']}:{v['lead']}", "700")
    want_closed(f"{folder}/pay.txt", f"{v['lead']}:{v['lead']}", "600")


@probe
def drop(v: Values) -> None:
    path = Path(f"/srv/{v['team']}/drop/probe")
    try:
        want(can(v["guest"], f"echo a > {path}"), f"{v['guest']} cannot drop anything")
        want(not can(v["guest"], f"ls {path.parent}"), f"{v['guest']} can see what was dropped")
        want(not can("nobody", f"rm {path}"), "a stranger can remove what was dropped")
        want_closed(f"/srv/{v['team']}/drop", f"root:{v['team']}", "1733")
    finally:
        path.unlink(missing_ok=True)


@probe
def notices(v: Values) -> None:
    want(can(v["guest"], f"grep -q . /srv/{v['team']}/notices/today.txt"), f"{v['guest']} cannot read the notice")
    want_closed(f"/srv/{v['team']}/notices", f"{v['lead']}:{v['team']}", "755")
    want_closed(f"/srv/{v['team']}/notices/today.txt", f"{v['lead']}:{v['team']}", "644")


@probe
def posts(v: Values) -> None:
    path = Path(f"/srv/{v['team']}/notices/probe.txt")
    try:
        must_run(f"/usr/local/bin/{v['team']}-post", "probe.txt", user=v["lead"], stdin="hello\n")
        want(path.exists(), "nothing was posted")
        want(can(v["guest"], f"cat {path}"), f"{v['guest']} cannot read what was just posted")
        want_closed(f"/usr/local/bin/{v['team']}-post", "root:root", "755")
    finally:
        path.unlink(missing_ok=True)


report()
