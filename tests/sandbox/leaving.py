"""Programs that leave something behind in the process they ran in, or in their database's
connection, and some that do not."""

from dataclasses import replace

from envmill.sandbox import Program
from tests.sandbox.programs import make_program

HONEST = """
from envmill.runtime import new_id, now, rng

class Counter:
    def __init__(self, state):
        self.items = state["items"]

    def add(self, name):
        self.items[new_id("item")] = {"name": name, "at": now().isoformat(), "luck": rng().random()}
        return self.items

    def crash(self):
        return 1 / 0
"""


BUSY = """
import copy, dataclasses, decimal, enum, fractions, functools, hashlib, itertools, json, re, statistics, string, textwrap, typing, uuid
from collections import Counter, OrderedDict, defaultdict, deque, namedtuple
from datetime import date, datetime, timedelta
from envmill.runtime import Rejection, new_id, now, rng

class Colour(enum.Flag):
    RED = enum.auto()
    BLUE = enum.auto()

class Level(enum.IntEnum):
    LOW = 1
    HIGH = 2

@dataclasses.dataclass(order=True)
class Row:
    name: str
    tags: list[str] = dataclasses.field(default_factory=list)

class Shape(typing.NamedTuple):
    sides: int

@typing.runtime_checkable
class Sized(typing.Protocol):
    def size(self) -> int: ...

@functools.lru_cache(maxsize=None)
def square(n: int) -> int: return n * n

@functools.singledispatch
def tell(value): return str(value)

@tell.register
def _(value: int): return f"{value:,}"

T = typing.TypeVar("T", bound=typing.Hashable)

class Busy:
    def __init__(self, state):
        self.rows = copy.deepcopy(state["rows"])

    def look(self):
        with decimal.localcontext() as context:
            context.prec = 6
            third = decimal.Decimal(1) / 3
        found = re.findall(r"(?i)[a-z]+" + str(len(self.rows)), "Abc3 def3", re.MULTILINE | re.DOTALL)
        made = json.loads(json.dumps({"d": now().isoformat(), "x": [1, None, 2.5]}, sort_keys=True))
        said = [str(third), found, made, tell(7), square(9), str(Colour.RED | Colour.BLUE), Level.HIGH.name]
        said += [str(uuid.uuid4()), str(uuid.uuid1())]
        said += [rng().choice("abc"), new_id("row"), datetime.now().strftime("%A %d %B"), str(datetime.strptime("2026-03-01", "%Y-%m-%d"))]
        said += [statistics.mean([1, 4]), str(fractions.Fraction(1, 3)), string.Template("$a").substitute(a=1), textwrap.fill("a" * 99)]
        said += [hashlib.sha256(b"a").hexdigest(), dict(Counter("aab")), isinstance(Row("a"), Sized), dataclasses.asdict(Row("a", ["b"]))]
        self.rows[new_id("row")] = sorted([Row("b"), Row("a")])[0].name
        return said
"""


# Each leaves something in the interpreter that no reset of the program itself brings back.
LEAKS = {
    "hidden counter": "import math\nmath.seen = getattr(math, 'seen', 0) + 1\nself.seen = math.seen",
    "stale cache": "import functools as f\nif not hasattr(f, 'kept'): f.kept = dict(state)\nself.seen = "
    "f.kept.get('mark')",
    "patched library": "import json\nself.seen = json.dumps('x')\njson.dumps = lambda value: 'patched'",
    "patched builtin": "import builtins\nself.seen = len('xx')\nbuiltins.len = lambda value: 7",
    "process number": "import os\nself.seen = os.getpid()",
}


