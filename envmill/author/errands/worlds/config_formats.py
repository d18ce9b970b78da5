"""World `config_formats`: settings in JSON, INI, CSV and as variables."""

import json

from envmill.author.errands.base import Deed, Spot, World


def make(spot: Spot) -> World:
    dice, home = spot.dice, spot.home
    people, things = spot.pick("people", 4), spot.pick("things", 6)
    base = {"title": spot.folder, "limits": {"most": dice.randint(20, 60), "days": 14}, "mail": {"to": people[0].lower(), "on": False}}
    local = {"limits": {"days": 28}, "mail": {"on": True}, "colour": things[0]}
    merged = base | {"limits": {**base["limits"], "days": 28}, "mail": {"to": people[0].lower(), "on": True}, "colour": things[0]}
    sections = {name: {"size": str(dice.randint(2, 40)), "keeper": people[place + 1]} for place, name in enumerate(things[1:4])}
    most = base["limits"]["most"] + 15
    variables = {"NAME": f"The {spot.folder}", "DAYS": "14", "KEEPER": people[1], "AREA": "north side"}
    rows = [[thing, str(dice.randint(1, 30))] for thing in things]
    values = {
        "home": home, "base": f"{home}/base.json", "local": f"{home}/local.json", "ini": f"{home}/things.ini", "env": f"{home}/site.env",
        "csv": f"{home}/stock.csv", "to_merged": f"{home}/settings.json", "to_json": f"{home}/things.json", "to_shell": f"{home}/site.sh",
        "to_lines": f"{home}/stock.jsonl", "most": most, "merged": merged, "sections": sections, "variables": variables,
        "changed": base | {"limits": {"most": most, "days": 14}}, "before": base["limits"]["most"],
        "rows": [{"name": name, "count": int(count)} for name, count in rows],
    }  # fmt: skip
    ini = "\n".join(f"[{name}]\n" + "\n".join(f"{key} = {value}" for key, value in each.items()) + "\n" for name, each in sections.items())
    files = {
        f"{home}/base.json": json.dumps(base, indent=2) + "\n",
        f"{home}/local.json": json.dumps(local, indent=2) + "\n",
        f"{home}/things.ini": ini,
        f"{home}/site.env": "".join(f"{name}={value}\n" for name, value in variables.items()),
        f"{home}/stock.csv": "name,count\n" + "".join(",".join(row) + "\n" for row in rows),
    }
    return World(values, _DEEDS, files)


_DEEDS = (
    Deed(
        "merge", "Merge @base@ and @local@ into @to_merged@, as JSON: where both say something @local@ counts, in objects below the top as well. Let both files be as they are.",
        "@to_merged@ is @merged@.", ("@to_merged@",),
        "def test_settings_are_merged():\n    assert json.loads(read(@to_merged@)) == @merged@, 'the settings are others'",
        ("jq -s '.[0] * .[1]' @base@ @local@ >@to_merged@",),
    ),
    Deed(
        "json", "Turn @ini@ into JSON, in @to_json@: an object for each section, its values texts as they stand there.",
        "@to_json@ is @sections@.", ("@to_json@",),
        "def test_sections_in_json():\n    assert json.loads(read(@to_json@)) == @sections@, 'it says something else'",
        ("python3 -c 'import configparser, json; c = configparser.ConfigParser(); c.read(\"@ini@\"); print(json.dumps({s: dict(c[s]) for s in c.sections()}))' >@to_json@",),
    ),
    Deed(
        "shell", "Make a script @to_shell@ out of @env@ that a shell can read in by `.`: afterwards every variable there has its value, blanks included, and is exported.",
        "@to_shell@ exports @variables@.", ("@to_shell@",),
        "def test_shell_reads_them():\n    for name, value in @variables@.items():\n        assert run('sh', '-c', f'. \"$0\"; printenv {name}', @to_shell@) == (0, value + '\\n'), f'{name} is another'",
        ("sed \"s/^\\([A-Z]*\\)=\\(.*\\)$/export \\1='\\2'/\" @env@ >@to_shell@",),
    ),
    Deed(
        "lines", "From the table @csv@ make @to_lines@: one JSON object a line, in the same order, with `name` as a text and `count` as a number.",
        "@to_lines@ has the objects @rows@.", ("@to_lines@",),
        "def test_one_object_a_line():\n    assert [json.loads(line) for line in read(@to_lines@).splitlines()] == @rows@, 'they say something else'",
        ("tail -n +2 @csv@ | awk -F, '{ printf \"{\\\"name\\\": \\\"%s\\\", \\\"count\\\": %d}\\n\", $1, $2 }' >@to_lines@",),
    ),
    Deed(
        "indent", "Write a second shape of @ini@, @home@/things.csv: the header `name,size,keeper`, then a line for each section, in the order of the file.",
        "@home@/things.csv has a line for each of @sections@.", ("@home@/things.csv",),
        "def test_sections_as_a_table():\n    rows = [line.split(',') for line in read(@home@ + '/things.csv').splitlines()]\n    assert rows == [['name', 'size', 'keeper'], *([name, each['size'], each['keeper']] for name, each in @sections@.items())], 'the table is another'",
        ("awk 'BEGIN { print \"name,size,keeper\" } /^\\[/ { n = substr($0, 2, length($0) - 2) } /^size/ { s = $3 } /^keeper/ { print n \",\" s \",\" $3 }' @ini@ >@home@/things.csv",),
    ),
)  # fmt: skip
