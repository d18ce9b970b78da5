"""A program in parts, as it is asked for where one reply could not hold it: the class without its
tools, and the methods of some tools."""

import re

from offline.domain import Domain
from offline.program import name_class, write_program
from schemas.prompts import MethodsReply, ProgramReply

_BEFORE_METHOD = re.compile(r"\n(?=    def )")
_PUBLIC = re.compile(r"    def (?!_)(\w+)\(")


def write_skeleton(domain: Domain) -> ProgramReply:
    """Module and class with constructor and finder, no tool among them."""
    return ProgramReply(source=cut_skeleton(write_program(domain)), class_name=name_class(domain))


def write_methods(domain: Domain, wanted: list[str]) -> MethodsReply:
    """The methods of some tools."""
    return MethodsReply(source=cut_methods(write_program(domain), wanted))


def cut_skeleton(source: str) -> str:
    """A program without its public methods."""
    return (
        "\n".join(
            chunk.rstrip("\n") for chunk in _BEFORE_METHOD.split(source) if not _PUBLIC.match(chunk)
        )
        + "\n"
    )


def cut_methods(source: str, wanted: list[str]) -> str:
    """The public methods of these names, as they stand in the class."""
    chunks = (
        chunk
        for chunk in _BEFORE_METHOD.split(source)
        if (found := _PUBLIC.match(chunk)) and found[1] in wanted
    )
    return "\n\n".join(chunk.rstrip("\n") for chunk in chunks) + "\n"
