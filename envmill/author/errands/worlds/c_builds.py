"""World `c_builds`: a program in C of two sources, with a Makefile that forgets one of them."""

from envmill.author.errands.base import Deed, Spot, World

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


def make(spot: Spot) -> World:
    dice, home = spot.dice, f"{spot.home}/calc"
    shape, right, wrong = dice.choice([("area", "a * b", "a + b"), ("border", "2 * (a + b)", "2 * a + b"), ("ring", "a * a - b * b", "a * a - b")])  # fmt: skip
    old, new = f"1.{dice.randint(0, 9)}", f"2.{dice.randint(0, 9)}"
    files = {
        f"{home}/Makefile": _MAKEFILE.replace("@shape@", shape),
        f"{home}/main.c": _MAIN.replace("@shape@", shape),
        f"{home}/{shape}.h": f"/* {shape}(a, b) is {right}. */\nint {shape}(int a, int b);\n",
        f"{home}/{shape}.c": f'#include "{shape}.h"\n\nint {shape}(int a, int b)\n{{\n    return {wrong};\n}}\n',
        f"{home}/version.h": f'#define VERSION "{old}"\n',
    }
    sample = {(a, b): eval_shape(shape, a, b) for a, b in ((7, 2), (5, 3), (11, 4))}
    values = {
        "home": home, "shape": shape, "right": right, "wrong": wrong, "old": old, "new": new, "make": f"{home}/Makefile",
        "source": f"{home}/{shape}.c", "version": f"{home}/version.h", "names": sorted(path.rsplit("/", 1)[1] for path in files),
        "sample": [[a, b, result] for (a, b), result in sample.items()],
    }  # fmt: skip
    return World(values, _DEEDS, files, (), "", _INITIAL)


def eval_shape(shape: str, a: int, b: int) -> int:
    """What the function should give."""
    return {"area": a * b, "border": 2 * (a + b), "ring": a * a - b * b}[shape]


_COPY = """
def copy(tmp_path):
    for name in @names@:
        (tmp_path / name).write_text(read(f"{@home@}/{name}"))
    return str(tmp_path)


"""
_INITIAL = f"{_COPY}def test_link_fails(tmp_path):\n    assert run('make', folder=copy(tmp_path))[0] != 0, 'it is built already'\n"

_DEEDS = (
    Deed(
        "link", "`make` in @home@ fails, for @make@ forgets a part of the program. Mend the Makefile so that a fresh copy of the folder is built by `make`, whichever of the sources changed since.",
        "@make@ links @shape@.o too.", ("@make@",),
        _COPY.strip() + "\n\n\ndef test_a_fresh_copy_is_built(tmp_path):\n    folder = copy(tmp_path)\n    code, told = run('make', 'calc', folder=folder)\n    assert code == 0, told\n    assert run('./calc', folder=folder)[0] == 0, 'the program does not run'\n    source = tmp_path / (@shape@ + '.c')\n    source.write_text(source.read_text().replace('return', 'return 1000000 +'))\n    time.sleep(1.1)\n    source.touch()\n    assert run('make', 'calc', folder=folder)[0] == 0, 'it is not built again'\n    assert len(run('./calc', '9', '1', folder=folder)[1].strip()) == 7, 'what changed is not built in'",
        ("sed -i 's/^calc: main.o$/calc: main.o @shape@.o/; s/-o calc main.o$/-o calc main.o @shape@.o/' @make@",),
    ),
    Deed(
        "mend", "The function in @source@ does not give what its header says. Mend it there.",
        "@shape@ gives @right@.", ("@source@",),
        _COPY.strip() + "\n\n\ndef test_the_function_is_right(tmp_path):\n    folder = copy(tmp_path)\n    code, told = run('gcc', '-o', 'try', 'main.c', @shape@ + '.c', folder=folder)\n    assert code == 0, told\n    for a, b, wanted in @sample@:\n        assert run('./try', str(a), str(b), folder=folder) == (0, f'{wanted}\\n'), f'of {a} and {b} it gives something else'",
        ("sed -i 's/return @wrong@;/return @right@;/' @source@",),
    ),
    Deed(
        "clean", "Give @make@ a target `clean` that takes away the program and all objects, and nothing else; it has to end well when there are none, and be done even if there is a file called clean.",
        "@make@ has a phony target clean.", ("@make@",),
        _COPY.strip() + "\n\n\ndef test_clean(tmp_path):\n    folder = copy(tmp_path)\n    for name in ('calc', 'main.o', @shape@ + '.o', 'clean'):\n        (tmp_path / name).write_text('')\n    for _ in range(2):\n        assert run('make', 'clean', folder=folder)[0] == 0, 'it ends badly'\n        assert sorted(each.name for each in tmp_path.iterdir()) == sorted([*@names@, 'clean']), 'something else is left or gone'",
        ("printf '\\n.PHONY: clean\\nclean:\\n\\trm -f calc *.o\\n' >>@make@",),
    ),
    Deed(
        "flags", "Have everything that @make@ compiles compiled with -Wall and -O2 in place of -O1.",
        "CFLAGS of @make@ is -Wall -O2.", ("@make@",),
        _COPY.strip() + "\n\n\ndef test_flags(tmp_path):\n    lines = [line for line in run('make', '-n', 'main.o', @shape@ + '.o', folder=copy(tmp_path))[1].splitlines() if ' -c ' in line]\n    assert len(lines) == 2, 'not all is compiled'\n    assert all('-Wall' in line and '-O2' in line and '-O1' not in line for line in lines), 'the flags are others'",
        ("sed -i 's/^CFLAGS = -O1$/CFLAGS = -Wall -O2/' @make@",),
    ),
    Deed(
        "version", "The next version is @new@: have @version@ say so.",
        "@version@ defines VERSION as @new@.", ("@version@",),
        _COPY.strip() + "\n\n\ndef test_version(tmp_path):\n    folder = copy(tmp_path)\n    assert run('gcc', '-o', 'try', 'main.c', @shape@ + '.c', folder=folder)[0] == 0, 'it is not compiled'\n    assert run('./try', folder=folder) == (0, @new@ + '\\n'), 'the version is another'",
        ("sed -i 's/\"@old@\"/\"@new@\"/' @version@",),
    ),
)  # fmt: skip
