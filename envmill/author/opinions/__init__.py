"""Opinions: trial calls, verdicts on calls, checks and turns, all from the domain model and none from the program."""

from envmill.author.opinions.checker import judge_call
from envmill.author.opinions.checks import write_checks
from envmill.author.opinions.ruling import rule_on
from envmill.author.opinions.suspicion import answer_suspicion
from envmill.author.opinions.tester import write_calls
from envmill.author.opinions.turns import write_turn

__all__ = ["answer_suspicion", "judge_call", "rule_on", "write_calls", "write_checks", "write_turn"]
