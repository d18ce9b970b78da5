"""World `sqlite_databases`: a stock in one table."""

from envmill.author.errands.base import Deed, Spot, World


def make(spot: Spot) -> World:
    dice, home = spot.dice, spot.home
    *things, extra = spot.pick("things", 11)
    kinds = spot.pick("teams", 3)
    rows = [[number, name, kinds[number % 3], dice.randint(2, 60), dice.randrange(120, 900, 5)] for number, name in enumerate(things, 1)]
    rows[0][3], rows[1][3] = 3, 41
    low = [[name, quantity] for _, name, _, quantity, _ in sorted(rows, key=lambda row: row[1]) if quantity < 12]
    values = {
        "db": f"{home}/stock.db", "home": home, "rows": rows, "low": low, "kind": kinds[1], "extra": extra, "kind_of_extra": kinds[0],
        "raised": [[row[0], row[4] + 25 * (row[2] == kinds[1])] for row in rows], "to_low": f"{home}/low.csv",
        "worth": sum(row[3] * 7 for row in rows if row[2] == kinds[2]), "kind_of_worth": kinds[2], "to_worth": f"{home}/points.txt",
    }  # fmt: skip
    inserts = "\n".join(f"INSERT INTO stock VALUES ({n}, '{name}', '{kind}', {quantity}, {price});" for n, name, kind, quantity, price in rows)
    schema = "CREATE TABLE stock (id INTEGER PRIMARY KEY, name TEXT NOT NULL, shelf TEXT NOT NULL, quantity INTEGER NOT NULL, price INTEGER NOT NULL);"
    runs = (f"sqlite3 {home}/stock.db <{home}/stock.sql",)
    return World(values, _DEEDS, {f"{home}/stock.sql": f"{schema}\n{inserts}\n"}, runs, "@db@ is a SQLite database made from stock.sql.", _INITIAL)


_ASK = """
def ask(sql):
    import sqlite3

    connection = sqlite3.connect("file:" + @db@ + "?mode=ro&immutable=1", uri=True)
    try:
        return [list(row) for row in connection.execute(sql)]
    finally:
        connection.close()


"""
_INITIAL = f"{_ASK}def test_stock():\n    assert ask('SELECT * FROM stock ORDER BY id') == @rows@, 'the rows are others'\n"

_DEEDS = (
    Deed(
        "low", "What is running out? From the table stock of @db@ write the name and quantity of all with fewer than 12 left to @to_low@: CSV with the header `name,quantity`, in the order of names.",
        "@to_low@ has the rows @low@ under the header.", ("@to_low@",),
        "def test_what_runs_out():\n    rows = [line.split(',') for line in read(@to_low@).splitlines()]\n    assert rows == [['name', 'quantity'], *([name, str(count)] for name, count in @low@)], 'the list is another'",
        ("sqlite3 -header -csv @db@ 'SELECT name, quantity FROM stock WHERE quantity < 12 ORDER BY name' | tr -d '\\r' >@to_low@",),
    ),
    Deed(
        "raise", "Everything on shelf `@kind@` gets dearer: in the table stock of @db@ its price rises by 25. No other price changes.",
        "In stock the prices of shelf @kind@ are 25 higher.", ("@db@",),
        _ASK.strip() + "\n\n\ndef test_prices():\n    assert ask('SELECT id, price FROM stock WHERE id <= 10 ORDER BY id') == @raised@, 'prices are others'",
        ("sqlite3 @db@ \"UPDATE stock SET price = price + 25 WHERE shelf = '@kind@'\"",),
    ),
    Deed(
        "insert", "We have a new thing. Add it to the table stock of @db@ as number 11: name `@extra@`, shelf `@kind_of_extra@`, quantity 50, price 300.",
        "stock has the row (11, @extra@, @kind_of_extra@, 50, 300) more.", ("@db@",),
        _ASK.strip() + "\n\n\ndef test_new_row():\n    assert ask('SELECT * FROM stock WHERE id > 10') == [[11, @extra@, @kind_of_extra@, 50, 300]], 'the row is another'\n    assert ask('SELECT id, quantity FROM stock WHERE id <= 10 ORDER BY id') == [[row[0], row[3]] for row in @rows@], 'another row changed'",
        ("sqlite3 @db@ \"INSERT INTO stock VALUES (11, '@extra@', '@kind_of_extra@', 50, 300)\"",),
    ),
    Deed(
        "index", "Looking things up by name is slow: give the table stock of @db@ a unique index on its column name, called stock_by_name.",
        "stock has the unique index stock_by_name on name.", ("@db@",),
        _ASK.strip() + "\n\n\ndef test_index():\n    assert [row[2] for row in ask('PRAGMA index_list(stock)') if row[1] == 'stock_by_name'] == [1], 'there is no such unique index'\n    assert [row[2] for row in ask('PRAGMA index_info(stock_by_name)')] == ['name'], 'it is on other columns'\n    assert len(ask('SELECT id FROM stock WHERE id <= 10')) == 10, 'rows are gone'",
        ("sqlite3 @db@ 'CREATE UNIQUE INDEX stock_by_name ON stock (name)'",),
    ),
    Deed(
        "points", "Every single thing on shelf `@kind_of_worth@` counts seven points. How many points is that shelf worth, by the quantities in the table stock of @db@? Write the number into @to_worth@.",
        "@to_worth@ holds @worth@.", ("@to_worth@",),
        "def test_points_of_a_shelf():\n    assert read(@to_worth@).strip() == str(@worth@), 'that is not the sum'",
        ("sqlite3 @db@ \"SELECT 7 * sum(quantity) FROM stock WHERE shelf = '@kind_of_worth@'\" >@to_worth@",), ("@worth@",),
    ),
)  # fmt: skip
