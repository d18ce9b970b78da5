"""Texts that run in the jail: the thin class around a released program, and the lines that make a
released check one of ours."""

from collections.abc import Sequence

_AROUND = '''"""A released program behind the native interface: its state as JSON, `{"success": false}` as a rejection."""

from envmill.runtime import Rejection
from program import $CLASS as Theirs

TOOLS = $TOOLS


def plain(value):
    """A value as JSON; sets in order, so that equal states look equal."""
    if value is None or isinstance(value, (str, bool, int, float)):
        return value
    if isinstance(value, dict):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, (set, frozenset)):
        return sorted(plain(item) for item in value)
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    return str(value)


def like(declared, value):
    """A JSON value as the type its program declared."""
    return type(declared)(value) if isinstance(declared, (set, frozenset, tuple)) and isinstance(value, list) else value


class World:
    """State is loaded by setting every key as an attribute, as the release does."""

    def __init__(self, state):
        self._given = state
        self._theirs = Theirs($ARGUMENT)
        for name, value in state.items():
            setattr(self._theirs, name, like(getattr(self._theirs, name, None), value))
        self._show()

    def _show(self):
        """Their attributes as ours; the argument some of them keep is no state."""
        shown = {name: value for name, value in vars(self._theirs).items() if not name.startswith("_") and value is not self._given}
        for name in [name for name in vars(self) if not name.startswith("_") and name not in shown]:
            delattr(self, name)
        for name, value in shown.items():
            setattr(self, name, plain(value))

    def _call(self, name, arguments):
        try:
            reply = getattr(self._theirs, name)(**arguments)
        finally:
            self._show()
        if isinstance(reply, dict) and reply.get("success") is False:
            raise Rejection("refused", str(reply.get("error", reply.get("message", "refused without a word"))))
        return plain(reply)


def make_tool(name):
    return lambda self, /, **arguments: self._call(name, arguments)


for tool in TOOLS:
    setattr(World, tool, make_tool(tool))
'''

_CHECK = """

initial_state = None


def check(initial, final):
    global initial_state
    initial_state = initial
    return check_func(final)
"""


def write_adapter(class_name: str, tools: Sequence[str], *, takes_state: bool) -> str:
    """`adapter.py` beside the released `program.py`, whose constructor takes the state or
    nothing."""
    written = _AROUND.replace("$CLASS", class_name).replace(
        "$ARGUMENT", "state" if takes_state else ""
    )
    return written.replace("$TOOLS", repr(list(tools)))


def adapt_check(source: str) -> str:
    """A released `check_func(final_state)`, some of which read a global `initial_state`, as
    `check(initial, final)`."""
    return source.rstrip() + "\n" + _CHECK
