"""The drawn curve is that of the names, and the pool grows from night to night."""

from tests.recipes.naming import NIGHTS, SVG, draw, grow_nights, list_recorded


async def test_the_figure_is_of_these_names() -> None:
    assert SVG.read_text(encoding="utf-8") == await draw(), "run python -m tests.recipes.naming"


async def test_later_nights_name_what_no_earlier_one_did() -> None:
    nights = await grow_nights()
    assert len(nights) == NIGHTS
    assert set(nights[1]) - set(nights[0])
    assert len(set(nights[0])) < len({theme for night in nights for theme in night})


def test_a_real_author_repeats_little() -> None:
    recorded = list_recorded()
    assert len(set(recorded)) >= 0.9 * len(recorded)
