"""W10: the same structure again, and structures that differ."""

from envmill.gates.w10 import find_duplicates
from tests.specimens import PROGRAM, make_environment


def test_takes_a_program_deeper_than_our_stack() -> None:
    deep = "def pick(x):\n    if x == 0: return 0\n" + "".join(f"    elif x == {n}: return {n}\n" for n in range(1, 3000))
    assert find_duplicates([make_environment(PROGRAM + deep), make_environment()]).values()


def test_keeps_the_first_of_a_structure_in_id_order() -> None:
    twins = [make_environment(PROGRAM.replace("drill", "x").replace("Shed", "Barn").replace("lent", "gone")), make_environment()]
    other = make_environment(PROGRAM.replace("if not self.tools", "if self.loans or not self.tools"))
    findings = find_duplicates([*twins, other])
    first, second = sorted(twins, key=lambda one: one.id)
    assert [findings[one.id].outcome for one in (first, second, other)] == ["kept", "dropped", "kept"]
    assert find_duplicates([other, *reversed(twins)]) == findings
