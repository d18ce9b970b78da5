"""World `git_repositories`: a book in chapters, with a history, a change that waits and a file that was lost."""

from envmill.author.errands.base import Deed, Spot, World


def make(spot: Spot) -> World:
    repo, people, things = f"{spot.home}/book", spot.pick("people", 3), spot.pick("things", 4)
    lost = f"{things[3]}\n{things[0]}\n"
    changed = f"1 {things[0]}\n2 {things[1]}\n3 {things[2]}\n"
    subjects = [f"Begin with the {things[0]}", f"Add the {things[1]}", f"Drop the list of {people[2]}", f"Tell more of the {things[2]}"]
    authors = [people[0], people[1], people[0], people[1]]
    # Each stage is files over the one before, so that the image holds no results.
    stages = [
        f"echo '1 {things[0]}' >chapters.txt; printf '{things[3]}\\n{things[0]}\\n' >list.txt; git add -A",
        f"echo '2 {things[1]}' >>chapters.txt",
        "git rm -q list.txt",
        f"echo 'of {things[2]}' >notes.txt; git add -A",
    ]
    commits = [
        f"{stage}; GIT_AUTHOR_DATE='2026-01-0{number}T10:00:00Z' GIT_COMMITTER_DATE='2026-01-0{number}T10:00:00Z' "
        f"git commit -q -a -m '{subject}' --author='{author} <{author.lower()}@example.org>'"
        for number, (stage, subject, author) in enumerate(zip(stages, subjects, authors, strict=True), 1)
    ]
    script = [f"git init -q -b main {repo}", f"cd {repo}", "git config user.name Keeper", "git config user.email keeper@example.org", *commits, f"echo '3 {things[2]}' >>chapters.txt"]  # fmt: skip
    values = {
        "repo": repo, "lost": lost, "changed": changed, "subjects": subjects, "subject": f"Bring in the {things[2]}", "second": subjects[1],
        "author": people[1], "of_author": [subjects[1], subjects[3]], "to_lost": f"{repo}/list.txt", "to_list": f"{spot.home}/commits.txt",
        "git": f"{repo}/.git", "dropped": subjects[2], "version": f"v1.{spot.dice.randint(1, 9)}", "branch": f"for-{people[2].lower()}",
    }  # fmt: skip
    runs = (" && ".join(script),)
    first = (
        "@repo@ is a git repository on branch main with the commits @subjects@ (oldest first), of which @dropped@ takes list.txt away. "
        "In chapters.txt a change waits that is not committed. Its user is Keeper."
    )
    return World(values, _DEEDS, {}, runs, first, _INITIAL)


_GIT = """
def git(*words):
    return run("git", "--no-optional-locks", "-c", "safe.directory=*", "-C", @repo@, *words)[1]


"""
_INITIAL = f"""{_GIT}def test_history():
    assert git("log", "--reverse", "--format=%s").splitlines() == @subjects@, "the history is another"
    assert git("status", "--porcelain").split() == ["M", "chapters.txt"], "no change waits"
"""

_DEEDS = (
    Deed(
        "commit", "In @repo@ a change of chapters.txt waits: commit it on main, as the repository's own user, with the message `@subject@`.",
        "main has one commit more, `@subject@`, by Keeper, with the change of chapters.txt.", ("@git@",),
        _GIT.strip() + "\n\n\ndef test_change_is_committed():\n    assert git('log', '-1', '--format=%s by %an', 'main').strip() == @subject@ + ' by Keeper', 'the last commit is another'\n    assert git('show', 'main:chapters.txt') == @changed@, 'it holds something else'\n    assert len(git('log', '--reverse', '--format=%s').splitlines()) == len(@subjects@) + 1, 'there are more commits or fewer'",
        ("cd @repo@; git commit -q -m '@subject@' chapters.txt",),
    ),
    Deed(
        "tag", "The commit `@second@` of @repo@ is what we printed: give it the tag @version@.",
        "The tag @version@ stands on the commit `@second@`.", ("@git@",),
        _GIT.strip() + "\n\n\ndef test_tag_stands_where_it_should():\n    assert git('log', '-1', '--format=%s', @version@).strip() == @second@, 'there is no such tag, or on another commit'",
        ("cd @repo@; git tag @version@ $(git log --format='%H %s' | awk -v s='@second@' 'substr($0, 42) == s { print $1 }')",),
    ),
    Deed(
        "restore", "The file list.txt of @repo@ was dropped from the repository some time ago. Put it back, as it last was, to @to_lost@; you need not commit it.",
        "@to_lost@ holds:\n@lost@", ("@to_lost@", "@git@"),
        "def test_lost_file_is_back():\n    assert read(@to_lost@) == @lost@, 'it holds something else'",
        ("cd @repo@; git show \"$(git log --diff-filter=D --format=%h -1 -- list.txt)~1:list.txt\" >@to_lost@",),
    ),
    Deed(
        "authors", "Write the subjects of all commits that @author@ made on main in @repo@ into @to_list@, one a line, the oldest first.",
        "@to_list@ has the lines @of_author@.", ("@to_list@",),
        "def test_commits_of_one_author():\n    assert read(@to_list@).splitlines() == @of_author@, 'the list is another'",
        ("cd @repo@; git log main --reverse --author='^@author@ ' --format=%s >@to_list@",),
    ),
    Deed(
        "branch", "Make a branch @branch@ in @repo@ that begins at the very first commit of main, and stay on main.",
        "The branch @branch@ stands on the first commit; main is checked out.", ("@git@",),
        _GIT.strip() + "\n\n\ndef test_branch_begins_at_the_first_commit():\n    assert git('log', '--format=%s', @branch@).splitlines() == @subjects@[:1], 'it begins elsewhere'\n    assert git('symbolic-ref', '--short', 'HEAD').strip() == 'main', 'another branch is checked out'",
        ("cd @repo@; git branch @branch@ $(git rev-list --max-parents=0 main)",),
    ),
)  # fmt: skip
