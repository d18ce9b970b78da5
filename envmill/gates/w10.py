"""W10, thin: not the same program as an earlier one once its names and literals are erased."""

import ast
from collections.abc import Mapping, Sequence

from envmill.gates.base import Finding, drop, keep
from schemas.base import digest
from schemas.environment import Environment

GATE = "W10"


def find_duplicates(environments: Sequence[Environment]) -> Mapping[str, Finding]:
    """A decision over the whole set, in id order: the first of a structure is kept."""
    first: dict[str, str] = {}
    findings: dict[str, Finding] = {}
    for environment in sorted(environments, key=lambda one: one.id):
        twin = first.setdefault(hash_structure(environment), environment.id)
        if twin == environment.id:
            findings[environment.id] = keep(GATE)
        else:
            findings[environment.id] = drop(GATE, "duplicate", f"same structure as {twin}", {"twin": twin})
    return findings


def hash_structure(environment: Environment) -> str:
    """Hash of the programs with docstrings and literals blanked and names numbered by first use."""
    return digest([_Eraser().erase(text) for _, text in sorted(environment.files.items())])


class _Eraser(ast.NodeTransformer):
    def __init__(self) -> None:
        self.numbers: dict[str, str] = {}

    def erase(self, text: str) -> str:
        return ast.dump(self.visit(ast.parse(text)), annotate_fields=False)

    def _number(self, name: str) -> str:
        return self.numbers.setdefault(name, f"n{len(self.numbers)}")

    def visit_Constant(self, node: ast.Constant) -> ast.Constant:
        return ast.copy_location(ast.Constant(type(node.value).__name__), node)

    def visit_Name(self, node: ast.Name) -> ast.Name:
        node.id = self._number(node.id)
        return node

    def visit_Attribute(self, node: ast.Attribute) -> ast.Attribute:
        self.generic_visit(node)
        node.attr = self._number(node.attr)
        return node

    def visit_arg(self, node: ast.arg) -> ast.arg:
        node.arg = self._number(node.arg)
        return node

    def visit_ClassDef(self, node: ast.ClassDef) -> ast.ClassDef:
        node.name = self._number(node.name)
        self.generic_visit(node)
        return node

    def visit_keyword(self, node: ast.keyword) -> ast.keyword:
        node.arg = node.arg and self._number(node.arg)
        self.generic_visit(node)
        return node

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.FunctionDef:
        node.name = self._number(node.name)
        self.generic_visit(node)
        return node
