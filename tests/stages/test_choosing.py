"""Themes judged against each other: what they share orders them, and leaves none out while more are
wanted."""

import json
import random
from collections import Counter
from collections.abc import Sequence

import pytest

from envmill.models.embedding import Vector, embed_lexical
from envmill.recipes.drafting.themes import read_themes
from envmill.stages.choosing import choose_seeds
from envmill.stages.clustering import find_clusters
from schemas.choice import Past
from schemas.prompts import ThemeReply
from schemas.seed import Brief, Seed
from tests.real_authors.corpus import ROOT
from tests.soak import count

NO_FIELD = ""


def make_seed(
    theme: str, text: str, score: int = 8, source: str = "", field: str = NO_FIELD, number: int = 0
) -> Seed:
    brief = Brief(theme=theme, text=text, number=number)
    told = {"source": source or theme, "usefulness": score, "modelability": 8, "field": field}
    return Seed.model_validate({"recipe": "envscaler", "brief": brief, "licence": "MIT"} | told)


LENDING = make_seed("tool_lending", "Neighbours lend each other tools from a shared shed.", 9)
SAME = make_seed("tool_library", "Neighbours lend one another tools from a shared shed.")
AGAIN = make_seed("tool_lending", "A place where anything at all is done.", source="other")
LIKE = make_seed(
    "book_lending", "A shelf from which readers lend each other books, and what is overdue."
)
FAR = make_seed(
    "blood_bank", "Donors give blood, which is tested, kept and handed to hospitals.", 7
)
SEEDS = [SAME, LENDING, LIKE, FAR, AGAIN]


def choose(seeds: Sequence[Seed], wanted: int, past: Past | None = None) -> set[str]:
    """Descriptions of those that go on."""
    left = choose_seeds(seeds, wanted, past=past or Past())
    return {seed.brief.text for seed in seeds if seed.id not in left}


def test_what_is_like_a_better_one_comes_last_and_says_what_it_is_like() -> None:
    assert choose(SEEDS, 1) == {LENDING.brief.text}
    assert choose(SEEDS, 2) == {LENDING.brief.text, FAR.brief.text}
    assert choose(SEEDS, 3) == {LENDING.brief.text, FAR.brief.text, LIKE.brief.text}
    left = choose_seeds(SEEDS, 2)
    assert {finding.reason for finding in left.values()} == {"over_quota", "same_theme"}
    assert "with 'tool_lending'" in left[SAME.id].detail
    assert choose_seeds(SEEDS[::-1], 2) == left, "the order they come in is of no account"


def test_words_alone_leave_out_none() -> None:
    for wanted in (4, 9):
        assert choose(SEEDS, wanted) == {seed.brief.text for seed in SEEDS} - {AGAIN.brief.text}
    assert choose_seeds(SEEDS, 9)[AGAIN.id].reason == "same_theme", "a run has no theme twice"


def test_two_worlds_of_one_field_wait_for_one_of_another() -> None:
    """Their words share nothing; their author counted them to one field."""
    seeds = [
        make_seed("pilot_dispatch", "Who brings ships in, under rest rules.", 9, field="shipping"),
        make_seed("berth_plan", "Quays with depths, and tides.", 9, field="shipping"),
        make_seed("choir", "Rehearsals of a parish.", 6, field="culture"),
    ]
    assert choose(seeds, 2) == {
        seeds[2].brief.text,
        min(seeds[:2], key=lambda one: one.id).brief.text,
    }
    unjudged = [one.model_copy(update={"field": NO_FIELD}) for one in seeds]
    assert choose(unjudged, 2) == {seed.brief.text for seed in seeds[:2]}


def test_what_earlier_nights_used_comes_after_what_they_did_not() -> None:
    used = make_seed("tool_lending", LENDING.brief.text, 10, number=1)
    assert choose([used, FAR], 1) == {FAR.brief.text}
    assert choose([used, FAR], 2) == {FAR.brief.text, used.brief.text}
    past = Past(turns={"tool_lending": 1}, named={"tool_lending": LENDING.brief.text})
    assert choose([SAME, FAR], 1) == {SAME.brief.text}
    assert choose([SAME, FAR], 1, past) == {FAR.brief.text}, (
        "it is like a world of an earlier night"
    )
    assert choose([SAME, FAR], 1, Past(named=past.named)) == {SAME.brief.text}, (
        "that was named and never built"
    )


def test_no_two_harbours_of_the_recorded_run() -> None:
    """Two of eight themes that a real model found in a corpus were harbours, and both were
    built."""
    replies = [
        json.loads(path.read_text())["reply"]
        for path in sorted((ROOT / "envscaler/mined").glob("theme.*.json"))
    ]
    found = [reply for reply in map(ThemeReply.model_validate, replies) if reply.stateful]
    seeds = [
        Seed(
            recipe="envscaler",
            brief=Brief(theme=reply.theme, text=reply.description, number=0),
            licence="MIT",
            source=str(place),
            usefulness=reply.usefulness,
            modelability=reply.modelability,
        )
        for place, reply in enumerate(found)
    ]
    harbours = {"harbor_pilot_dispatch", "port_berth_operations"}
    for wanted in (2, 3, 4):
        left = choose_seeds(seeds, wanted)
        chosen = [seed.brief.theme for seed in seeds if seed.id not in left]
        assert len(chosen) == len(set(chosen)) == wanted
        assert len(harbours & set(chosen)) == 1, chosen
    assert {one.reason for one in choose_seeds(seeds, len(seeds)).values()} == {"same_theme"}


