"""World `sqlite_databases`: a stock in one table."""

from offline.errands.base import ErrandWorld, WorldSite
from schemas.base import Json


def make(spot: WorldSite) -> ErrandWorld:
    dice, home = spot.dice, spot.home
    *things, extra = spot.pick("things", 11)
    kinds = spot.pick("teams", 3)
    rows: list[Json] = [
        [number, name, kinds[number % 3], dice.randint(2, 60), dice.randrange(120, 900, 5)]
        for number, name in enumerate(things, 1)
    ]
    rows[0][3], rows[1][3] = 3, 41
    low = [
        [name, quantity]
        for _, name, _, quantity, _ in sorted(rows, key=lambda row: row[1])
        if quantity < 12
    ]
    values: dict[str, Json] = {
        "db": f"{home}/stock.db",
        "home": home,
        "rows": rows,
        "low": low,
        "kind": kinds[1],
        "extra": extra,
        "kind_of_extra": kinds[0],
        "raised": [[row[0], row[4] + 25 * (row[2] == kinds[1])] for row in rows],
        "to_low": f"{home}/low.csv",
        "worth": sum(row[3] * 7 for row in rows if row[2] == kinds[2]),
        "kind_of_worth": kinds[2],
        "to_worth": f"{home}/points.txt",
    }
    inserts = "\n".join(
        f"INSERT INTO stock VALUES ({n}, '{name}', '{kind}', {quantity}, {price});"
        for n, name, kind, quantity, price in rows
    )
    schema = (
        "CREATE TABLE stock (id INTEGER PRIMARY KEY, name TEXT NOT NULL, shelf TEXT NOT NULL, "
        "quantity INTEGER, price INTEGER);"
    )
    runs = (f"sqlite3 {home}/stock.db <{home}/stock.sql",)
    return ErrandWorld(
        values,
        {f"{home}/stock.sql": f"{schema}\n{inserts}\n"},
        runs,
        "@db@ is a SQLite database made from stock.sql.",
        _INITIAL,
    )


_ASK = """
def ask(sql):
    import sqlite3

    connection = sqlite3.connect("file:" + @db@ + "?mode=ro&immutable=1", uri=True)
    try:
        return [list(row) for row in connection.execute(sql)]
    finally:
        connection.close()


"""
_INITIAL = (
    f"{_ASK}def test_stock():\n    assert ask('SELECT * FROM stock ORDER BY id') == @rows@, 'the "
    "rows are others'\n"
)
