"""Paths that follow a sampled chain: what a path makes has another id in every session, so that a
look-up of it names the result."""

import pytest

from envmill.runtime.results import is_reference
from offline.domain import Domain, Operation
from offline.following import follow, lead_along
from offline.scenario import write_scenario
from schemas.chain import Chain, ChainStep, FromNode
from schemas.prompts import ScenarioReply
from tests.offline.questions import THEMES, compose


def sample_chain(domain: Domain) -> Chain | None:
    """Something is made that people ask for, and then looked at."""
    for name, maker in domain.operations.items():
        if not (maker.asks and maker.tells and any("new(" in step.do for step in maker.then)):
            continue
        for other, viewer in domain.operations.items():
            if viewer.effect == "query" and len(viewer.takes) == 1 and _shows(viewer, name):
                look = ChainStep(
                    id="s2",
                    tool=other,
                    arguments={viewer.takes[0].name: FromNode(node="s1", path="id")},
                )
                return Chain(sampler="walk", nodes=[ChainStep(id="s1", tool=name), look])
    return None


def _shows(viewer: Operation, maker: str) -> bool:
    return bool(viewer.takes[0].row) and viewer.takes[0].name.removesuffix("_id") in maker.split(
        "_"
    )


@pytest.mark.long
def test_a_look_up_of_what_the_path_makes_uses_the_result() -> None:
    followed = 0
    for place, theme in enumerate(sorted(THEMES)):
        domain = compose(theme, place)
        chain = sample_chain(domain)
        led = lead_along(domain, chain) if chain else None
        if chain is None or not isinstance(led, Domain):
            continue
        found = follow(write_scenario(led, f"following/{place}"), chain, led)
        if not isinstance(found, ScenarioReply):
            continue
        followed += 1
        look = next(step for step in chain.nodes[1:] if isinstance(step, ChainStep))
        made = [
            call
            for call in found.oracle
            if call.name == look.tool and any(map(is_reference, call.arguments.values()))
        ]
        assert made, (theme, found.oracle)
    assert followed >= 3