def point(text: str) -> Vector:
    """Themes of work at sea in one corner, all others in another."""
    return (1.0, 0.0) if "sea" in text else (0.0, 1.0)


def test_clusters_of_themes_take_turns_where_they_are_asked_for() -> None:
    """Their words share nothing, nor do their fields: what an embedder sees decides."""
    seeds = [
        make_seed("pilot_dispatch", "Who guides vessels at sea.", 10),
        make_seed("lighthouses", "Lamps and foghorns, by the sea.", 10),
        make_seed("wine_cellar", "Bottles, kept cool.", 5),
    ]
    cellar = seeds[2].id
    assert set(choose_seeds(seeds, 2)) == {cellar}
    assert cellar not in choose_seeds(seeds, 2, embed=lambda texts: list(map(point, texts)))
    assert cellar in choose_seeds(seeds, 1, embed=lambda texts: list(map(point, texts))), (
        "one cluster, and the worthiest of it"
    )
    assert choose_seeds(seeds, 3, embed=embed_lexical) == {}, (
        "none is left out while more are wanted"
    )


def test_clusters_are_the_same_whoever_counts() -> None:
    vectors = [(1.0, 0.0), (0.8, 0.6), (0.0, 1.0), (0.6, 0.8), (0.0, -1.0), ()]
    numbers = find_clusters(vectors, 3)
    assert numbers[0] == numbers[1] != numbers[4]
    assert len(set(numbers)) == 4, "a text without a word is a cluster of its own"
    assert len(set(find_clusters(vectors[:5], 9))) == 5
    assert find_clusters([(), ()], 2) == [-1, -2]
    texts = embed_lexical([text for _, text in read_themes()])
    assert find_clusters(texts, 8) == find_clusters(texts, 8)
    assert len(set(find_clusters(texts, 8))) == 8


def test_a_field_that_is_full_takes_no_further_theme() -> None:
    """Two of earlier nights and one of this night fill it; a theme without a field is in none."""
    harbours = [
        make_seed(f"harbour_{name}", f"A place of {name}.", 10, field="ports")
        for name in ("pilots", "cranes", "berths")
    ]
    others = [
        make_seed("wine_cellar", "Bottles, kept cool.", 5),
        make_seed("blood_bank", "Donors give blood.", 5, field="health"),
    ]
    past = Past(fields={"ports": 2})
    left = choose_seeds([*harbours, *others], 5, past=past, per_field=3)
    assert [left[seed.id].reason for seed in harbours if seed.id in left] == [
        "full_field",
        "full_field",
    ]
    assert not {seed.id for seed in others} & set(left)
    assert choose_seeds([*harbours, *others], 5, past=past) == {}, "0 sets no limit"
    assert choose_seeds([*harbours, *others], 5, past=past, per_field=5) == {}
    assert {one.reason for one in choose_seeds(harbours, 3, past=past, per_field=2).values()} == {
        "full_field"
    }


@pytest.mark.soak(area="mechanisms")
def test_no_field_grows_beyond_its_cap_and_no_other_theme_is_refused() -> None:
    """Night after night an author names places of two fields alone, and one of another field."""
    held, refused = Counter[str](), 0
    for night in range(count(6, 60)):
        seeds = [
            make_seed(
                f"place_{night}_{place}",
                f"Work of sort {night} {place}.",
                9,
                field=f"field_{place % 2}",
            )
            for place in range(5)
        ]
        seeds += [
            make_seed(f"other_{night}", f"Something else of {night}.", 7, field=f"other_{night}")
        ]
        left = choose_seeds(seeds, 6, past=Past(fields=dict(held)), per_field=10)
        refused += seeds[-1].id in left
        held.update(seed.field for seed in seeds if seed.id not in left)
    assert (held["field_0"], held["field_1"], refused) == (10, 10, 0)


NIGHT, REPEATED = 10, 2
"""Themes that an author names in a night, and those of them that repeat what it was told."""


def repeat(theme: str, text: str, chance: random.Random) -> tuple[str, str]:
    """A theme named again: under its name, with its words in another order, with another word, or
    with another name for the same place."""
    words = theme.split("_")
    other = chance.choice(
        (theme, "_".join(reversed(words)), "_".join([*words[:-1], "office"]), f"{theme}_records")
    )
    return other, text if other != theme else f"A place where {words[0]} work is written down."


@pytest.mark.soak(area="mechanisms")
def test_an_author_that_repeats_what_it_was_told_is_left_out_for_the_others() -> None:
    """A night wants as many themes as are new; earlier nights used a third of all, and their names
    were told."""
    chance, known = random.Random(24), read_themes()
    nights = count(4, 30)
    repeated = caught = refused = 0
    for _ in range(nights):
        drawn = chance.sample(known, len(known))
        used, fresh = drawn[: len(drawn) // 3], drawn[len(drawn) // 3 :]
        past = Past(turns={theme: 1 for theme, _ in used}, named=dict(used))
        again = [repeat(*one, chance) for one in chance.sample(used, REPEATED)]
        mine = [make_seed(theme, text, number=past.turns.get(theme, 0)) for theme, text in again]
        new = [make_seed(theme, text) for theme, text in fresh[: NIGHT - REPEATED]]
        left = choose_seeds([*new, *mine], len(new), past=past)
        repeated += len(mine)
        caught += sum(seed.id in left for seed in mine)
        refused += len(choose_seeds(new, len(new), past=past))
    assert (repeated, refused) == (REPEATED * nights, 0)
    assert caught >= repeated - repeated // 20, f"{caught} of {repeated}"
