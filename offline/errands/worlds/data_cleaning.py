"""World `data_cleaning`: readings with gaps, visits with dates in another form."""

from offline.errands.base import ErrandWorld, WorldSite
from schemas.base import Json


def make(spot: WorldSite) -> ErrandWorld:
    dice, home = spot.dice, spot.home
    stations = sorted(spot.pick("teams", 3))
    rows = [
        [dice.choice(stations), f"2026-03-{day:02}", str(dice.randint(40, 400))]
        for day in range(1, 29)
    ]
    rows[2][2], rows[5][2], rows[11][2], rows[17][2] = "n/a", "", "-", f" {rows[17][2]} "
    good = [[each.strip() for each in row] for row in rows if row[2].strip().isdigit()]
    visits = [
        [name, f"{dice.randint(1, 28):02}.{dice.randint(1, 12):02}.2025"]
        for name in spot.pick("people", 8)
    ]
    iso = sorted((f"{when[6:]}-{when[3:5]}-{when[:2]}", name) for name, when in visits)
    best = {
        name: max(int(row[2]) for row in good if row[0] == name)
        for name in sorted({row[0] for row in good})
    }
    values: dict[str, Json] = {
        "home": home,
        "readings": f"{home}/readings.csv",
        "visits": f"{home}/visits.csv",
        "good": good,
        "iso": [list(each) for each in iso],
        "best": best,
        "sum": sum(int(row[2]) for row in good),
        "bad": [row[1] for row in rows if not row[2].strip().isdigit()],
        "to_clean": f"{home}/clean.csv",
        "to_best": f"{home}/highest.csv",
        "to_iso": f"{home}/visits-by-date.csv",
        "to_sum": f"{home}/sum.txt",
        "to_bad": f"{home}/gaps.txt",
    }
    files = {
        f"{home}/readings.csv": "station,day,value\n"
        + "".join(",".join(row) + "\n" for row in rows),
        f"{home}/visits.csv": "name;date\n" + "".join(";".join(row) + "\n" for row in visits),
    }
    return ErrandWorld(values, files)
