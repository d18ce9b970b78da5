"""Splits: train, validation or test, given to whole domains and to whole clusters of like
environments before any scenario is thought up.

domain ──hash──► split ─┐
like environments ──────┴─► cluster ─► the split that is most held out among its domains
"""

import hashlib
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence

from envmill.gates.mutating.sketch import make_sketch
from envmill.lake.spool import RowSpool, Shelf
from envmill.language.similarity import Near, Runs, share
from schemas.environment import Environment
from schemas.scenario import Split

Holdout = Mapping[Split, int]
"""Percent of the domains that are held out, by split."""

_STRICTEST: tuple[Split, ...] = ("test", "validation", "train")
_ALIKE = 0.5
"""Share of what two environments have in common from which they are kept together, well below what
W10 drops. Of 82 offline environments of 41 domains no two of different domains share more than 0.04
of their tools and parameters, two of the same share 0.43 to 0.92."""


def split_domain(domain: str, holdout: Holdout) -> Split:
    """By the domain's name alone, so that it is the same in every run with these shares. What a larger
    share holds out contains what a smaller one did."""
    place = (
        int.from_bytes(hashlib.blake2b(f"split/{domain}".encode(), digest_size=8).digest())
        / 2**64
        * 100
    )
    test, validation = holdout.get("test", 0), holdout.get("validation", 0)
    return "test" if place < test else "validation" if place < test + validation else "train"


def assign_splits(environments: Sequence[Environment], holdout: Holdout) -> dict[str, Split]:
    """Environment id → split. Where like environments have domains with different splits, the most held out one wins for all of them."""
    domains = {one.id: one.brief.theme for one in environments}
    own: dict[str, Split] = {domain: split_domain(domain, holdout) for domain in domains.values()}
    if len(set(own.values())) < 2:
        return {name: own[domain] for name, domain in domains.items()}
    given: dict[str, Split] = {}
    for cluster in find_clusters(environments):
        found = {own[domain] for domain in cluster}
        given |= dict.fromkeys(cluster, next(one for one in _STRICTEST if one in found))
    return {name: given[domain] for name, domain in domains.items()}


def find_clusters(environments: Sequence[Environment]) -> list[list[str]]:
    """Domains that belong together, each in one cluster, in order."""
    leader = {one.brief.theme: one.brief.theme for one in environments}

    def lead(domain: str) -> str:
        while leader[domain] != domain:
            domain = leader[domain]
        return domain

    for one, other in _list_likenesses(environments):
        first, second = sorted((lead(one), lead(other)))
        leader[second] = first
    clusters: dict[str, list[str]] = defaultdict(list)
    for domain in sorted(leader):
        clusters[lead(domain)].append(domain)
    return list(clusters.values())


def _list_likenesses(environments: Iterable[Environment]) -> Iterator[tuple[str, str]]:
    """Pairs of domains with environments that are alike by interface, or by program under the same rules."""
    domains: dict[str, str] = {}
    tells, spool = (_list_interface, _list_program), RowSpool()
    told: list[Shelf[Runs]] = [spool.shelve(lambda runs: runs, lambda runs: runs) for _ in tells]
    near = [Near(_ALIKE / 2) for _ in tells]
    for one in environments:
        domains[one.id] = one.brief.theme
        for tell, shelf, index in zip(tells, told, near, strict=True):
            shelf.put(one.id, runs := tell(one))
            index.add(one.id, runs)
    for shelf, index in zip(told, near, strict=True):
        for name in domains:
            runs = shelf.get(name) or frozenset[str]()
            for other in index.find(runs):
                if (
                    domains[other] > domains[name]
                    and share(runs, shelf.get(other) or frozenset()) >= _ALIKE
                ):
                    yield domains[name], domains[other]


def _list_interface(environment: Environment) -> Runs:
    """Tools, and parameters under their tool."""
    tools = [tool.name for tool in environment.tools]
    return frozenset(
        [
            *tools,
            *(
                f"{tool.name}({name})"
                for tool in environment.tools
                for name in tool.parameters.get("properties", {})
            ),
        ]
    )


def _list_program(environment: Environment) -> Runs:
    """Neighbouring statements with names and literals erased, each under the rules of the whole: of
    another rule nothing is the same."""
    sketch = make_sketch(environment)
    return frozenset(f"{sketch.guards} {one}" for one in sketch.shingles)
