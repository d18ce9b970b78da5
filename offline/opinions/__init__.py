"""Opinions: trial calls, verdicts on calls, checks and turns, all from the domain model and none
from the program."""

from offline.opinions.checker import judge_call
from offline.opinions.checks import write_checks
from offline.opinions.coverage import answer_coverage
from offline.opinions.mapping import map_request
from offline.opinions.reading import read_request
from offline.opinions.ruling import rule_on
from offline.opinions.suspicion import answer_suspicion
from offline.opinions.tester import write_calls
from offline.opinions.turns import write_turn

__all__ = [
    "answer_coverage",
    "answer_suspicion",
    "judge_call",
    "map_request",
    "read_request",
    "rule_on",
    "write_calls",
    "write_checks",
    "write_turn",
]
