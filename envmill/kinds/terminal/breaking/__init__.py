"""Breaking a healthy system: fault operators by name, and every fault that a system's handles
allow.

handle (which file holds the port) ──operator──► break script · mend script, its exact opposite · what has to be known for it
"""

import random
from collections.abc import Iterator

from envmill.base.errors import SettingsError
from envmill.kinds.terminal.breaking import lines, places, stores
from envmill.kinds.terminal.breaking.base import Operator, OperatorInput
from envmill.sandbox.machines.healthy import Healthy
from schemas.system import Fault

__all__ = ["OPERATORS", "list_faults"]

OPERATORS: dict[str, Operator] = {
    "wrong_port": lines.spoil_value("wrong_port"),
    "wrong_path": lines.spoil_value("wrong_path"),
    "wrong_address": lines.spoil_value("wrong_address"),
    "wrong_user": lines.spoil_value("wrong_user"),
    "wrong_number": lines.spoil_value("wrong_number"),
    "wrong_schedule": lines.spoil_value("wrong_schedule"),
    "wrong_locale": lines.spoil_value("wrong_locale"),
    "wrong_version": lines.spoil_value("wrong_version"),
    "wrong_name": lines.spoil_value("wrong_name"),
    "wrong_switch": lines.spoil_value("wrong_switch"),
    "wrong_interpreter": lines.spoil_value("wrong_interpreter"),
    "wrong_order": lines.spoil_value("wrong_order"),
    "swapped_keys": lines.swap_keys,
    "broken_syntax": lines.break_syntax,
    "missing_line": lines.miss_line,
    "commented_line": lines.comment_line,
    "doubled_line": lines.double_line,
    "overruled_line": lines.overrule_line,
    "blanks_for_tab": lines.indent_with_blanks,
    "wrong_owner": places.give_away,
    "wrong_mode": places.shut,
    "not_executable": places.disarm,
    "missing_directory": places.remove_directory,
    "file_for_directory": places.put_file_in_place,
    "missing_file": places.lose_file,
    "truncated_file": places.cut_file,
    "bad_encoding": places.recode,
    "carriage_returns": places.return_carriages,
    "unended_line": places.unend,
    "stray_file": places.leave_stray,
    "dead_link": stores.kill_link,
    "stale_link": stores.turn_link,
    "missing_link": stores.lose_link,
    "leaked_lock": stores.leak_lock,
    "stale_pid": stores.leave_pid,
    "full_quota": stores.fill_quota,
    "corrupt_row": stores.corrupt_row,
    "missing_row": stores.lose_row,
    "locked_database": stores.lock_database,
    "wrong_branch": stores.turn_branch,
}


def list_faults(healthy: Healthy, dice: random.Random) -> Iterator[Fault]:
    """Every fault that the system declares, handle by handle, and those that were proposed for it;
    one that does not apply where it is
    declared is an error of the data."""
    for handle in healthy.system.handles:
        for name in handle.can:
            operator = OPERATORS.get(name)
            fault = operator(OperatorInput(healthy, handle, dice)) if operator else None
            if fault is None:
                why = f"{name} does not apply to the handle {handle.name}"
                raise SettingsError(
                    f"System {healthy.system.name}: {why}. Mend its system.toml.",
                    system=healthy.system.name,
                )
            yield fault
    yield from healthy.system.faults
