"""Mistakes that models really make, planted by rate and seed, and always the same for the same
question.

    clean reply ──dice──► kind ──plant──► spoilt reply and where it may show ──jail──► witness, or equivalent

A kind whose place a reply lacks passes its turn to the next. `witness.find_witness` says whether a
planted fault counts.
"""

import json
import random
from collections.abc import Mapping
from typing import Any

from offline.dice import make_dice
from offline.faults import (
    asking,
    casing,
    chaining,
    checking,
    effects,
    leaving,
    loading,
    naming,
    opining,
    parting,
    plan,
    promising,
    queries,
    rewording,
    rules,
    signing,
    statements,
    tabling,
    testing,
    text,
    theming,
    users,
)
from offline.faults.base import (
    FaultCase,
    Plant,
    PlantBlueprint,
    PlantedFault,
    PlantProgram,
    PlantScenario,
    PlantTests,
    PlantText,
)
from offline.faults.results import ON_RESULTS, uses_results
from schemas.base import Contract, Json
from schemas.prompts import CheckerReply, ChecksReply, TesterReply, ThemeReply
from schemas.ruling import RulingReply
from schemas.suspicion import SuspicionReply
from schemas.table_prompts import InterfaceReply, NamesReply, RowsReply, SchemaReply, TrialsReply
from schemas.tool_prompts import CasesReply, ChainReply, DebugReply, ToolsetReply
from schemas.typed_prompts import MetadataReply, RewordReply

__all__ = [
    "ANYWHERE",
    "KINDS",
    "FaultCase",
    "PlantedFault",
    "pick_fault",
    "plant_kind",
    "render_reply",
]

ANYWHERE: dict[str, PlantText] = {
    "prose_around": text.add_prose,
    "truncated_json": text.truncate,
    "wrong_key": text.rename_key,
    "missing_key": text.drop_key,
    "envelope": text.wrap_reply,
    "wrong_type": text.render_as_text,
    "trailing_comma": text.add_comma,
    "python_literal": text.quote_singly,
}
"""In the text of any reply."""

BLUEPRINT: dict[str, PlantBlueprint] = {
    "omitted_rule": plan.omit_rule,
    "contradictory_rules": plan.contradict_rule,
    "changed_limit": plan.change_limit,
    "forbidden_name": plan.plan_nameless,
    "tool_planned_twice": plan.plan_twice,
    "tool_without_records": plan.plan_more,
    "wrong_effect": plan.swap_effect,
    "omitted_collection": plan.omit_collection,
    "omitted_attribute": plan.omit_attribute,
    "nothing_to_change": plan.plan_reads_only,
}

PROGRAM: dict[str, PlantProgram] = {
    "syntax_error": loading.break_syntax,
    "missing_import": loading.forget_import,
    "unavailable_import": loading.import_strange,
    "renamed_tool": loading.rename_tool,
    "unplanned_tool": loading.add_tool,
    "untyped_parameter": loading.forget_type,
    "wrong_class_name": loading.name_other_class,
    "hidden_state": loading.hide_state,
    "state_not_json": loading.hold_set,
    "ignored_state": loading.ignore_state,
    "unenforced_rule": rules.forget_rule,
    "unchecked_value": rules.skip_range,
    "off_by_one": rules.miss_by_one,
    "change_before_check": rules.change_first,
    "silent_success": rules.succeed_silently,
    "error_as_result": rules.return_error,
    "crash_on_unknown_id": rules.crash_on_unknown,
    "turned_condition": rules.refuse_always,
    "forgotten_effect": effects.forget_effect,
    "overwritten_total": effects.overwrite_total,
    "applied_twice": effects.apply_twice,
    "misspelt_attribute": effects.misspell_attribute,
    "wrong_status": effects.set_wrong_status,
    "row_not_kept": effects.forget_row,
    "counted_ids": effects.number_rows,
    "stale_answer": effects.answer_stale,
    "empty_answer": effects.answer_nothing,
    "fixed_date": effects.fix_date,
    "stale_clock": effects.read_clock_once,
    "set_order": queries.order_by_chance,
    "last_row_missed": queries.pass_over_last,
    "first_row_only": queries.find_first_only,
    "case_sensitive": queries.mind_case,
    "whole_words_only": queries.match_whole,
    "write_on_read": queries.write_on_read,
}

