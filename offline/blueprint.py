"""The blueprint: the domain model told in words."""

from offline.consent import write_consent
from offline.domain import Domain, Operation, OperationParameter
from offline.matters import write_clauses
from schemas.environment import ToolPlan
from schemas.prompts import BlueprintReply


def write_blueprint(domain: Domain) -> BlueprintReply:
    """Name, state, rules, tools and policy document of a variation."""
    return BlueprintReply(
        name=domain.names[0],
        summary=" ".join([domain.text, *domain.features.values()]),
        collections={name: ["id", *each.attributes] for name, each in domain.collections.items()},
        rules=list_rules(domain),
        tools=[
            ToolPlan(name=name, description=each.does, effect=each.effect)
            for name, each in domain.operations.items()
        ],
        policy=write_policy(domain),
    )


def list_rules(domain: Domain) -> list[str]:
    """Every rule once, limits filled in, in the order of the operations."""
    return list(
        dict.fromkeys(
            rule for each in domain.operations.values() for rule in _render_rules(each, domain)
        )
    )


def write_policy(domain: Domain) -> str:
    """The few lines a person in this job would be given."""
    told = (
        f"You are {domain.role}. Look people and things up before you change anything, do exactly "
        "what is asked and nothing besides, "
        "and leave the records alone when a rule forbids the change; say which rule it is. Where "
        "a request fits several records, or lacks "
        "something that cannot be looked up, ask before you change anything. "
        f"{write_clauses(domain)}"
    )
    return f"{told} {consent}" if (consent := write_consent(domain)) else told


def _render_rules(operation: Operation, domain: Domain) -> list[str]:
    if operation.effect == "query":
        return []
    ranges = [_describe_range(operation, each, domain) for each in operation.takes if each.between]
    return [domain.render_rule(each) for each in operation.must] + ranges


def _describe_range(operation: Operation, parameter: OperationParameter, domain: Domain) -> str:
    assert parameter.between is not None
    low, high = (domain.bound(each) for each in parameter.between)
    kind = "number" if parameter.annotation == "float" else "whole number"
    return f"{operation.name}: {parameter.name} is a {kind} from {low} to {high}."
