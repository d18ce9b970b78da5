"""A program, as text, with a tool for every source of chance; it runs only in the jail."""

from envmill.sandbox import Program
from schemas.environment import Tool

SOURCE = '''
import _random, datetime, random, time, uuid
from envmill.runtime import new_id, now

class Row:
    pass

class Chance:
    def __init__(self, state):
        self.rows = state["rows"]
        self.seen = []

    def set_order(self):
        """A set of texts is turned into a list."""
        self.seen = list({"apple", "pear", "plum", "cherry", "grape", "fig"})

    def hash_value(self):
        """The hash of a text is kept."""
        self.seen = [hash("apple")]

    def set_reply(self):
        """The order shows in the reply alone."""
        return [name for name in {"apple", "pear", "plum", "cherry", "grape", "fig"}]

    def id_order(self):
        """Objects are sorted by address."""
        rows = []
        for number in range(12):
            row = Row()
            row.number = number
            rows.append(row)
        self.seen = [row.number for row in sorted(rows, key=id)]

    def id_parity(self):
        """The same, where chance leaves many a place as it was."""
        rows = []
        for number in range(40):
            row = Row()
            row.number = number
            rows.append(row)
        self.seen = [row.number % 2 for row in sorted(rows, key=id)]

    def address(self):
        """The address of an object is kept."""
        self.seen = [repr(object())]

    def wall_clock(self):
        """The C class beneath the virtual one is asked."""
        self.seen = [datetime.datetime.__mro__[1].now().isoformat()]

    def wall_day(self):
        """The same by the day: two plays agree."""
        self.seen = [str(datetime.datetime.__mro__[1].now().date())]

    def unseeded_uuid(self):
        """A uuid of the kernel's entropy."""
        self.seen = [str(uuid.UUID(int=_random.Random().getrandbits(128), version=4))]

    def virtual_clock(self):
        """Every clock we know of is the virtual one."""
        self.seen = [time.time(), now().isoformat(), str(datetime.date.today())]

    def virtual_uuid(self):
        """The library's own uuid4 is seeded."""
        self.seen = [str(uuid.uuid4()), random.random()]

    def virtual_id(self):
        """The runtime's ids."""
        self.seen = [new_id("row")]

    def plain(self):
        """No chance at all."""
        self.rows["a"] = sorted({"pear", "apple"})

    def two(self):
        """Two sources at once."""
        self.seen = list({"apple", "pear", "plum", "cherry", "grape", "fig"})
        self.rows["stamp"] = datetime.datetime.__mro__[1].now().isoformat()
'''

NAMES = (
    "set_order", "hash_value", "set_reply", "id_order", "id_parity", "address", "wall_clock", "wall_day", "unseeded_uuid", "virtual_clock",
    "virtual_uuid", "virtual_id", "plain", "two",
)  # fmt: skip


def make_chance() -> Program:
    nothing = {"type": "object", "properties": {}, "required": [], "additionalProperties": False}
    tools = [
        Tool(name=name, description="Does it.", parameters=nothing, effect="change")
        for name in NAMES
    ]
    return Program({"program.py": SOURCE}, "program:Chance", tools)
