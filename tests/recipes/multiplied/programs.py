"""Operators over programs and their stored tests."""

import ast
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

from envmill.gates.base import EnvironmentCase
from schemas.environment import Environment, Test
from tests.real_authors.operators import FAMILIES, is_sound, list_places
from tests.recipes.multiplied.operators import SOURCE, Dice, Operator, shuffle


def _rewrite(built: EnvironmentCase, source: str) -> EnvironmentCase:
    environment = built.environment
    files = environment.files | {SOURCE: source}
    return replace(
        built,
        environment=Environment.model_validate(
            environment.model_dump() | {"id": "", "files": files}
        ),
    )


def _mutate(family: str) -> Callable[[EnvironmentCase, Dice], Iterator[EnvironmentCase]]:
    def vary(built: EnvironmentCase, dice: Dice) -> Iterator[EnvironmentCase]:
        source = built.environment.files[SOURCE]
        for place in shuffle(list(list_places(source, family)), dice):
            if is_sound(place, source):
                yield _rewrite(built, place.apply(source))

    return vary


def _list_methods(source: str, names: set[str]) -> list[ast.FunctionDef]:
    return [
        node
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.FunctionDef) and node.name in names
    ]


def _change_method(
    change: Callable[[ast.FunctionDef], None],
) -> Callable[[EnvironmentCase, Dice], Iterator[EnvironmentCase]]:
    def vary(built: EnvironmentCase, dice: Dice) -> Iterator[EnvironmentCase]:
        source, names = (
            built.environment.files[SOURCE],
            {tool.name for tool in built.environment.tools},
        )
        for name in shuffle([node.name for node in _list_methods(source, names)], dice):
            tree = ast.parse(source)
            node = next(
                each
                for each in ast.walk(tree)
                if isinstance(each, ast.FunctionDef) and each.name == name
            )
            change(node)
            yield _rewrite(built, ast.unparse(ast.fix_missing_locations(tree)))

    return vary


def _crash(node: ast.FunctionDef) -> None:
    node.body = [*node.body[:1], *ast.parse("{}['lost']").body, *node.body[1:]]


def _say_nothing(node: ast.FunctionDef) -> None:
    node.body = [*node.body[:1], *ast.parse("return {}").body]


def _lose(node: ast.FunctionDef) -> None:
    node.name = f"_{node.name}_of_old"


def unparse(built: EnvironmentCase, _: Dice) -> Iterator[EnvironmentCase]:
    yield _rewrite(built, ast.unparse(ast.parse(built.environment.files[SOURCE])) + "\n")


def comment_program(built: EnvironmentCase, dice: Dice) -> Iterator[EnvironmentCase]:
    source = built.environment.files[SOURCE]
    for word in ("checked", "as told", "by the rules")[: dice.randint(2, 3)]:
        yield _rewrite(built, f"# {word}\n{source}\n# end of {word}\n")


def shuffle_methods(built: EnvironmentCase, dice: Dice) -> Iterator[EnvironmentCase]:
    for _ in range(3):
        tree = ast.parse(built.environment.files[SOURCE])
        for node in (each for each in tree.body if isinstance(each, ast.ClassDef)):
            methods = [each for each in node.body if isinstance(each, ast.FunctionDef)]
            if not any(each.decorator_list for each in methods):
                node.body = [
                    *(each for each in node.body if each not in methods),
                    *shuffle(methods, dice),
                ]
        yield _rewrite(built, ast.unparse(tree) + "\n")


def rename_locals(built: EnvironmentCase, dice: Dice) -> Iterator[EnvironmentCase]:
    """Of one tool, names that it alone assigns."""
    source, names = built.environment.files[SOURCE], {tool.name for tool in built.environment.tools}
    for name in shuffle([node.name for node in _list_methods(source, names)], dice):
        tree = ast.parse(source)
        node = next(
            each
            for each in ast.walk(tree)
            if isinstance(each, ast.FunctionDef) and each.name == name
        )
        stored = {
            each.id
            for each in ast.walk(node)
            if isinstance(each, ast.Name) and isinstance(each.ctx, ast.Store)
        }
        stored -= {each.arg for each in ast.walk(node) if isinstance(each, ast.arg)}
        if stored:
            for each in ast.walk(node):
                if isinstance(each, ast.Name) and each.id in stored:
                    each.id = f"the_{each.id}"
            yield _rewrite(built, ast.unparse(tree) + "\n")


def _retest(built: EnvironmentCase, place: int, **fields: Any) -> EnvironmentCase:
    told = built.tests[place].model_dump() | {"id": ""} | fields
    return replace(
        built, tests=(*built.tests[:place], Test.model_validate(told), *built.tests[place + 1 :])
    )


def turn_expectation(built: EnvironmentCase, dice: Dice) -> Iterator[EnvironmentCase]:
    for place in shuffle(range(len(built.tests)), dice):
        rejected = built.tests[place].expect == "rejection"
        yield _retest(
            built,
            place,
            expect="success" if rejected else "rejection",
            reply=None,
            after={},
            exact=False,
        )


def shuffle_tests(built: EnvironmentCase, dice: Dice) -> Iterator[EnvironmentCase]:
    for _ in range(3):
        yield replace(built, tests=tuple(shuffle(built.tests, dice)))


PROGRAMS = (
    *(Operator("program", family, False, _mutate(family)) for family in FAMILIES),
    Operator("program", "crashes", False, _change_method(_crash)),
    Operator("program", "says_nothing", False, _change_method(_say_nothing)),
    Operator("program", "tool_lost", False, _change_method(_lose)),
    Operator("tests", "expectation_turned", False, turn_expectation),
    Operator("program", "unparsed", True, unparse),
    Operator("program", "commented", True, comment_program),
    Operator("program", "methods_shuffled", True, shuffle_methods),
    Operator("program", "locals_renamed", True, rename_locals),
    Operator("tests", "shuffled", True, shuffle_tests),
)
