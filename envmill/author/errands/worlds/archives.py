"""World `archives`: papers to pack, an old archive to look into, a long log."""

import hashlib

from envmill.author.errands.base import Deed, Spot, World


def make(spot: Spot) -> World:
    home, things = spot.home, sorted(spot.pick("things", 7))
    papers = {f"papers/{name}.txt": f"On the {name}.\n{spot.dice.randint(1000, 9999)}\n" for name in things[:4]}
    old = {f"old/{name}.txt": f"Once there was a {name}.\n" for name in things[4:]}
    year = "".join(f"2026-01-{day:02} {spot.dice.choice(things)}\n" for day in range(1, 29))
    values = {
        "home": home, "papers": papers, "old": sorted(old), "member": sorted(old)[1], "text": old[sorted(old)[1]], "year": year,
        "sums": {hashlib.sha256(text.encode()).hexdigest(): name for name, text in papers.items()},
        "to_pack": f"{home}/papers.tar.gz", "to_sums": f"{home}/SHA256SUMS", "to_member": f"{home}/found.txt",
        "to_list": f"{home}/old.list", "archive": f"{home}/old.tar.gz", "to_year": f"{home}/year.log.xz", "log": f"{home}/year.log",
    }  # fmt: skip
    files = {f"{home}/{name}": text for name, text in (papers | old).items()} | {f"{home}/year.log": year}
    runs = (f"cd {home} && tar --sort=name --mtime=@0 -czf old.tar.gz old && rm -r old",)
    first = f"{home}/old.tar.gz holds the folder old with @old@; that folder itself is not there any more."
    return World(values, _DEEDS, files, runs, first, _INITIAL, gone=tuple(f"{home}/{name}" for name in old))


_INITIAL = """
def test_old_archive():
    assert run("tar", "-tzf", @archive@)[1].split() == ["old/", *@old@], "the archive holds something else"
"""

_DEEDS = (
    Deed(
        "pack", "Pack the folder @home@/papers into @to_pack@, a tar archive compressed by gzip, so that unpacking it makes a folder `papers`. The folder itself stays.",
        "@to_pack@ holds papers/ with its files.", ("@to_pack@",),
        "def test_papers_are_packed():\n    import tarfile\n\n    with tarfile.open(@to_pack@, 'r:gz') as archive:\n        held = {each.name: archive.extractfile(each).read().decode() for each in archive if each.isfile()}\n    assert {name.removeprefix('./'): text for name, text in held.items()} == @papers@, 'it holds something else'",
        ("tar -C @home@ -czf @to_pack@ papers",),
    ),
    Deed(
        "sums", "Write the SHA-256 sums of the files in @home@/papers to @to_sums@, so that `sha256sum -c SHA256SUMS` in @home@ says that all are well: names like `papers/...`.",
        "@to_sums@ has a line for each paper.", ("@to_sums@",),
        "def test_sums():\n    lines = [line.split() for line in read(@to_sums@).splitlines() if line.strip()]\n    assert {first: name.lstrip('*') for first, name in lines} == @sums@, 'the sums are others'\n    assert run('sha256sum', '-c', 'SHA256SUMS', folder=@home@)[0] == 0, 'they are not right'",
        ("cd @home@; sha256sum papers/*.txt >SHA256SUMS",),
    ),
    Deed(
        "find", "I need one file out of @archive@: its `@member@`. Put it to @to_member@; unpack nothing else.",
        "@to_member@ holds:\n@text@", ("@to_member@",),
        "def test_one_file_is_unpacked():\n    assert read(@to_member@) == @text@, 'it holds something else'",
        ("tar -xzOf @archive@ @member@ >@to_member@",),
    ),
    Deed(
        "list", "Which files are in @archive@? List their names as they stand in it in @to_list@, one a line, sorted, without folders.",
        "@to_list@ has the lines @old@.", ("@to_list@",),
        "def test_list_of_the_archive():\n    assert read(@to_list@).splitlines() == @old@, 'the list is another'",
        ("tar -tzf @archive@ | grep -v '/$' | LC_ALL=C sort >@to_list@",),
    ),
    Deed(
        "shrink", "The log @log@ is only kept: make @to_year@ of it, compressed by xz, and take the uncompressed file away.",
        "@to_year@ holds the log; @log@ is gone.", ("@to_year@", "@log@"),
        "def test_log_is_compressed():\n    import lzma\n\n    assert lzma.decompress(Path(@to_year@).read_bytes()).decode() == @year@, 'it holds something else'\n    assert not Path(@log@).exists(), 'the uncompressed one is still there'",
        ("xz @log@",),
    ),
)  # fmt: skip