TESTS: dict[str, PlantTests] = {
    "wrong_expectation": testing.expect_wrongly,
    "missing_setup": testing.skip_setup,
    "invented_row": testing.invent_row,
    "missing_argument": testing.forget_argument,
    "unknown_tool": testing.call_unknown_tool,
    "dangling_reference": testing.lose_row,
    "untested_tool": testing.skip_tool,
    "no_rejection_tested": testing.expect_no_rejection,
    "types_tested_only": testing.reject_types_only,
    "repeated_test": testing.repeat_test,
}

SCENARIO: dict[str, PlantScenario] = {
    "rejected_oracle": asking.add_rejected,
    "unnecessary_step": asking.add_needless,
    "unseen_id": asking.skip_lookups,
    "wrong_target": asking.hit_other_row,
    "order_dependent_oracle": asking.swap_order,
    "unreachable_goal": asking.forbid_goal,
    "true_at_the_start": asking.start_finished,
    "ambiguous_referent": asking.add_twin,
    "dangling_reference": asking.lose_row,
    "missing_collection": asking.leave_empty,
    "leaked_id": asking.leak_id,
    "leaked_tool": asking.leak_tool,
    "contradictory_request": asking.contradict,
    "withheld_fact": asking.withhold,
    "wrong_polarity": asking.call_refusal,
    "contradictory_user": users.contradict_request,
    "user_lacks_fact": users.forget_fact,
    "opening_tells_all": users.reveal_at_once,
    "opening_missing": users.open_with_nothing,
    "silent_say": leaving.omit_facts,
    "tell_in_the_request": leaving.reveal_in_request,
    "nothing_to_tell": leaving.ask_for_nothing,
    "wrong_answer": leaving.answer_wrongly,
    "recited_answer": leaving.recite_everything,
    "common_words_asked_for": leaving.ask_for_common_words,
}

CHECKS: dict[str, Plant[ChecksReply]] = {
    "vacuous_check": checking.hold_always,
    "checks_true_at_the_start": checking.keep_guards,
    "forgotten_goal": checking.forget_goal,
    "no_frame": checking.forget_frame,
    "mutating_check": checking.mutate,
    "check_answers_number": checking.answer_number,
    "check_answers_nothing": checking.answer_nothing,
    "inverted_check": checking.invert,
    "check_raises_when_undone": checking.raise_on_absent,
    "check_reads_unknown_name": checking.raise_name,
    "order_dependent_check": checking.ask_order,
    "check_asks_for_generated_id": checking.ask_value_of_chance,
}

THEME: dict[str, Plant[ThemeReply]] = {
    "chat_taken_for_work": theming.take_for_work,
    "work_taken_for_chat": theming.take_for_chat,
    "everything_is_specific": theming.call_general,
    "scores_at_the_top": theming.praise,
    "scores_too_low": theming.belittle,
    "title_for_a_name": theming.write_title,
    "score_out_of_range": theming.score_beyond,
}

TESTER: dict[str, Plant[TesterReply]] = {
    "unknown_tool": opining.call_unknown_tool,
    "missing_argument": opining.forget_argument,
    "invented_row": opining.invent_row,
    "wrong_expectation": opining.expect_wrongly,
    "untried_tool": opining.pass_tool_over,
    "no_rule_tried": opining.break_nothing,
    "repeated_call": opining.repeat_call,
}

CHECKER: dict[str, Plant[CheckerReply]] = {
    "overlooked_breach": opining.overlook,
    "false_alarm": opining.raise_alarm,
    "no_opinion": opining.hedge,
    "no_reason": opining.give_no_reason,
    "reason_against_opinion": opining.contradict_oneself,
}

RULING: dict[str, Plant[RulingReply]] = {
    "kind_ruling": opining.rule_kindly,
    "harsh_ruling": opining.rule_harshly,
    "environment_blamed": opining.blame_environment,
    "agent_blamed": opining.blame_agent,
    "ruling_without_reason": opining.rule_without_reason,
}

SUSPICION: dict[str, Plant[SuspicionReply]] = {
    "overlooked_fault": opining.overlook_fault,
    "honest_suspected": opining.suspect_honest,
    "invented_quote": opining.invent_quote,
    "no_quote": opining.quote_nothing,
    "answer_without_reason": opining.answer_without_reason,
}

