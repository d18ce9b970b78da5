"""World `git_repositories`: a book in chapters, with a history, a change that waits and a file that
was lost."""

from offline.errands.base import ErrandWorld, WorldSite
from schemas.base import Json


def make(spot: WorldSite) -> ErrandWorld:
    repo, people, things = f"{spot.home}/book", spot.pick("people", 3), spot.pick("things", 4)
    lost = f"{things[3]}\n{things[0]}\n"
    changed = f"1 {things[0]}\n2 {things[1]}\n3 {things[2]}\n"
    subjects = [
        f"Begin with the {things[0]}",
        f"Add the {things[1]}",
        f"Drop the list of {people[2]}",
        f"Tell more of the {things[2]}",
    ]
    authors = [people[0], people[1], people[0], people[1]]
    values: dict[str, Json] = {
        "repo": repo,
        "lost": lost,
        "changed": changed,
        "subjects": subjects,
        "subject": f"Bring in the {things[2]}",
        "second": subjects[1],
        "author": people[1],
        "of_author": [subjects[1], subjects[3]],
        "to_lost": f"{repo}/list.txt",
        "to_list": f"{spot.home}/commits.txt",
        "git": f"{repo}/.git",
        "dropped": subjects[2],
        "version": f"v1.{spot.dice.randint(1, 9)}",
        "branch": f"for-{people[2].lower()}",
    }
    runs = (_write_history(repo, things, subjects, authors),)
    first = (
        "@repo@ is a git repository on branch main with the commits @subjects@ (oldest first), of "
        "which @dropped@ takes list.txt away. "
        "In chapters.txt a change waits that is not committed. Its user is Keeper."
    )
    return ErrandWorld(values, {}, runs, first, _INITIAL)


def _write_history(repo: str, things: list[str], subjects: list[str], authors: list[str]) -> str:
    """Each commit changes what the one before left, so that the image holds no results."""
    stages = [
        f"echo '1 {things[0]}' >chapters.txt; printf '{things[3]}\\n{things[0]}\\n' >list.txt; "
        "git add -A",
        f"echo '2 {things[1]}' >>chapters.txt",
        "git rm -q list.txt",
        f"echo 'of {things[2]}' >notes.txt; git add -A",
    ]
    commits = [
        f"{stage}; GIT_AUTHOR_DATE='2026-01-0{number}T10:00:00Z' "
        f"GIT_COMMITTER_DATE='2026-01-0{number}T10:00:00Z' "
        f"git commit -q -a -m '{subject}' --author='{author} <{author.lower()}@example.org>'"
        for number, (stage, subject, author) in enumerate(
            zip(stages, subjects, authors, strict=True), 1
        )
    ]
    who = ["git config user.name Keeper", "git config user.email keeper@example.org"]
    return " && ".join(
        [
            f"git init -q -b main {repo}",
            f"cd {repo}",
            *who,
            *commits,
            f"echo '3 {things[2]}' >>chapters.txt",
        ]
    )


_GIT = """
def git(*words):
    return run("git", "--no-optional-locks", "-c", "safe.directory=*", "-C", @repo@, *words)[1]


"""
_INITIAL = f"""{_GIT}def test_history():
    assert git("log", "--reverse", "--format=%s").splitlines() == @subjects@, "the history is another"
    assert git("status", "--porcelain").split() == ["M", "chapters.txt"], "no change waits"
"""
