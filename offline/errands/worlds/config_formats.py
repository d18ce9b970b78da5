"""World `config_formats`: settings in JSON, INI, CSV and as variables."""

import json

from offline.errands.base import ErrandWorld, WorldSite
from schemas.base import Json


def make(spot: WorldSite) -> ErrandWorld:
    dice, home = spot.dice, spot.home
    people, things = spot.pick("people", 4), spot.pick("things", 6)
    base: dict[str, Json] = {
        "title": spot.folder,
        "limits": {"most": dice.randint(20, 60), "days": 14},
        "mail": {"to": people[0].lower(), "on": False},
    }
    local = {"limits": {"days": 28}, "mail": {"on": True}, "colour": things[0]}
    merged: Json = base | {
        "limits": {**base["limits"], "days": 28},
        "mail": {"to": people[0].lower(), "on": True},
        "colour": things[0],
    }
    sections = {
        name: {"size": str(dice.randint(2, 40)), "keeper": people[place + 1]}
        for place, name in enumerate(things[1:4])
    }
    variables = {
        "NAME": f"The {spot.folder}",
        "DAYS": "14",
        "KEEPER": people[1],
        "AREA": "north side",
    }
    rows = [[thing, str(dice.randint(1, 30))] for thing in things]
    values: dict[str, Json] = {
        "home": home,
        "base": f"{home}/base.json",
        "local": f"{home}/local.json",
        "ini": f"{home}/things.ini",
        "env": f"{home}/site.env",
        "csv": f"{home}/stock.csv",
        "to_merged": f"{home}/settings.json",
        "to_json": f"{home}/things.json",
        "to_shell": f"{home}/site.sh",
        "to_lines": f"{home}/stock.jsonl",
        "merged": merged,
        "sections": sections,
        "variables": variables,
        "rows": [{"name": name, "count": int(count)} for name, count in rows],
    }
    files = {
        f"{home}/base.json": json.dumps(base, indent=2) + "\n",
        f"{home}/local.json": json.dumps(local, indent=2) + "\n",
        f"{home}/things.ini": "\n".join(
            _write_section(name, each) for name, each in sections.items()
        ),
        f"{home}/site.env": "".join(f"{name}={value}\n" for name, value in variables.items()),
        f"{home}/stock.csv": "name,count\n" + "".join(",".join(row) + "\n" for row in rows),
    }
    return ErrandWorld(values, files)


def _write_section(name: str, told: dict[str, str]) -> str:
    return f"[{name}]\n" + "".join(f"{key} = {value}\n" for key, value in told.items())
