"""World `text_files`: a roster with lines twice, a notice, minutes in pieces, a memo from another system."""

from envmill.author.errands.base import Deed, Spot, World


def make(spot: Spot) -> World:
    dice, home = spot.dice, spot.home
    people, teams = spot.pick("people", 9), spot.pick("teams", 3)
    lines = [f"{name};{dice.choice(teams)};{dice.randint(11, 48)}" for name in people]
    roster = [*lines, *dice.sample(lines, 3)]
    dice.shuffle(roster)
    old, new = spot.pick("nouns", 2)
    notice = "".join(f"{name} has {verb} the {old}.\n" for name, verb in zip(people, spot.pick("verbs", 5), strict=False))
    minutes = {f"{number:02}.txt": f"{name} spoke of the {thing}.\n" for number, (name, thing) in enumerate(zip(people, spot.pick("things", 4), strict=False), 1)}  # fmt: skip
    memo = "".join(f"{number}. {thing}\r\n" for number, thing in enumerate(spot.pick("things", 5), 1))
    joined = "".join(f"== {name}\n{text}" for name, text in minutes.items())
    values = {
        "home": home, "old": old, "new": new, "sorted": "".join(f"{each}\n" for each in sorted(set(lines))),
        "notice": notice.replace(old, new), "joined": joined, "memo": memo.replace("\r", ""),
        "total": sum(int(each.split(";")[2]) for each in lines), "roster": f"{home}/roster.txt",
        "to_sorted": f"{home}/roster.sorted", "to_notice": f"{home}/notice.txt", "to_joined": f"{home}/minutes.txt",
        "to_memo": f"{home}/memo.txt", "to_total": f"{home}/total.txt",
    }  # fmt: skip
    files = {f"{home}/roster.txt": "".join(f"{each}\n" for each in roster), f"{home}/notice.txt": notice, f"{home}/memo.txt": memo}
    files |= {f"{home}/minutes/{name}": text for name, text in minutes.items()}
    return World(values, _DEEDS, files)


_DEEDS = (
    Deed(
        "sort", "In @roster@ some people stand twice. Put its lines into @to_sorted@, in the order of their bytes, each once.",
        "@to_sorted@ holds:\n@sorted@", ("@to_sorted@",),
        'def test_roster_is_sorted():\n    assert read(@to_sorted@) == @sorted@, "the lines are others or in another order"',
        ("LC_ALL=C sort -u @roster@ >@to_sorted@",),
    ),
    Deed(
        "rename", "The @old@ is called @new@ from now on: say so wherever it stands in @to_notice@, and leave the rest of the words there alone.",
        "@to_notice@ holds:\n@notice@", ("@to_notice@",),
        'def test_notice_has_the_new_name():\n    assert read(@to_notice@) == @notice@, "the notice reads otherwise"',
        ("sed -i 's/@old@/@new@/g' @to_notice@",),
    ),
    Deed(
        "join", "Make one file, @to_joined@, of the pieces in @home@/minutes, by their names, and put a line `== ` with the name of the file, like `== 01.txt`, before each.",
        "@to_joined@ holds:\n@joined@", ("@to_joined@",),
        'def test_minutes_are_joined():\n    assert read(@to_joined@) == @joined@, "the minutes read otherwise"',
        ("cd @home@/minutes; for each in *.txt; do echo \"== $each\"; cat \"$each\"; done >@to_joined@",),
    ),
    Deed(
        "unix", "The file @to_memo@ came from another system: its lines must end with a line feed alone.",
        "@to_memo@ holds the same lines without carriage returns.", ("@to_memo@",),
        'def test_memo_has_plain_line_ends():\n    assert Path(@to_memo@).read_bytes() == @memo@.encode(), "the memo is another"',
        ("sed -i 's/\\r$//' @to_memo@",),
    ),
    Deed(
        "total", "Every line of @roster@ is `name;team;hours`, and a line that comes twice counts once. Write the sum of the hours, nothing else, into @to_total@.",
        "@to_total@ holds @total@.", ("@to_total@",),
        'def test_total_of_hours():\n    assert read(@to_total@).strip() == str(@total@), "that is not the sum"',
        ("sort -u @roster@ | awk -F';' '{ sum += $3 } END { print sum }' >@to_total@",), ("@total@",),
    ),
)  # fmt: skip
