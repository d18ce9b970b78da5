"""Programs as text: what does not compile is said in one line with its place. Nothing is executed
here."""

import pytest

from envmill.runtime.program import MAX_SOURCE, ProgramFault, ProgramImporter


@pytest.mark.parametrize(
    ("files", "entry", "words"),
    [
        pytest.param(
            {"shop.py": "class C:\n  def f(self:\n"},
            "shop:C",
            "shop.py, line 2: SyntaxError",
            id="syntax",
        ),
        pytest.param({"shop.py": "x = '\0'"}, "shop:C", "null bytes", id="null-byte"),
        pytest.param({"shop.py": "x = " + "(" * 9000}, "shop:C", "shop.py", id="nesting"),
        pytest.param({"shop.py": "#" * (MAX_SOURCE + 1)}, "shop:C", "more than the", id="size"),
        pytest.param({"shop.py": ""}, "market:C", "no file market.py", id="entry"),
        pytest.param({"json.py": ""}, "json:C", "would hide the module 'json'", id="shadow"),
        pytest.param(
            {"shop.py": "", "envmill/runtime.py": ""}, "shop:C", "would hide", id="shadow-ours"
        ),
    ],
)
def test_faults(files: dict[str, str], entry: str, words: str) -> None:
    with pytest.raises(ProgramFault, match=words):
        ProgramImporter(files, entry)


def test_several_files_compile() -> None:
    assert set(
        ProgramImporter(
            {"shop.py": "", "parts/rules.py": "", "notes.md": "# no code"}, "shop:C"
        ).codes
    ) == {"shop", "parts.rules"}
