"""Every reason code by gate or stage, and its class: proof, suspicion or bookkeeping.

Gates of the repair loop declare their codes in their own module (`CODES`). This table has the gates
of the filters and the drops of the stages. A stage drops what it cannot use. The row contains the
reply, the run or the reviewer's opinion that shows this, so these codes are proofs.
"""

from collections.abc import Mapping

from envmill.gates import GATES
from schemas.ledger import ReasonClass

_PROOFS: dict[str, tuple[str, ...]] = {
    # Gates of the filters: each compares with a set, or counts rollouts that were played; what it
    # counted is in its evidence.
    "W10": ("duplicate", "near_duplicate"),
    "F1": ("unsolved", "user_fails", "environment_fails"),
    "F2": ("trivial",),
    "F3": ("same_text", "quotation", "copy", "reworded", "same_task"),
    "F4": ("repeat", "near_repeat", "same_errand", "same_state"),
    "F5": ("no_variance",),
    # Stages: what was asked for did not come, or does not run.
    "theme": (
        "protected",
        "not_stateful",
        "not_specific",
        "no_theme",
        "not_useful",
        "not_modelable",
    ),
    "choice": ("not_useful", "not_modelable", "no_theme", "same_theme", "full_field", "over_quota"),
    "blueprint": ("bad_reply", "bad_plan", "bad_database", "locked"),
    "build": (
        *(
            "bad_reply",
            "does_not_build",
            "locked",
            "bad_image",
            "image",
            "bad_test",
            "initial_test",
            "final_test",
            "solution",
        ),
        *("no_report", "not_as_told", "passes_untouched", "step_fails", "tells_answer"),
        *("oracle_fails", "oracle_spoils", "oracle_strays", "oracle_does_not_last"),
        *("restart_missing", "restart_unseen", "bad_system", "too_few_faults"),
    ),
    "oracle": (
        *(
            "bad_reply",
            "locked",
            "oracle_*",
            "chain_*",
            "infeasible",
            "nothing_told",
            "bad_fact",
            "agent_idle",
            "errand_left",
        ),
        *(
            "identity_missing",
            "identity_differs",
            "identity_unshared",
            "servers_apart",
            "server_not_needed",
        ),
        *("path_short", "path_long", "not_harder", "only_repeats"),
        *("records_unlike", "reference_lost", "state_not_kept"),
        *(
            "no_opening",
            "opening_tells",
            "opening_delegates",
            "user_contradicts",
            "user_lacks_fact",
        ),
        *(
            "check_not_idempotent",
            "flaky",
            "not_mended",
            "not_the_opposite",
            "same_place",
            "undeclared_change",
            "no_composition",
        ),
    ),
    # Atoms of a dialogue: claims that were played in the jail and do not hold.
    "atoms": (
        *("bad_reply", "bad_atoms", "not_settled", "not_healthy", "not_broken", "fix_refused"),
        *("look_changes", "nothing_changes", "fixed_early", "not_fixed", "fixed_after_all"),
        *("idle_step", "one_sided", "policy_broken"),
    ),
    # Lines of an errand plan: what is wrong with one, and what became of its place. None of them
    # drops a scenario.
    "errand": ("bad_reply", "no_line", "line_*", "left_by_author"),
    "verifier": (
        *("oracle_unstable", "no_verifier", "bad_reply", "checks_do_not_hold", "locked"),
        *("oracle_misjudged", "do_nothing_misjudged", "words_alone_misjudged"),
    ),
    "reply": ("bad_reply",),
    "given": ("not_there", "handed_over"),
    "loop": ("weakened", "not_repeated"),
    "review": ("rejected", "locked"),
    "licence": ("nothing_to_export",),
    "protected": ("nothing_to_export",),
    "scan": ("nothing_to_export",),
    "terms": ("nothing_to_export",),
    "splits": ("same_task", "two_splits"),
    "provisional": ("nothing_to_export",),
    "suspected": ("nothing_to_export",),
    "rejection": ("no_pass",),
    **dict.fromkeys(("validity", "end_state", "function_match"), ("none_left",)),
}

STAGES: dict[str, dict[str, ReasonClass]] = {
    name: dict.fromkeys(codes, "proof") for name, codes in _PROOFS.items()
}
STAGES["loop"]["vaguer"] = "suspicion"
STAGES["F3"]["like_task"] = "suspicion"
"""Gate of a filter, or name of a stage's own finding → class of each reason code."""

CODES: Mapping[str, Mapping[str, ReasonClass]] = {
    **{name: gate.codes for name, gate in GATES.items()},
    **STAGES,
}
"""The same for every gate."""


def find_class(name: str, reason: str) -> ReasonClass | None:
    """Class of a reason code of a gate or stage; None for a code that is not declared. A key that
    ends in `*` covers a prefix."""
    codes = CODES.get(name, {})
    prefixes = (code for code in codes if code.endswith("*") and reason.startswith(code[:-1]))
    return codes[key] if (key := reason if reason in codes else next(prefixes, "")) else None
