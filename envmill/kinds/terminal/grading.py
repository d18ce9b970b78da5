"""What a judge inside of a container can tell: whether a machine's state equals what is asked
for."""

from schemas.scenario import Scenario


def find_ungraded(scenario: Scenario) -> str:
    """Why a scenario cannot be judged inside a container; empty where it can."""
    verifier = scenario.verifier
    if verifier.partial or verifier.procedure or verifier.facts or verifier.harm:
        return "its verifier asks for more than an end state"
    if "" in scenario.initial_state["places"]:
        return (
            "nobody says where its machine may be changed, and no container hands over all that "
            "it is"
        )
    if strange := [each.op for each in (*verifier.goals, *verifier.guards) if each.op != "equals"]:
        return f"one of its checks is {strange[0]!r}, which the judge inside does not know"
    return ""
