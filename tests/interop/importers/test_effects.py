"""What is read of a released server's code: which of its functions change what it keeps, and which
reach out of it."""

import ast

import pytest

from envmill.interop.importers.effects import find_writing
from envmill.interop.importers.reaching import find_reaching

KEEPING = """
import tempfile

LOG = []


class Kitchen:
    def __init__(self):
        self.pots = {}

    def {method}
        {body}

    def fill(self, pot, litres):
        pot.litres = litres

    def update(self, key):
        return self.pots.get(key)


kitchen = Kitchen()


@mcp.tool()
def {method_of_tool}:
    return {call}
"""


def keep(body: str, call: str = "kitchen.cook(key)") -> ast.Module:
    text = KEEPING.replace("{method}", "cook(self, key):").replace(
        "{body}", body.replace("\n", "\n        ")
    )
    return ast.parse(text.replace("{method_of_tool}", "cook_soup(key)").replace("{call}", call))


@pytest.mark.parametrize(
    ("body", "call", "writes"),
    [
        pytest.param("self.pots[key] = 1", "kitchen.cook(key)", True, id="sets-an-item"),
        pytest.param("del self.pots[key]", "kitchen.cook(key)", True, id="deletes"),
        pytest.param("self.count += 1", "kitchen.cook(key)", True, id="counts"),
        pytest.param(
            "pot = self.pots[key]\npot.state = 'hot'",
            "kitchen.cook(key)",
            True,
            id="through-a-name",
        ),
        pytest.param(
            "for pot in self.pots.values():\n    pot.state = 'hot'",
            "kitchen.cook(key)",
            True,
            id="in-a-loop",
        ),
        pytest.param(
            "self.pots.setdefault(key, []).append(1)", "kitchen.cook(key)", True, id="appends"
        ),
        pytest.param("LOG.append(key)", "kitchen.cook(key)", True, id="a-list-of-the-module"),
        pytest.param(
            "self.fill(self.pots[key], 2)",
            "kitchen.cook(key)",
            True,
            id="a-helper-sets-what-it-is-given",
        ),
        pytest.param("pass", "kitchen.pots.pop(key)", True, id="in-the-tool-itself"),
        pytest.param("return self.pots[key].model_dump()", "kitchen.cook(key)", False, id="reads"),
        pytest.param(
            "found = []\nfor pot in self.pots.values():\n    found.append(pot)\nreturn found",
            "kitchen.cook(key)",
            False,
            id="collects",
        ),
        pytest.param(
            "shown = self.pots[key].copy()\nshown['size'] = 1\nreturn shown",
            "kitchen.cook(key)",
            False,
            id="changes-a-copy",
        ),
        pytest.param(
            "reply = {}\nreply['pot'] = self.pots.get(key)\nreturn reply",
            "kitchen.cook(key)",
            False,
            id="fills-a-reply",
        ),
        pytest.param(
            "pass", "kitchen.update(key)", False, id="a-method-named-as-one-of-a-dictionary"
        ),
    ],
)
def test_code_says_what_a_tool_changes_where_its_name_does_not(
    body: str, call: str, writes: bool
) -> None:
    assert ("cook_soup" in find_writing(keep(body, call))) is writes


def test_a_tool_reaches_out_though_the_method_of_its_name_does_not() -> None:
    server = """
import tempfile

class Printer:
    def export(self, name):
        return self.known[name]

printer = Printer()

def store(text):
    return tempfile.mkstemp(text)

def export(name):
    return store(printer.export(name))
"""
    assert find_reaching(ast.parse(server)) == {"store": "tempfile", "export": "tempfile"}
    assert find_reaching(ast.parse(server.replace("tempfile.mkstemp(text)", "text"))) == {}
