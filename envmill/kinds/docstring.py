"""A tool's docstring: what it says of the tool, and what its Google-style `Args:` section says about each parameter."""

import re

_SENTENCE = re.compile(r"(?<=[.!?])\s+")
_ALIKE, _STEM = 0.15, 4
"""Share of new words from which a sentence adds something; letters of a word that are compared."""
_SECTION = re.compile(r"(Args|Arguments|Parameters):\s*$")
_ENTRY = re.compile(r"(\w+)\s*(?:\([^)]*\))?:\s*(.*)$")


def read_description(docstring: str) -> str:
    """All that it says beside its parameters, on one line."""
    told, inside = list[str](), False
    for line in docstring.expandtabs().splitlines():
        if _SECTION.match(line.strip()):
            inside = True
        elif line.strip() and not line.startswith(" "):
            inside = False
        if not inside:
            told.append(line.strip())
    return " ".join(filter(None, told))


def join_descriptions(planned: str, written: str) -> str:
    """What was planned, and what the docstring adds to it sentence by sentence: a sentence whose words the plan has says nothing new."""
    plan, said = (" ".join(text.split()) for text in (planned, written))
    known = _find_words(plan)
    new = [sentence for sentence in _SENTENCE.split(said) if len(_find_words(sentence) - known) > _ALIKE * len(_find_words(sentence))]
    return " ".join([plan, *new]) if plan else said


def _find_words(text: str) -> set[str]:
    """Words without their endings: `find jobs` and `finds a job` are alike."""
    return {word[:_STEM] for word in re.findall(r"[^\W_]+", text.casefold()) if len(word) > 2}


def described_parameters(docstring: str) -> dict[str, str]:
    """Parameter name → description, each on one line."""
    found: dict[str, list[str]] = {}
    current: list[str] = []
    inside, indent = False, 0
    for line in docstring.expandtabs().splitlines():
        depth = len(line) - len(line.lstrip())
        if not inside:
            inside = bool(_SECTION.match(line.strip()))
            indent = 0
        elif not line.strip():
            continue
        elif depth == 0:
            inside = bool(_SECTION.match(line))
        else:
            # Entries stand at the section's first indent; what is deeper goes on with the entry above.
            indent = indent or depth
            entry = _ENTRY.match(line.strip()) if depth <= indent else None
            if entry:
                current = found.setdefault(entry[1], [])
            current.append(entry[2] if entry else line.strip())
    return {name: " ".join(part for part in parts if part) for name, parts in found.items()}
