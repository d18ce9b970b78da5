"""World `data_cleaning`: readings with gaps, visits with dates in another form."""

from envmill.author.errands.base import Deed, Spot, World


def make(spot: Spot) -> World:
    dice, home = spot.dice, spot.home
    stations = sorted(spot.pick("things", 3))
    rows = [[dice.choice(stations), f"2026-03-{day:02}", str(dice.randint(40, 400))] for day in range(1, 29)]
    rows[2][2], rows[5][2], rows[11][2], rows[17][2] = "n/a", "", "-", f" {rows[17][2]} "
    good = [[each.strip() for each in row] for row in rows if row[2].strip().isdigit()]
    visits = [[name, f"{dice.randint(1, 28):02}.{dice.randint(1, 12):02}.2025"] for name in spot.pick("people", 8)]
    iso = sorted((f"{when[6:]}-{when[3:5]}-{when[:2]}", name) for name, when in visits)
    best = {name: max(int(row[2]) for row in good if row[0] == name) for name in sorted({row[0] for row in good})}
    values = {
        "home": home, "readings": f"{home}/readings.csv", "visits": f"{home}/visits.csv", "good": good, "iso": [list(each) for each in iso], "best": best,
        "sum": sum(int(row[2]) for row in good), "bad": [row[1] for row in rows if not row[2].strip().isdigit()],
        "to_clean": f"{home}/clean.csv", "to_best": f"{home}/highest.csv", "to_iso": f"{home}/visits-by-date.csv", "to_sum": f"{home}/sum.txt",
        "to_bad": f"{home}/gaps.txt",
    }  # fmt: skip
    files = {
        f"{home}/readings.csv": "station,day,value\n" + "".join(",".join(row) + "\n" for row in rows),
        f"{home}/visits.csv": "name;date\n" + "".join(";".join(row) + "\n" for row in visits),
    }
    return World(values, _DEEDS, files)


def _test(name: str, file: str, header: str, rows: str) -> str:
    return (
        f"def test_{name}():\n    rows = [line.split(',') for line in read({file}).splitlines()]\n"
        f"    assert rows == [{header!r}.split(','), *{rows}], 'the table is another'"
    )


_VALUES = "awk -F, 'NR > 1 { v = $3; gsub(/ /, \"\", v); if (v ~ /^[0-9]+$/) print $1 \",\" $2 \",\" v }' @readings@"

_DEEDS = (
    Deed(
        "clean", "Make @to_clean@ of @readings@: the same header and rows in the same order, without the rows whose value is no whole number, and without blanks around values.",
        "@to_clean@ has the rows @good@ under the header.", ("@to_clean@",), _test("readings_are_clean", "@to_clean@", "station,day,value", "@good@"),
        (f"(head -1 @readings@; {_VALUES}) >@to_clean@",),
    ),
    Deed(
        "best", "What is the highest value of each station in @readings@? Write CSV with the header `station,highest` to @to_best@, in the order of stations. Some values are no numbers: pass over them, but not over those with blanks around them.",
        "@to_best@ has the rows @best@ under the header.", ("@to_best@",), _test("highest_of_each", "@to_best@", "station,highest", "([name, str(value)] for name, value in @best@.items())"),
        (f"(echo station,highest; {_VALUES} | awk -F, '$3 > m[$1] {{ m[$1] = $3 }} END {{ for (s in m) print s \",\" m[s] }}' | LC_ALL=C sort) >@to_best@",),
    ),
    Deed(
        "dates", "The dates in @visits@ are written day.month.year. Write the visits to @to_iso@ as CSV with the header `date,name`, dates like 2025-12-31, the earliest first, and by name where two are on one day.",
        "@to_iso@ has the rows @iso@ under the header.", ("@to_iso@",), _test("visits_by_date", "@to_iso@", "date,name", "@iso@"),
        ("(echo date,name; awk -F'[;.]' 'NR > 1 { print $4 \"-\" $3 \"-\" $2 \",\" $1 }' @visits@ | LC_ALL=C sort) >@to_iso@",),
    ),
    Deed(
        "sum", "Add up all values of @readings@ that are whole numbers, those with blanks around them too, and write the sum to @to_sum@.",
        "@to_sum@ holds @sum@.", ("@to_sum@",),
        "def test_sum():\n    assert read(@to_sum@).strip() == str(@sum@), 'that is not the sum'",
        (f"{_VALUES} | awk -F, '{{ s += $3 }} END {{ print s }}' >@to_sum@",), ("@sum@",),
    ),
    Deed(
        "gaps", "On which days is there no value, or none that is a whole number, in @readings@? List the days in @to_bad@, one a line, in the order of the file; blanks around a value do not matter.",
        "@to_bad@ has the lines @bad@.", ("@to_bad@",),
        "def test_gaps():\n    assert read(@to_bad@).split() == @bad@, 'the days are others'",
        ("awk -F, 'NR > 1 { v = $3; gsub(/ /, \"\", v); if (v !~ /^[0-9]+$/) print $2 }' @readings@ >@to_bad@",),
    ),
)  # fmt: skip
