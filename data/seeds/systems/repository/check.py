"""Clones, pushes to a branch of its own, tries what must be refused, and takes the branch away again."""

import shutil
import tempfile
from pathlib import Path

from probing import Values, must_run, probe, report, run, want, want_closed

NAME = {"GIT_AUTHOR_NAME": "p", "GIT_AUTHOR_EMAIL": "p@x", "GIT_COMMITTER_NAME": "p", "GIT_COMMITTER_EMAIL": "p@x"}


def git(v: Values, *words: str, folder: str = "/tmp") -> str:
    return must_run("git", *words, user=v["user"], folder=folder, variables=NAME)


def clone(v: Values) -> str:
    folder = tempfile.mkdtemp(dir="/tmp")
    shutil.chown(folder, v["user"])
    git(v, "clone", "-q", f"/srv/git/{v['repo']}.git", f"{folder}/copy")
    return f"{folder}/copy"


def push(v: Values, *, message: str, force: str = "") -> bool:
    """Whether a push to a branch of the check's own goes through. The branch is removed behind git's back, hooks and all."""
    folder = clone(v)
    git(v, "commit", "-q", "--allow-empty", "-m", message, folder=folder)
    code, _ = run("git", "push", "-q", "origin", "HEAD:refs/heads/probe", user=v["user"], folder=folder, variables=NAME)
    if force and not code:
        git(v, "commit", "-q", "--amend", "--allow-empty", "-m", force, folder=folder)
        code, _ = run("git", "push", "-q", "-f", "origin", "HEAD:refs/heads/probe", user=v["user"], folder=folder, variables=NAME)
    Path(f"/srv/git/{v['repo']}.git/refs/heads/probe").unlink(missing_ok=True)
    shutil.rmtree(str(Path(folder).parent))
    return code == 0


@probe
def clones(v: Values) -> None:
    folder = clone(v)
    want(git(v, "symbolic-ref", "--short", "HEAD", folder=folder).strip() == v["branch"], "a clone stands on some other branch")
    want(git(v, "log", "--format=%s", folder=folder).strip() == "Start of the notes", "a clone has some other history")
    want_closed(f"/srv/git/{v['repo']}.git/HEAD", f"{v['user']}:{v['user']}", "644")


@probe
def pushes(v: Values) -> None:
    want(push(v, message=f"{v['prefix']}-12 more"), "a push that should go through is refused")


@probe
def guards(v: Values) -> None:
    want(not push(v, message="no number"), "a push without a number goes through")
    want(push(v, message=f"{v['prefix']}-7 more"), "a push with a number is refused")
    want_closed(f"/srv/git/{v['repo']}.git/hooks/pre-receive", f"{v['user']}:{v['user']}", "755")


@probe
def logged(v: Values) -> None:
    log = Path(f"/var/log/{v['repo']}/pushes")
    before = log.read_text().count("\n") if log.exists() else 0
    push(v, message=f"{v['prefix']}-9 more")
    want(log.exists() and log.read_text().count("\n") > before, "a push is not in the log")
    want_closed(f"/srv/git/{v['repo']}.git/hooks/post-receive", f"{v['user']}:{v['user']}", "755")
    want_closed(f"/var/log/{v['repo']}", f"{v['user']}:{v['user']}", "755")


@probe
def safe(v: Values) -> None:
    want(not push(v, message=f"{v['prefix']}-1 one", force=f"{v['prefix']}-2 other"), "history can be overwritten")
    want_closed(f"/srv/git/{v['repo']}.git/config", f"{v['user']}:{v['user']}", "644")


report()
