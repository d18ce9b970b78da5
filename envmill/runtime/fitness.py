"""Arguments made fit for a program: what JSON cannot carry is refused, `1.0` becomes `1` where an
integer is asked for."""

from envmill.runtime.canonical import MAX_INTEGER, Json, NotJson, plain, render
from envmill.runtime.interface import Interface
from envmill.runtime.schema import settle

_SMALL = frozenset((bool, type(None)))


def fit(interface: Interface, name: str, arguments: dict[str, Json]) -> tuple[dict[str, Json], str]:
    """The arguments as the tool gets them, and what is wrong with them; one of the two is empty."""
    if type(arguments) is not dict:
        fault = interface.check(name)(arguments)
        return {}, f"arguments{fault or ' must be object'}"
    plainly = True
    for value in arguments.values():
        kind = type(value)  # pyright: ignore[reportUnknownVariableType]
        # Nearly every argument is such a one, and needs no closer look.
        if not (
            (kind is str and value.isascii())
            or kind in _SMALL
            or (kind is int and -MAX_INTEGER <= value < MAX_INTEGER)
        ):
            plainly = False
            break
    if not plainly:
        # A value that a state could not hold would make the program fail for its caller's mistake.
        try:
            arguments = plain(arguments)
            render(arguments)
        except NotJson as fault:
            return {}, f"arguments are not JSON {fault}"
    if fault := (interface.checks.get(name) or interface.check(name))(arguments):
        return {}, f"arguments{fault}"
    return (arguments if plainly else settle(interface.tools[name]["parameters"], arguments)), ""
