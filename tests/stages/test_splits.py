"""Splits: whole domains, the same in every run, and no cluster of like environments in two of
them."""

import random
from collections import Counter

import pytest

from envmill.gates.w10 import find_duplicates
from envmill.language.similarity import share
from envmill.stages import splits as splitting
from envmill.stages.splits import Holdout, assign_splits, find_clusters, split_domain
from schemas.environment import Environment, Tool
from schemas.run import RunConfig
from schemas.seed import Brief
from tests.gates.specimens import make_studio
from tests.gates.test_w10 import COPIES, OTHERS
from tests.specimens import make_environment

HOLDOUT: Holdout = {"validation": 10, "test": 20}
DOMAINS = [f"domain_{number}" for number in range(3000)]


def make_in(domain: str, environment: Environment, **changes: object) -> Environment:
    """The same in another domain."""
    brief = Brief(theme=domain, text="A shed.", number=0)
    return Environment.model_validate(
        environment.model_dump(exclude={"id"}) | {"brief": brief} | changes
    )


def rename_tools(environment: Environment) -> list[Tool]:
    """Nothing of the interface left."""
    return [tool.model_copy(update={"name": f"other_{tool.name}"}) for tool in environment.tools]


def test_shares_are_what_was_asked_for() -> None:
    given = Counter(split_domain(domain, HOLDOUT) for domain in DOMAINS)
    assert 0.07 < given["validation"] / len(DOMAINS) < 0.13
    assert 0.17 < given["test"] / len(DOMAINS) < 0.23


def test_more_held_out_leaves_what_was_held_out() -> None:
    """A run with another share trains on nothing that was a test before."""
    tested = {domain for domain in DOMAINS if split_domain(domain, {"test": 10}) == "test"}
    assert {
        domain
        for domain in DOMAINS
        if split_domain(domain, {"test": 20, "validation": 30}) == "test"
    } > tested


def test_a_domain_is_in_one_split() -> None:
    shed = make_environment()
    some = [
        make_in(f"domain_{number % 40}", shed, rules=[str(number)], tools=rename_tools(shed))
        for number in range(80)
    ]
    some = [
        make_in(one.brief.theme, one, files={"program.py": f"x = {number}"})
        for number, one in enumerate(some)
    ]
    splits = assign_splits(some, HOLDOUT)
    assert len({(one.brief.theme, splits[one.id]) for one in some}) == 40


@pytest.mark.parametrize("copy", COPIES)
def test_copies_in_two_domains_are_one_cluster_and_the_stricter_split_wins(copy: str) -> None:
    train = next(domain for domain in DOMAINS if split_domain(domain, HOLDOUT) == "train")
    tested = next(domain for domain in DOMAINS if split_domain(domain, HOLDOUT) == "test")
    studio = make_studio()
    one = make_in(train, studio)
    other = make_in(
        tested, make_studio(COPIES[copy], tools=studio.tools), tools=rename_tools(studio)
    )
    assert "dropped" in {finding.outcome for finding in find_duplicates([one, other]).values()}
    assert find_clusters([one, other]) == [sorted([train, tested])]
    assert set(assign_splits([one, other], HOLDOUT).values()) == {"test"}
    assert assign_splits([other, one], HOLDOUT) == assign_splits([one, other], HOLDOUT)


@pytest.mark.parametrize("other", OTHERS)
def test_what_differs_in_rules_and_interface_stays_apart(other: str) -> None:
    studio = make_studio()
    some = [
        make_in("one", studio),
        make_in("other", make_studio(OTHERS[other]), tools=rename_tools(studio)),
    ]
    assert find_clusters(some) == [["one"], ["other"]]


def test_the_same_interface_over_another_program_is_one_cluster() -> None:
    shed = make_environment()
    assert find_clusters(
        [make_in("one", shed), make_in("other", shed, files={"program.py": "class Shed: pass"})]
    ) == [["one", "other"]]


def test_likeness_goes_on_from_one_to_the_next() -> None:
    studio = make_studio()
    shed = make_in("middle", make_environment(tools=studio.tools), tools=studio.tools)
    copied = make_in("last", make_environment(), tools=rename_tools(studio))
    assert find_clusters([make_in("first", studio), shed, copied]) == [["first", "last", "middle"]]


def test_shares_are_read_from_text_and_only_of_what_is_held_out() -> None:
    assert RunConfig.model_validate({"holdout": "test=5"}).holdout == {"test": 5}
    with pytest.raises(ValueError, match="what is not held out is trained on"):
        RunConfig.model_validate({"holdout": {"train": 50}})


def cluster_plainly(environments: list[Environment]) -> list[list[str]]:
    """Domains that belong together, every environment beside every other, all in memory, no index."""
    tells = (splitting._list_interface, splitting._list_program)
    clusters = [{domain} for domain in sorted({one.brief.theme for one in environments})]
    for number, one in enumerate(environments):
        for other in environments[:number]:
            if any(share(tell(one), tell(other)) >= splitting._ALIKE for tell in tells):
                met = [
                    cluster
                    for cluster in clusters
                    if cluster & {one.brief.theme, other.brief.theme}
                ]
                clusters = [cluster for cluster in clusters if cluster not in met] + [
                    set[str]().union(*met)
                ]
    return sorted(sorted(cluster) for cluster in clusters)


@pytest.mark.long
@pytest.mark.parametrize("seed", range(3))
def test_clusters_on_disk_are_those_of_a_comparison_of_all(seed: int) -> None:
    """Domains that share some tools, all, or none."""
    dice, studio = random.Random(seed), make_studio()
    tool, *_ = studio.tools
    some: list[Environment] = []
    for number in range(40):
        group = dice.choice("abcdefgh")
        names = [f"{group if dice.random() < 0.8 else number}_{place}" for place in range(8)]
        tools = [tool.model_copy(update={"name": name, "parameters": {}}) for name in names]
        program = f"class C:\n    def go(self):\n        if self.x{'[0]' * number}:\n            return {number}\n"
        some.append(
            make_in(
                f"domain_{dice.randrange(25)}",
                make_studio(program, tools=studio.tools),
                tools=tools,
            )
        )
    clusters = find_clusters(some)
    assert clusters == cluster_plainly(some)
    assert 1 < len(clusters) < len({one.brief.theme for one in some})
    assert find_clusters(dice.sample(some, len(some))) == clusters
