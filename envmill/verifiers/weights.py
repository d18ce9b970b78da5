"""Weights of goals and facts: shares that sum to 1. With four or more parts, no share is over a
quarter."""

from collections.abc import Sequence

from schemas.scenario import Verifier

MOST = 0.25


def cap_weights(weights: Sequence[float]) -> list[float]:
    """Shares in the given proportions, as far as the cap allows. The other parts get the weight
    that the cap cuts off."""
    total = sum(weights)
    shares = [weight / total for weight in weights]
    if len(shares) < 4:
        return shares
    capped: set[int] = set()
    while over := {place for place, share in enumerate(shares) if share > MOST + 1e-12} - capped:
        capped |= over
        left = sum(shares[place] for place in range(len(shares)) if place not in capped)
        room = 1.0 - MOST * len(capped)
        shares = [
            MOST
            if place in capped
            else share * room / left
            if left
            else room / (len(shares) - len(capped))
            for place, share in enumerate(shares)
        ]
    return shares


def balance(verifier: Verifier) -> Verifier:
    """The same verifier, with other weights if a goal or fact weighs too much."""
    weights = [part.weight for part in (*verifier.goals, *verifier.facts)]
    if len(weights) < 4 or max(weights) <= MOST * sum(weights):
        return verifier
    shares = cap_weights(weights)
    goals = [
        goal.model_copy(update={"weight": share})
        for goal, share in zip(verifier.goals, shares, strict=False)
    ]
    facts = [
        fact.model_copy(update={"weight": share})
        for fact, share in zip(verifier.facts, shares[len(goals) :], strict=True)
    ]
    return verifier.model_copy(update={"goals": goals, "facts": facts})
