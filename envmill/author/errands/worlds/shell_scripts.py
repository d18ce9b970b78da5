"""World `shell_scripts`: a folder of scripts, of which some are wrong and some are not there yet."""

from envmill.author.errands.base import Deed, Spot, World


def make(spot: Spot) -> World:
    home, things = f"{spot.home}/bin", spot.pick("things", 4)
    column, suffix = spot.dice.choice([2, 3]), spot.dice.choice(["bak", "old", "keep"])
    files = {
        f"{home}/total": f"#!/bin/sh\n# total FILE: the sum of column {column}\nsum=0\ncut -d' ' -f{column} $1 | while read each; do\n    sum=$((sum + each))\ndone\necho $sum\n",
        f"{home}/sizes": '#!/bin/bash\n# sizes FOLDER: size and name of each file in it, by name\nfor each in $(ls $1); do\n    echo $(stat -c %s $1/$each) $each\ndone\n',
        f"{home}/README": f"Scripts for {things[0]} and {things[1]}.\n",
    }
    rows = "".join(f"{thing} {2 * number} {3 * number + 1}\n" for number, thing in enumerate(things, 1))
    values = {
        "home": home, "column": column, "suffix": suffix, "total": f"{home}/total", "sizes": f"{home}/sizes", "lines": f"{home}/lines",
        "keep": f"{home}/keep", "greet": f"{home}/ask", "rows": rows, "sum": sum((2 * n, 3 * n + 1)[column - 2] for n in range(1, 5)),
    }  # fmt: skip
    return World(values, _DEEDS, files, (f"chmod 755 {home}/total {home}/sizes",), "total and sizes are executable.", _INITIAL)


_INITIAL = """
def test_scripts_are_executable():
    assert all(Path(each).stat().st_mode & 0o111 for each in (@total@, @sizes@)), "a script does not run"
"""

_DEEDS = (
    Deed(
        "total", "@total@ should print the sum of column @column@ of a file (columns are parted by single blanks), and always prints 0. Mend it; the name of the file may hold blanks.",
        "@total@ prints the sum.", ("@total@",),
        "def test_total(tmp_path):\n    (tmp_path / 'a b').write_text(@rows@)\n    assert run(@total@, str(tmp_path / 'a b')) == (0, f'{@sum@}\\n'), 'it prints something else'\n    (tmp_path / 'one').write_text('x 5 5\\n')\n    assert run(@total@, str(tmp_path / 'one')) == (0, '5\\n'), 'it prints something else'",
        ("printf '%s\\n' '#!/bin/sh' '# total FILE: the sum of column @column@' 'cut -d\" \" -f@column@ \"$1\" | awk \"{ s += \\$1 } END { print s + 0 }\"' >@total@",),
    ),
    Deed(
        "sizes", "@sizes@ prints nonsense for a folder or for files with blanks in their names. Mend it: a line `SIZE NAME` for each file in the folder, by name, and for no other kind of thing.",
        "@sizes@ copes with blanks.", ("@sizes@",),
        "def test_sizes(tmp_path):\n    folder = tmp_path / 'a b'\n    (folder / 'below').mkdir(parents=True)\n    for name, text in (('c d', 'four'), ('plain', ''), ('z', '12')):\n        (folder / name).write_text(text)\n    assert run(@sizes@, str(folder)) == (0, '4 c d\\n0 plain\\n2 z\\n'), 'it prints something else'",
        ("printf '%s\\n' '#!/bin/bash' '# sizes FOLDER: size and name of each file in it, by name' 'for each in \"$1\"/*; do' '    [ -f \"$each\" ] && echo \"$(stat -c %s \"$each\") ${each##*/}\"' 'done' 'exit 0' >@sizes@",),
    ),
    Deed(
        "lines", "Write an executable script @lines@: given files it prints `COUNT NAME` for each, the number of its lines and the name as given, in the order given; a file that is not there is passed over, and the script then ends with 1. Without files it ends with 2.",
        "@lines@ counts lines.", ("@lines@",),
        "def test_lines(tmp_path):\n    (tmp_path / 'two').write_text('a\\nb\\n')\n    (tmp_path / 'no ne').write_text('')\n    assert run(@lines@, 'two', 'no ne', folder=str(tmp_path)) == (0, '2 two\\n0 no ne\\n'), 'it prints something else'\n    done = subprocess.run([@lines@, 'gone', 'two'], cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, timeout=20, check=False)\n    assert (done.returncode, done.stdout) == (1, '2 two\\n'), 'a file that is not there is not passed over'\n    assert run(@lines@)[0] == 2, 'without files it does not end with 2'",
        ("printf '%s\\n' '#!/bin/bash' '[ $# -gt 0 ] || exit 2' 'code=0' 'for each; do' '    [ -f \"$each\" ] || { code=1; continue; }' '    echo \"$(wc -l <\"$each\") $each\"' 'done' 'exit $code' >@lines@", "chmod 755 @lines@"),
    ),
    Deed(
        "keep", "Write an executable script @keep@ that copies each file it is given to the same name with `.@suffix@` behind it, and leaves alone, with exit code 1 at the end, what would overwrite something.",
        "@keep@ makes copies.", ("@keep@",),
        "def test_keep(tmp_path):\n    for name in ('a b', 'c', 'c.' + @suffix@):\n        (tmp_path / name).write_text(name)\n    assert run(@keep@, 'a b', folder=str(tmp_path))[0] == 0, 'it ends badly'\n    assert (tmp_path / ('a b.' + @suffix@)).read_text() == 'a b', 'there is no copy'\n    (tmp_path / 'd').write_text('d')\n    assert run(@keep@, 'c', 'd', folder=str(tmp_path))[0] == 1, 'it does not end with 1'\n    assert (tmp_path / ('c.' + @suffix@)).read_text() == 'c.' + @suffix@, 'it overwrites'\n    assert (tmp_path / ('d.' + @suffix@)).read_text() == 'd', 'the rest is not copied'",
        ("printf '%s\\n' '#!/bin/bash' 'code=0' 'for each; do' '    if [ -e \"$each.@suffix@\" ]; then code=1; else cp -- \"$each\" \"$each.@suffix@\" || code=1; fi' 'done' 'exit $code' >@keep@", "chmod 755 @keep@"),
    ),
)  # fmt: skip
