"""A recipe is followed as a builder would follow it, or says why it cannot be."""

import pytest

from envmill.interop.harbor.recipe import CopyFiles, RunCommand, read_recipe
from envmill.interop.harbor.tree import FolderFile

CONTEXT = {
    "app/a.py": FolderFile(b"a"),
    "app/sub/b.py": FolderFile(b"b"),
    "one.txt": FolderFile(b"1"),
    "two.txt": FolderFile(b"2"),
}


def follow(*lines: str) -> list[CopyFiles | RunCommand]:
    recipe = read_recipe("\n".join(["FROM envmill/base:1", *lines]), CONTEXT)
    assert recipe.faults == []
    return recipe.steps


@pytest.mark.parametrize(
    ("line", "lands"),
    [
        pytest.param("COPY one.txt /srv/", {"/srv/one.txt"}, id="file-into"),
        pytest.param("COPY one.txt /srv/x", {"/srv/x"}, id="file-as"),
        pytest.param("COPY app /srv", {"/srv/a.py", "/srv/sub/b.py"}, id="folder"),
        pytest.param("COPY app/ /", {"/a.py", "/sub/b.py"}, id="folder-to-root"),
        pytest.param("COPY *.txt /srv/", {"/srv/one.txt", "/srv/two.txt"}, id="pattern"),
        pytest.param(
            'COPY ["one.txt", "two.txt", "/srv/"]', {"/srv/one.txt", "/srv/two.txt"}, id="list"
        ),
        pytest.param(
            "COPY . /x",
            {"/x/app/a.py", "/x/app/sub/b.py", "/x/one.txt", "/x/two.txt"},
            id="everything",
        ),
    ],
)
def test_files_land_where_a_builder_puts_them(line: str, lands: set[str]) -> None:
    (step,) = follow(line)
    assert isinstance(step, CopyFiles)
    assert set(step.files) == lands


def test_variables_folders_and_users_hold_for_what_follows() -> None:
    made, run, told = follow(
        "ARG at=/srv",
        "ENV NAME=deep WHO=me",
        "WORKDIR $at",
        "USER nobody",
        "RUN a && \\\n  b # c",
        'RUN ["x", "$NAME"]',
    )
    assert made == RunCommand(("mkdir", "-p", "/srv"), "/", "root", {})
    assert isinstance(run, RunCommand)
    assert (run.words[:2], run.folder, run.user) == (("/bin/sh", "-c"), "/srv", "nobody")
    assert run.variables["NAME"] == "deep"
    assert isinstance(told, RunCommand)
    assert told.words == ("x", "$NAME")


@pytest.mark.parametrize(
    ("line", "says"),
    [
        pytest.param("COPY ../../etc /x", "no file or folder of the recipe's own", id="up"),
        pytest.param("COPY absent /x", "no file or folder of the recipe's own", id="absent"),
        pytest.param("COPY --from=other /a /b", "BuildKit", id="stage"),
        pytest.param("ADD https://a.org/x /x", "ADD", id="add"),
        pytest.param("RUN apt-get update", "network", id="network"),
        pytest.param("ENTRYPOINT x", "ENTRYPOINT", id="entrypoint"),
    ],
)
def test_what_cannot_be_followed_is_told(line: str, says: str) -> None:
    assert says in read_recipe(f"FROM envmill/base:1\n{line}\n", CONTEXT).faults[0]