# Each is told something by a tool that is rarely called, and keeps it where no reset of the program
# brings it back.
LATE = {
    "first day of the week": ("calendar", "calendar.setfirstweekday(6)", "calendar.weekheader(2)"),
    "dialect": ("csv", "csv.register_dialect('own', delimiter=';')", "csv.list_dialects()"),
    "level of a logger": (
        "logging",
        "logging.getLogger('own').setLevel(10)",
        "logging.getLogger('own').level",
    ),
    "level for all": ("logging", "logging.disable(50)", "logging.root.manager.disable"),
    "handler": (
        "logging",
        "logging.getLogger('own').addHandler(logging.NullHandler())",
        "len(logging.getLogger('own').handlers)",
    ),
    "filter of warnings": ("warnings", "warnings.simplefilter('error')", "len(warnings.filters)"),
    "handler of a codec": (
        "codecs",
        "codecs.register_error('own', codecs.ignore_errors)",
        "b'\\xff'.decode('ascii', 'own')",
    ),
    "recursion": ("sys", "sys.setrecursionlimit(500)", "sys.getrecursionlimit()"),
    "name": ("string", "string.stash = 1", "hasattr(string, 'stash')"),
    "function": ("json", "json.dumps = lambda value: 'spoilt'", "json.dumps([1])"),
    "table of a module": ("keyword", "keyword.kwlist.append('own')", "len(keyword.kwlist)"),
    "default of a class": (
        "json",
        "json.JSONEncoder.item_separator = ';'",
        "json.JSONEncoder().encode([1, 2])",
    ),
    "flags of decimals": (
        "decimal",
        "decimal.Decimal(1) / 3",
        "[str(f) for f, on in decimal.getcontext().flags.items() if on]",
    ),
    "precision of decimals": (
        "decimal",
        "decimal.getcontext().prec = 5",
        "str(decimal.Decimal(1) / 3)",
    ),
    "class of a kind": (
        "collections.abc",
        "collections.abc.Sized.register(int)",
        "isinstance(1, collections.abc.Sized)",
    ),
    "module out of another": (
        "json\nfrom json import codecs",
        "codecs.register_error('own', codecs.ignore_errors)",
        "b'\\xff'.decode('ascii', 'own')",
    ),
    "classes of a session before": (
        "json",
        "self._own = type('Own', (ValueError,), {})",
        "len(ValueError.__subclasses__())",
    ),
    "largest exponent of decimals": (
        "decimal",
        "decimal.getcontext().Emax = 9",
        "decimal.getcontext().Emax",
    ),
    "context of decimals for all": (
        "decimal",
        "decimal.DefaultContext.prec = 4",
        "decimal.DefaultContext.prec",
    ),
    "schemes of addresses": (
        "urllib.parse",
        "urllib.parse.uses_netloc.append('own')",
        "len(urllib.parse.uses_netloc)",
    ),
    "table of copies": (
        "copy",
        "copy._deepcopy_dispatch[slice] = lambda value, memo: value",
        "slice in copy._deepcopy_dispatch",
    ),
    "overloads": (
        "typing",
        "typing.overload(lambda value: value)",
        "len(typing._overload_registry)",
    ),
    "abstract class": ("numbers", "numbers.Number.register(str)", "isinstance('', numbers.Number)"),
    "what an object does when it goes": (
        "string",
        "self.own = type('Own', (), {'__del__': lambda own: setattr(string, 'stash', 1)})()",
        "[hasattr(string, 'stash'), hasattr(self, 'own')]",
    ),
    "what a suspended generator does at its end": (
        "string",
        "exec('def own():\\n    try: yield\\n    finally: string.stash = 1', globals()); "
        "self.own = own(); next(self.own)",
        "[hasattr(string, 'stash'), hasattr(self, 'own')]",
    ),
    "finalizer": (
        "string, weakref",
        "self.own = type('Own', (), {})(); weakref.finalize(self.own, setattr, string, 'stash', 1)",
        "[hasattr(string, 'stash'), hasattr(self, 'own')]",
    ),
    "import by name": (
        "json",
        "__import__('calendar').setfirstweekday(6)",
        "__import__('calendar').weekheader(2)",
    ),
    "module out of reach of the eye": (
        "json",
        "eval('__import__')('calendar').setfirstweekday(6)",
        "__import__('calendar').weekheader(2)",
    ),
}


BEHIND_THE_BACK: dict[str, list[str]] = {
    "committed rows": ["insert into notes values (50, 'left')", "commit", "begin"],
    "a trigger": [
        "commit",
        "create temp trigger more after insert on notes begin update notes set text = 'left'; end",
        "begin",
    ],
    "a temporary table": [
        "commit",
        "create temp table left_behind (id integer primary key)",
        "begin",
    ],
}


def make_counter() -> Program:
    return make_program(HONEST, "Counter", "add", "crash", name={"type": "string"})


def make_leaky(body: str) -> Program:
    lines = "\n".join(f"        {line}" for line in body.splitlines())
    return make_program(
        f"class Leaky:\n    def __init__(self, state):\n{lines}\n    def look(self): return "
        "self.seen\n",
        "Leaky",
        "look",
    )


def make_late(module: str, spoil: str, look: str) -> Program:
    """Its first episodes call one tool, and the tool that leaves something behind comes late."""
    guarded = f"        try: return {look}\n        except LookupError: return 'unknown'\n"
    source = (
        f"import {module}\nclass Late:\n    def __init__(self, state): self.n = 0\n    def "
        f"look(self):\n{guarded}"
    )
    return make_program(f"{source}    def spoil(self):\n        {spoil}\n", "Late", "look", "spoil")


def make_patient(sessions: int) -> Program:
    """It keeps its count on a function of the library, whose own dictionary is not looked at."""
    source = (
        "import functools\nKEPT = functools.wraps\nclass Patient:\n"
        "    def __init__(self, state): KEPT.count = getattr(KEPT, 'count', 0) + 1\n"
        f"    def look(self): return KEPT.count > {sessions}\n"
    )
    return make_program(source, "Patient", "look")


def make_tables() -> Program:
    source = (
        "class Notes:\n    def __init__(self, db): self._db = db\n"
        "    def add(self, id): return self._db.execute('insert into notes values (?, ?)', (id, "
        "str(id)))\n"
        "    def keep(self, text):\n"
        "        self._db.execute('insert or ignore into notes (text) values (?)', (text,))\n"
        "        return self._db.query('select last_insert_rowid() as id, changes() as changed')\n"
    )
    made = make_program(
        source, "Notes", "add", "keep", id={"type": "integer"}, text={"type": "string"}
    )
    return replace(
        made,
        files={
            **made.files,
            "schema.sql": "create table notes (id integer primary key, text text unique);",
        },
    )
