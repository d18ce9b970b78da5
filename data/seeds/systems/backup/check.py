"""Makes a backup as the job would, reads it back, and takes it away again."""

import tarfile
from pathlib import Path

from probing import Bad, Values, must_run, probe, report, run, want, want_closed


def save(v: Values) -> list[str]:
    """What a new backup holds."""
    folder = Path(f"/var/backups/{v['job']}")
    before = set(folder.iterdir())
    must_run(f"/usr/local/bin/{v['job']}", user=v["user"])
    new = sorted(set(folder.iterdir()) - before)
    want(len(new) == 1, f"{len(new)} new files stand where backups go")
    try:
        with tarfile.open(new[0], "r:gz") as archive:
            return sorted(entry.name for entry in archive if entry.isfile())
    except tarfile.TarError as error:
        raise Bad(f"the new backup cannot be read: {error}") from error
    finally:
        new[0].unlink()


def want_limit(v: Values) -> None:
    """One less than the limit lets another backup in, and no more."""
    folder = Path(f"/var/backups/{v['job']}")
    before = set(folder.iterdir())
    for number in range(int(v["most"]) - 1 - len(before)):
        Path(folder, f"probe-{number}").touch()
    codes = [run(f"/usr/local/bin/{v['job']}", user=v["user"])[0] for _ in range(2)]
    for each in set(folder.iterdir()) - before:
        each.unlink()
    want(codes[0] == 0 and codes[1] != 0, f"{v['most']} files are not the limit")


@probe
def saves(v: Values) -> None:
    save(v)
    want_limit(v)
    want_closed(f"/etc/{v['job']}/settings", "root:root", "644")
    want_closed(f"/etc/{v['job']}/exclude", "root:root", "644")
    want_closed(f"/usr/local/bin/{v['job']}", "root:root", "755")
    want_closed(f"/var/backups/{v['job']}", f"{v['user']}:{v['user']}", "750")


@probe
def restores(v: Values) -> None:
    want(save(v), "the new backup is empty")


@probe
def whole(v: Values) -> None:
    lacking = {"./letters/contract.txt", "./index.txt"} - set(save(v))
    want(not lacking, f"the new backup lacks {sorted(lacking)}")
    want_closed(f"{v['data']}/letters/contract.txt", "root:root", "644")


@probe
def lean(v: Values) -> None:
    extra = [name for name in save(v) if name.startswith(f"./{v['skip']}")]
    want(not extra, f"the new backup holds {extra}")


report()