NAMES: dict[str, Plant[NamesReply]] = {
    "known_name": naming.repeat_known,
    "one_place_twice": naming.name_twice,
    "chat_among_work": naming.add_chat,
    "title_for_a_name": naming.write_title,
    "scores_at_the_top": naming.praise,
    "fewer_than_wanted": naming.give_few,
}

REQUIREMENTS: dict[str, PlantBlueprint] = {
    name: BLUEPRINT[name] for name in ("omitted_rule", "contradictory_rules", "changed_limit")
}

SCHEMA: dict[str, Plant[SchemaReply]] = {
    "reference_to_no_table": tabling.refer_nowhere,
    "number_as_text": tabling.keep_number_as_text,
    "missing_comma": tabling.forget_comma,
    "table_without_key": tabling.forget_key,
    "omitted_column": tabling.omit_column,
    "policy_of_no_column": tabling.add_strange_policy,
}

ROWS: dict[str, Plant[RowsReply]] = {
    "dangling_reference": tabling.lose_row,
    "missing_value": tabling.omit_value,
    "unknown_column": tabling.add_column,
    "number_in_quotes": tabling.quote_number,
    "key_used_twice": tabling.use_key_twice,
}

INTERFACE: dict[str, PlantBlueprint | Plant[InterfaceReply]] = {
    **{
        name: BLUEPRINT[name]
        for name in (
            "forbidden_name",
            "tool_planned_twice",
            "tool_without_records",
            "wrong_effect",
            "nothing_to_change",
        )
    },
    "tool_without_tables": tabling.name_no_table,
    "unknown_table": tabling.name_strange_table,
    "undeclared_read": tabling.forget_read,
}

CODE: dict[str, PlantProgram] = {
    **{
        name: PROGRAM[name]
        for name in (
            *(
                "syntax_error",
                "missing_import",
                "unavailable_import",
                "renamed_tool",
                "unplanned_tool",
            ),
            *(
                "untyped_parameter",
                "wrong_class_name",
                "unenforced_rule",
                "unchecked_value",
                "off_by_one",
                "silent_success",
            ),
            *(
                "error_as_result",
                "turned_condition",
                "forgotten_effect",
                "overwritten_total",
                "applied_twice",
                "misspelt_attribute",
            ),
            *("wrong_status", "empty_answer", "fixed_date", "stale_clock"),
        )
    },
    "missing_where": statements.forget_where,
    "row_not_inserted": statements.forget_insert,
    "counted_keys": statements.number_rows,
    "stale_answer": statements.answer_stale,
    "crash_on_unknown_key": statements.crash_on_unknown,
    "misspelt_table": statements.misspell_table,
    "forgotten_filter": statements.forget_filter,
    "wrong_join": statements.match_other_column,
    "limited_rows": statements.limit_rows,
    "random_order": statements.order_by_chance,
    "case_sensitive": statements.mind_case,
    "beginnings_only": statements.match_beginning,
    "write_on_read": statements.write_on_read,
}

TRIALS: dict[str, Plant[TrialsReply]] = {
    name: tabling.over_rows(plant)
    for name, plant in TESTS.items()
    if name not in ("dangling_reference",)
}

TOOLSET: dict[str, PlantBlueprint | Plant[ToolsetReply]] = {
    **{
        name: BLUEPRINT[name]
        for name in (
            "forbidden_name",
            "tool_planned_twice",
            "tool_without_records",
            "wrong_effect",
            "nothing_to_change",
        )
    },
    **{name: BLUEPRINT[name] for name in ("contradictory_rules", "changed_limit")},
    "disagreeing_sorts": promising.sort_otherwise,
    "reference_to_no_table": promising.refer_nowhere,
    "row_half_made": promising.leave_unset,
    "tool_without_promise": promising.promise_nothing,
    "misspelt_table": promising.misspell_table,
}

CASES: dict[str, Plant[CasesReply]] = {
    "wrong_expectation": casing.expect_wrongly,
    "lost_row": casing.lose_called_row,
    "invented_row": casing.invent_row,
    "missing_value": casing.omit_value,
    "missing_argument": casing.forget_argument,
    "untested_tool": casing.test_nothing,
    "change_half_told": casing.leave_out_part,
}

