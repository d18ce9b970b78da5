"""World `c_builds`: a program in C of two sources, with a Makefile that forgets one of them."""

from offline.errands.base import ErrandWorld, WorldSite
from schemas.base import Json

_MAKEFILE = """CC = gcc
CFLAGS = -O1

calc: main.o
\t$(CC) $(CFLAGS) -o calc main.o

main.o: main.c @shape@.h version.h
\t$(CC) $(CFLAGS) -c main.c

@shape@.o: @shape@.c @shape@.h
\t$(CC) $(CFLAGS) -c @shape@.c
"""
_MAIN = """#include <stdio.h>
#include <stdlib.h>
#include "@shape@.h"
#include "version.h"

int main(int argc, char **argv)
{
    if (argc == 1) {
        printf("%s\\n", VERSION);
        return 0;
    }
    if (argc != 3)
        return 2;
    printf("%d\\n", @shape@(atoi(argv[1]), atoi(argv[2])));
    return 0;
}
"""


def make(spot: WorldSite) -> ErrandWorld:
    dice, home = spot.dice, f"{spot.home}/calc"
    shape, right, wrong = dice.choice(
        [
            ("area", "a * b", "a + b"),
            ("border", "2 * (a + b)", "2 * a + b"),
            ("ring", "a * a - b * b", "a * a - b"),
        ]
    )
    old, new = f"1.{dice.randint(0, 9)}", f"2.{dice.randint(0, 9)}"
    files = {
        f"{home}/Makefile": _MAKEFILE.replace("@shape@", shape),
        f"{home}/main.c": _MAIN.replace("@shape@", shape),
        f"{home}/{shape}.h": f"/* {shape}(a, b) is {right}. */\nint {shape}(int a, int b);\n",
        f"{home}/{shape}.c": f'#include "{shape}.h"\n\nint {shape}(int a, int b)\n{{\n    return {wrong};\n}}\n',
        f"{home}/version.h": f'#define VERSION "{old}"\n',
    }
    sample = {(a, b): eval_shape(shape, a, b) for a, b in ((7, 2), (5, 3), (11, 4))}
    values: dict[str, Json] = {
        "home": home,
        "shape": shape,
        "right": right,
        "wrong": wrong,
        "old": old,
        "new": new,
        "make": f"{home}/Makefile",
        "source": f"{home}/{shape}.c",
        "version": f"{home}/version.h",
        "names": sorted(path.rsplit("/", 1)[1] for path in files),
        "sample": [[a, b, result] for (a, b), result in sample.items()],
    }
    built = tuple(f"{home}/{name}" for name in ("calc", "main.o", f"{shape}.o"))
    return ErrandWorld(values, files, (), "", _INITIAL, volatile=built)


def eval_shape(shape: str, a: int, b: int) -> int:
    """What the function should give."""
    return {"area": a * b, "border": 2 * (a + b), "ring": a * a - b * b}[shape]


_COPY = """
def copy(tmp_path):
    for name in @names@:
        (tmp_path / name).write_text(read(f"{@home@}/{name}"))
    return str(tmp_path)


"""
_INITIAL = (
    f"{_COPY}def test_link_fails(tmp_path):\n    assert run('make', folder=copy(tmp_path))[0] != "
    "0, 'it is built already'\n"
)
