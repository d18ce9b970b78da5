"""World `cron_jobs`: a table of the system's scheduler with three entries, and scripts."""

from envmill.author.errands.base import Deed, Spot, World


def make(spot: Spot) -> World:
    dice, word = spot.dice, spot.folder
    table, home = f"/etc/cron.d/{word}", spot.home
    old, new = (f"{dice.randrange(2, 58)} {hour}" for hour in dice.sample(range(1, 6), 2))
    entries = [f"{old} * * * root /usr/local/bin/{word}-backup", f"*/15 * * * * nobody /usr/local/bin/{word}-report", f"30 7 * * 1 root /usr/local/bin/{word}-mail"]  # fmt: skip
    values = {
        "table": table, "word": word, "old": old, "new": new, "hour": f"{int(new.split()[1]):02}:{int(new.split()[0]):02}",
        "entries": entries, "moved": f"{new} * * 1-5 root /usr/local/bin/{word}-backup", "backup": f"/usr/local/bin/{word}-backup",
        "mail": f"/usr/local/bin/{word}-mail", "report": entries[1], "clean_table": f"/etc/cron.d/{word}-clean",
        "clean": ["45", "23", "*", "*", "6", "nobody", f"/usr/local/bin/{word}-clean"], "count": f"/usr/local/bin/{word}-count",
        "inbox": f"{home}/inbox", "quiet": "MAILTO=\"\"",
    }  # fmt: skip
    files = {table: "\n".join(["SHELL=/bin/sh", "PATH=/usr/sbin:/usr/bin:/sbin:/bin", *entries, ""])}
    files |= {f"/usr/local/bin/{word}-{name}": f"#!/bin/sh\necho {name}\n" for name in ("backup", "report", "mail", "clean")}
    files |= {f"{home}/inbox/{thing}.txt": "new\n" for thing in spot.pick("things", 4)}
    return World(values, _DEEDS, files, (f"chmod 755 /usr/local/bin/{word}-*",), "The scripts are executable.", _INITIAL)


_INITIAL = """
def test_scripts_run():
    assert run(@backup@) == (0, "backup\\n"), "the script does not run"
"""
_ENTRIES = """    lines = [line.strip() for line in read(@table@).splitlines() if line.strip() and not line.strip().startswith("#")]
    entries = [" ".join(line.split()) for line in lines]
    assert @report@ in entries, "the report's entry is gone"
"""

_DEEDS = (
    Deed(
        "move", "The backup in @table@ (@backup@) should run at @hour@ from Monday to Friday, and at no other time. The other entries of that table stay.",
        "@table@ has the entry `@moved@` in place of the one before.", ("@table@",),
        "def test_backup_runs_at_another_time():\n" + _ENTRIES + "    assert [each for each in entries if @backup@ in each] == [@moved@], 'the entry is another'",
        ("sed -i 's|^@old@ \\* \\* \\* root @backup@$|@new@ * * 1-5 root @backup@|' @table@",),
    ),
    Deed(
        "stop", "The entry for @mail@ in @table@ has to stop: take it out, or make a comment of it. The other entries of that table stay.",
        "@table@ has no active entry for @mail@.", ("@table@",),
        "def test_no_mail_is_sent():\n" + _ENTRIES + "    assert not [each for each in entries if @mail@ in each], 'it is still sent'\n    assert [each for each in entries if @backup@ in each], 'the backup is gone'",
        ("sed -i '\\|@mail@|d' @table@",),
    ),
    Deed(
        "clean", "Have cron run /usr/local/bin/@word@-clean as user nobody at 23:45 on Saturdays, by a table of its own, @clean_table@, that belongs to root, has mode 644, and holds that one entry.",
        "@clean_table@ holds the entry @clean@.", ("@clean_table@",),
        "def test_cleaning_is_scheduled():\n    path = Path(@clean_table@)\n    entries = [line.split() for line in read(path).splitlines() if re.match(r'[\\d*]', line.strip())]\n    assert [each[:4] + [{'sat': '6'}.get(each[4].lower(), each[4])] + each[5:] for each in entries] == [@clean@], 'the entry is another'\n    assert (path.owner(), oct(path.stat().st_mode)[-3:]) == ('root', '644'), 'owner or mode is another'\n    assert path.read_bytes().endswith(b'\\n'), 'cron passes over a last line that is not ended'",
        ("echo '45 23 * * 6 nobody /usr/local/bin/@word@-clean' >@clean_table@; chmod 644 @clean_table@",),
    ),
    Deed(
        "count", "Write a program @count@ that everybody may run. It is given a folder, and prints how many files (no folders) are in it, not counting those below; without a folder it ends with 2.",
        "@count@ prints how many files a folder holds.", ("@count@",),
        "def test_counting(tmp_path):\n    assert run(@count@, @inbox@) == (0, '4\\n'), 'it counts otherwise'\n    (tmp_path / 'below').mkdir()\n    (tmp_path / 'below' / 'one').write_text('')\n    (tmp_path / 'with a blank').write_text('')\n    assert run(@count@, str(tmp_path)) == (0, '1\\n'), 'it counts otherwise'\n    assert run(@count@)[0] == 2, 'without a folder it does not end with 2'\n    assert Path(@count@).stat().st_mode & 0o005 == 0o005, 'not everybody may run it'",
        ("printf '%s\\n' '#!/bin/sh' '[ -n \"$1\" ] || exit 2' 'find \"$1\" -maxdepth 1 -type f -printf x | wc -c' >@count@", "chmod 755 @count@"),
    ),
)  # fmt: skip
