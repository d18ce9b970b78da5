"""World `text_files`: a roster with lines twice, a notice, minutes in pieces, a memo from another
system."""

from offline.errands.base import ErrandWorld, WorldSite
from schemas.base import Json


def make(spot: WorldSite) -> ErrandWorld:
    dice, home = spot.dice, spot.home
    people, teams = spot.pick("people", 9), spot.pick("teams", 3)
    lines = [f"{name};{dice.choice(teams)};{dice.randint(11, 48)}" for name in people]
    roster = [*lines, *dice.sample(lines, 3)]
    dice.shuffle(roster)
    old, new = spot.pick("nouns", 2)
    notice = "".join(
        f"{name} has {verb} the {old}.\n"
        for name, verb in zip(people, spot.pick("verbs", 5), strict=False)
    )
    minutes = {
        f"{number:02}.txt": f"{name} spoke of the {thing}.\n"
        for number, (name, thing) in enumerate(zip(people, spot.pick("things", 4), strict=False), 1)
    }
    memo = "".join(
        f"{number}. {thing}\r\n" for number, thing in enumerate(spot.pick("things", 5), 1)
    )
    joined = "".join(f"== {name}\n{text}" for name, text in minutes.items())
    values: dict[str, Json] = {
        "home": home,
        "old": old,
        "new": new,
        "sorted": "".join(f"{each}\n" for each in sorted(set(lines))),
        "notice": notice.replace(old, new),
        "joined": joined,
        "memo": memo.replace("\r", ""),
        "total": sum(int(each.split(";")[2]) for each in lines),
        "roster": f"{home}/roster.txt",
        "to_sorted": f"{home}/roster.sorted",
        "to_notice": f"{home}/notice.txt",
        "to_joined": f"{home}/minutes.txt",
        "to_memo": f"{home}/memo.txt",
        "to_total": f"{home}/total.txt",
    }
    files = {
        f"{home}/roster.txt": "".join(f"{each}\n" for each in roster),
        f"{home}/notice.txt": notice,
        f"{home}/memo.txt": memo,
    }
    files |= {f"{home}/minutes/{name}": text for name, text in minutes.items()}
    return ErrandWorld(values, files)
