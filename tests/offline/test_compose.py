"""Variations of a theme differ in structure and keep to the sizes asked for."""

import re

import pytest

from envmill.base.errors import SettingsError
from envmill.kinds.start import CLOCK
from envmill.recipes.drafting.themes import read_themes
from offline.compose import compose_domain
from offline.knowledge import FOLDER, load_domain
from offline.population import TODAY
from schemas.seed import Brief
from tests.offline.questions import SAMPLE, THEMES, ask_blueprint


def test_themes_are_the_files_in_name_order() -> None:
    names = [name for name, _ in read_themes()]
    assert names == sorted(path.stem for path in FOLDER.glob("*.toml"))
    assert {"clinic_scheduling", "hotel_booking", "tool_lending"} < set(names)
    assert all(len(text) > 40 for _, text in read_themes())


@pytest.mark.parametrize("theme", SAMPLE)
def test_neighbouring_numbers_differ_with_names_and_limits_erased(theme: str) -> None:
    shapes = set[str]()
    for number in range(8):
        reply = ask_blueprint(theme, number)
        rules = sorted(re.sub(r"\d+", "#", rule) for rule in reply.rules)
        shapes.add(
            str(
                [
                    sorted(reply.collections.items()),
                    rules,
                    sorted(tool.name for tool in reply.tools),
                ]
            )
        )
    assert len(shapes) == 8


@pytest.mark.parametrize("theme", SAMPLE)
def test_sizes_hold_for_every_variation(theme: str) -> None:
    for number in range(40):
        reply = ask_blueprint(theme, number, seed=number % 3)
        assert 3 <= len(reply.collections) <= 5
        assert 8 <= len(reply.tools) <= 14
        assert {"query", "change"} == {tool.effect for tool in reply.tools}
        assert len(reply.rules) == len(set(reply.rules)) >= 6
        assert not [rule for rule in reply.rules if "{" in rule]


@pytest.mark.parametrize("theme", SAMPLE)
def test_every_change_that_can_be_asked_for_has_words_in_every_variation(theme: str) -> None:
    for number in range(40):
        domain = compose_domain(Brief(theme=theme, text=THEMES[theme], number=number), 0)
        for operation in domain.changes:
            whole = load_domain(theme).operations[operation.name]
            assert bool(operation.asks) == bool(whole.asks), operation.name
            assert bool(operation.tells) == bool(whole.tells), operation.name


def test_unknown_theme_lists_the_known_ones() -> None:
    with pytest.raises(SettingsError, match=r"clinic_scheduling, .*, tool_lending"):
        load_domain("moon_mining")


def test_sessions_start_on_the_day_the_author_supposes() -> None:
    assert TODAY.isoformat() == CLOCK[:10]


@pytest.mark.parametrize("theme", THEMES)
def test_no_tool_is_called_by_a_word_that_a_request_may_use(theme: str) -> None:
    """A plain word in a request would name the tool."""
    assert [name for name in load_domain(theme).operations if "_" not in name] == []


def test_what_a_lookup_needs_is_in_the_name_people_use() -> None:
    """Else nobody who knows only the name finds the row. A party is named with its table by every
    phrase that speaks of it."""
    missing = [
        (theme, name)
        for theme in THEMES
        for name, each in load_domain(theme).collections.items()
        for attribute in each.lookup.using.values()
        if not re.search(rf"{{{attribute.removesuffix('_id')}[.}}]", each.label)
    ]
    assert missing == [("restaurant_orders", "parties")]
