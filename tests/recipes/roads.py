"""Roads through errands that no reference path takes: honest ones, which a test must let pass, and
short cuts, which it must not."""

from typing import NamedTuple


class Road(NamedTuple):
    """What somebody does who was asked for these deeds alone; `@slot@` is a value of the world."""

    category: str
    deeds: tuple[str, ...]
    command: str
    holds: bool


ROADS: dict[str, Road] = {
    "days by name": Road("cron_jobs", ("move",), "sed -i 's|^@old@ \\* \\* \\*|@new@ * * mon-fri|' @table@", True),
    "days one by one": Road("cron_jobs", ("move",), "sed -i 's|^@old@ \\* \\* \\*|@new@ * * 1,2,3,4,5|' @table@", True),
    "the mail is lost on the way": Road(
        "cron_jobs", ("move",), "sed -i 's|^@old@ \\* \\* \\*|@new@ * * 1-5|; \\|@mail@|d' @table@", False
    ),
    "the backup is moved on the way": Road(
        "cron_jobs", ("stop",), "sed -i '\\|@mail@|d; s|^@old@ \\* \\* \\*|@new@ * * 1-5|' @table@", False
    ),
    "a table with a head": Road(
        "cron_jobs", ("clean",), "printf '%s\\n' 'SHELL=/bin/sh' '45 23 * * Sat nobody /usr/local/bin/@word@-clean' "
">@clean_table@", True
    ),
    "a branch in place of a tag": Road(
        "git_repositories", ("tag",), "cd @repo@; git branch @version@ $(git log --format=%h --grep='^@second@$')", False
    ),
    "a tag with a message": Road(
        "git_repositories", ("tag",), "cd @repo@; git tag -a -m x @version@ $(git log --format=%h --grep='^@second@$')", True
    ),
    "a tag in place of a branch": Road(
        "git_repositories", ("branch",), "cd @repo@; git tag @branch@ $(git rev-list main | tail -1)", False,
    ),
    "what was lost is committed along": Road(
        "git_repositories", ("commit", "restore"),
        "cd @repo@; git checkout -q main~2 -- list.txt; git commit -q -a -m '@subject@'", False,
    ),
    "what was lost is checked out": Road(
        "git_repositories", ("restore",), "cd @repo@; git checkout -q $(git rev-list -1 main -- list.txt)~1 -- list.txt", True
    ),
    "keys for somebody else": Road(
        "permissions", ("keys",), "chown -R nobody @to_keys@; chmod 700 @to_keys@; chmod 600 @to_keys@/*", False,
    ),
    "tools that somebody else may change": Road(
        "permissions", ("tools",), "chmod 755 @to_tools@/*.sh; chown nobody @to_tools@/*.sh", False
    ),
    "the mean of the library": Road(
        "python_packages", ("mean",),
        "sed -i 's|return sum(values) / (len(values) - 1)|"
        "import statistics\\n    return statistics.mean(values) if values else 0|' @stats@",
        True,
    ),
    "another greeting on the way": Road(
        "services", ("port",), "sed -i 's/: @old@/: @new@/; s/hello/welcome/' @settings@; services restart @word@", False
    ),
    "a line that is not ended": Road(
        "services", ("items",), "sed -i 's/false/true/' @settings@; printf %s '@text@' >@item@; services restart "
"@word@", True
    ),
    "everything dearer by hand, and less of it": Road(
        "sqlite_databases", ("raise",), "sqlite3 @db@ \"UPDATE stock SET price = price + 25, quantity = 0 WHERE shelf = "
"'@kind@'\"", False
    ),
    "an index, and the prices gone": Road(
        "sqlite_databases", ("index",),
        "sqlite3 @db@ 'CREATE UNIQUE INDEX stock_by_name ON stock (name); UPDATE stock "
"SET price = 0'", False,
    ),
    "a Makefile of one target": Road("c_builds", ("clean",), "printf '.PHONY: clean\\nclean:\\n\\trm -f calc *.o\\n' >@make@", False),
    "clean comes first": Road(
        "c_builds", ("link", "clean"),
        "sed -i 's/^calc: main.o$/calc: main.o @shape@.o/; s/-o calc main.o$/-o calc main.o "
"@shape@.o/; "
        "1i .PHONY: clean\\nclean:\\n\\trm -f calc *.o\\n' @make@", False,
    ),
    "built where it stands": Road(
        "c_builds", ("link",),
        "sed -i 's/^calc: main.o$/calc: main.o @shape@.o/; s/-o calc main.o$/-o calc main.o "
"@shape@.o/' @make@; make -C @home@; "
        "@home@/calc 3 4", True,
    ),
    "all names what is built": Road(
        "c_builds", ("link", "flags"),
        "printf 'CC = gcc\\nCFLAGS = -Wall -O2\\nall: calc\\ncalc: main.o @shape@.o\\n\\t$(CC) -o "
"$@ $^\\n"
        "main.o: main.c @shape@.h version.h\\n@shape@.o: @shape@.c @shape@.h\\n' >@make@", True,
    ),
    "variables set to be exported": Road(
        "config_formats", ("shell",), "(echo set -a; sed 's/=\\(.*\\)/=\"\\1\"/' @env@; echo set +a) >@to_shell@", True
    ),
    "merged by Python": Road(
        "config_formats", ("merge",),
        "python3 -c 'import json; a, b = (json.load(open(p)) for p in (\"@base@\", \"@local@\")); "
        "print(json.dumps({**a, **{k: {**a[k], **v} if isinstance(v, dict) else v for k, v "
"in b.items()}}))' >@to_merged@", True,
    ),
    "merged at the top alone": Road("config_formats", ("merge",), "jq -s '.[0] + .[1]' @base@ @local@ >@to_merged@", False),
    "packed from within": Road("archives", ("pack",), "cd @home@; tar -cf - ./papers | gzip -9 >@to_pack@", True),
    "packed without its folder": Road("archives", ("pack",), "tar -C @home@/papers -czf @to_pack@ .", False),
    "the log is compressed and stays": Road("archives", ("shrink",), "xz -k @log@", False),
    "counted by the shell": Road(
        "log_analysis", ("statuses",),
        "cut -d' ' -f9 @log@ | sort | uniq -c | while read n s; do echo $s $n; done "
">@report@/status.txt", True
    ),
    "asked in the files": Road(
        "loopback_networking", ("names",), "jq -r '.[].name' @home@/data/@one@.json | LC_ALL=C sort >@out@/names.txt", True
    ),
    "the first page alone": Road(
        "loopback_networking", ("names",),
        "curl -s --retry 9 --retry-connrefused http://127.0.0.1:@one@/items | jq -r "
"'.items[].name' | sort >@out@/names.txt", False,
    ),
    "largest by du": Road(
        "disk_cleanup", ("largest",), "cd @media@; stat -c '%s %n' * | sort -rn | head -3 | cut -d' ' -f2 >@to_largest@", True
    ),
    "everything temporary is gone": Road("disk_cleanup", ("spool",), "find @spool@ -name '*tmp' -type f -delete", False),
    "the roster, once each, by Python": Road(
        "text_files", ("sort",),
        "python3 -c 'print(\"\".join(sorted(set(open(\"@roster@\")), key=str.encode)), "
"end=\"\")' >@to_sorted@", True,
    ),
    "cleaned by Python": Road(
        "data_cleaning", ("clean",),
        "python3 -c 'import csv, sys; r = list(csv.reader(open(\"@readings@\"))); w = "
"csv.writer(sys.stdout); w.writerow(r[0]); "
        "[w.writerow([c.strip() for c in x]) for x in r[1:] if x[2].strip().isdigit()]' "
">@to_clean@", True,
    ),
    "whatever is no number is gone": Road(
        "data_cleaning", ("clean",), "grep -E '^station|,[0-9]+$' @readings@ >@to_clean@", False
    ),
    "a script that splits names": Road(
        "shell_scripts", ("keep",),
        "printf '%s\\n' '#!/bin/bash' 'for f in $*; do cp -n $f $f.@suffix@ || exit 1; "
"done' >@keep@; chmod 755 @keep@", False,
    ),
    "a sum by a loop that is no child": Road(
        "shell_scripts", ("total",),
        "printf '%s\\n' '#!/bin/bash' 's=0; while read -ra c; do s=$((s + c[@column@ - "
"1])); done <\"$1\"; echo $s' >@total@", True,
    ),
}  # fmt: skip