DEBUG: dict[str, Plant[DebugReply]] = {
    "right_test_blamed": casing.blame_test,
    "right_tool_blamed": casing.blame_tool,
    "method_unmended": casing.leave_method,
    "other_tool_mended": casing.mend_other_tool,
    "test_passed_over": casing.pass_over,
    "repeated_test": casing.mend_as_other,
}

CHAIN: dict[str, Plant[ChainReply]] = {
    "unsaid_value": chaining.leave_unsaid,
    "path_to_nowhere": chaining.misspell_path,
    "nobody_picked": chaining.pick_nobody,
    "recited_key": chaining.recite_key,
    "step_left_out": chaining.forget_step,
    "unknown_tool": chaining.call_unknown_tool,
}

SKETCH: dict[str, PlantBlueprint] = {
    name: BLUEPRINT[name]
    for name in (
        "omitted_rule",
        "contradictory_rules",
        "changed_limit",
        "forbidden_name",
        "tool_planned_twice",
    )
}

METADATA: dict[str, PlantBlueprint | Plant[InterfaceReply] | Plant[MetadataReply]] = {
    **INTERFACE,
    "number_as_truth": signing.give_other_type,
    "promised_value": signing.promise_more,
    "wrapped_reply": signing.wrap_reply,
    "renamed_input": signing.rename_input,
}

REWORD: dict[str, Plant[RewordReply]] = {
    "leaked_id": rewording.leak_id,
    "leaked_tool": rewording.name_tool,
    "nobody_named": rewording.name_nobody,
    "changed_fact": rewording.change_fact,
    "changed_number": rewording.change_number,
}

KINDS: dict[str, Mapping[str, Plant[Any]]] = {
    "theme": THEME,
    "blueprint": BLUEPRINT,
    "program": PROGRAM,
    "skeleton": parting.SKELETON,
    "methods": parting.METHODS,
    "tests": TESTS,
    "scenario": SCENARIO,
    "checks": CHECKS,
    "tester": TESTER,
    "checker": CHECKER,
    "ruling": RULING,
    "suspicion": SUSPICION,
    "names": NAMES,
    "requirements": REQUIREMENTS,
    "schema": SCHEMA,
    "rows": ROWS,
    "interface": INTERFACE,
    "code": CODE,
    "trials": TRIALS,
    "toolset": TOOLSET,
    "cases": CASES,
    "debug": DEBUG,
    "chain": CHAIN,
    "sketch": SKETCH,
    "metadata": METADATA,
    "reword": REWORD,
}
"""Prompt → mistakes that only its replies can hold; those of ANYWHERE come on top."""
ALIKE = {"walk": "scenario", "topology": "chain", "dag": "chain", "state": "schema"}
"""Prompts whose replies are another one's; where neither says any, mistakes are of writing
alone."""


def pick_fault(
    prompt: str, case: FaultCase[Any], dice: random.Random, without: frozenset[str] = frozenset()
) -> PlantedFault | None:
    """The mistake that chance decides on; none only if no kind finds a place."""
    names = sorted(
        {
            *ANYWHERE,
            *(ON_RESULTS if uses_results(case) else KINDS.get(ALIKE.get(prompt, prompt), {})),
        }
        - without
    )
    dice.shuffle(names)
    return next((fault for name in names if (fault := plant_kind(prompt, name, case))), None)


def plant_kind(prompt: str, kind: str, case: FaultCase[Any]) -> PlantedFault | None:
    """A mistake of this kind, or none when this reply has no place for it."""
    dice = make_dice(
        "plant", prompt, kind, case.domain.theme, case.domain.names[0], case.seed, case.key
    )
    clean = render_reply(case.reply)
    if kind in ANYWHERE:
        spoilt = ANYWHERE[kind](clean, dice)
        return PlantedFault(kind, spoilt, clean, words=(ANYWHERE[kind].__doc__ or "").strip())
    plant = (ON_RESULTS if uses_results(case) else KINDS[ALIKE.get(prompt, prompt)]).get(kind)
    if plant is None or (planted := plant(case, dice)) is None:
        return None
    return PlantedFault(kind, _write(planted.reply), clean, planted.pairs, planted.words)


def render_reply(reply: Contract) -> str:
    """A reply as text."""
    return _write(reply.model_dump(mode="json"))


def _write(reply: Json) -> str:
    return json.dumps(reply, ensure_ascii=False)
