"""What a word that points back stands for."""

import pytest

from envmill.agents.attackers.state_index import StateIndex
from envmill.gates.reading.coreference import name_antecedents

STOCK = StateIndex.of({
    "hives": {"h1": {"id": "h1", "tag": "H-464", "status": "strong"}, "h2": {"id": "h2", "tag": "H-849", "status": "strong"}},
    "members": {"m1": {"id": "m1", "name": "Ada Kern"}},
    "job_queues": {"q1": {"id": "q1", "name": "pine-garden"}},
})  # fmt: skip


@pytest.mark.parametrize(
    ("sentences", "last"),
    [
        pytest.param(
            ["Give hive H-464 2 supers;", "harvest 7 kilos from that hive."],
            "harvest 7 kilos from that hive H-464.",
            id="named before",
        ),
        pytest.param(
            ["Move H-464 and H-849;", "feed the same hive."],
            "feed the same hive H-849.",
            id="the last of two",
        ),
        pytest.param(
            ["Lend it to Ada Kern, and take that member's money."],
            "Lend it to Ada Kern, and take that member Ada Kern's money.",
            id="one sentence",
        ),
        pytest.param(
            ["Delete pine-garden.", "That job queue is old."],
            "That job queue pine-garden is old.",
            id="two words",
        ),
        pytest.param(
            ["All hives are strong.", "Feed that hive."], "Feed that hive.", id="none named"
        ),
        pytest.param(
            ["Feed H-464.", "I heard that hives are sold."],
            "I heard that hives are sold.",
            id="no pointer",
        ),
    ],
)
def test_a_pointing_word_is_followed_by_what_it_means(sentences: list[str], last: str) -> None:
    assert name_antecedents(sentences, STOCK)[-1] == last
