"""The gates over terminals: what each asks of a machine or a broken one; of those that ask nothing
here, why."""

from collections.abc import Mapping

from envmill.kinds.base import Look
from envmill.kinds.terminal.gates import machine, mended
from schemas.ledger import ReasonClass

LOOKS: dict[str, Look] = {
    "W1": machine.check_interface,
    "W2": machine.check_health,
    "W5": machine.check_again,
    "W6": machine.check_odd_arguments,
    "S1": mended.check_oracle,
    "S2": mended.check_idlers,
    "S3": mended.check_dropped_steps,
    "S4": mended.check_mutants,
    "S5": mended.check_collateral,
    "S6": mended.check_other_routes,
    "S9": mended.check_leaks,
    "S11": mended.check_five_times,
    "S12": mended.check_criteria,
    "S13": mended.check_forgers,
    "S14": mended.check_siblings,
}

NOT_HERE: dict[str, str] = {
    "W3": "a machine has no stored tests of its tools: its health check is asked by W2",
    "W4": "the tool is a shell, and no rules of an author's say what it must do",
    "W7": "arguments are refused before the container is asked; W6 looks at the state afterwards",
    "W8": "a shell's writes are not declared",
    "W9": "what contains a container is measured by `envmill doctor`, and is the same for every "
    "environment",
    "W11": "a shell's replies are the kernel's and its programs', no author's",
    "W12": "a shell's replies are the kernel's and its programs', no author's",
    "W13": "a shell's replies are the kernel's and its programs', no author's",
    "S7": "no check is generated: the examination is ours, and where it gives no report the "
    "verdict is an error",
    "S8": "whether everything needed can be read on the machine is asked when faults are composed; "
    "of errands the attempts of F1 say it",
    "S10": "requests are composed from complaints, which name no date and no amount; of errands "
    "tests ask for both",
    "S17": "requests over machines hide nothing that a user could be asked for",
    "S18": "a shell's replies are the kernel's and its programs', no author's",
    "S15": "a machine has no rows to confuse: the request names the administrator's page, or every "
    "path",
}

CODES: Mapping[str, Mapping[str, ReasonClass]] = {
    "W1": {"interface": "proof"},
    "W2": {
        **dict.fromkeys(
            ("no_machine", "does_not_construct", "unhealthy", "not_lasting", "changes_by_itself"),
            "proof",
        )
    },
    "W5": {"flaky": "proof"},
    "W6": {"not_rejected": "proof", "rejection_changes": "proof"},
    "S1": {"oracle_fails_to_run": "proof", "oracle_fails": "proof", "oracle_differs": "proof"},
    "S2": {"attack_paid": "proof"},
    "S3": {"survives_without": "proof"},
    "S4": {"mutant_survives": "proof"},
    "S5": {"collateral_unseen": "proof"},
    "S6": {"route_refused": "proof"},
    "S9": {"told": "suspicion", "left_behind": "proof"},
    "S11": {"oracle_fails": "proof", "oracle_differs": "proof", "start_differs": "proof"},
    "S12": {"no_goal": "proof", "goal_says_nothing": "proof", "guard_says_nothing": "proof"},
    "S13": {"forger_paid": "proof"},
    "S14": {"sibling_passes": "proof"},
}
"""Class of the reason codes that the gates over terminals report, by gate."""
