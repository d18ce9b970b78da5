"""A tool's docstring: its first paragraph, and what its Google-style `Args:` section says about each parameter."""

import re

_SECTION = re.compile(r"(Args|Arguments|Parameters):\s*$")
_ENTRY = re.compile(r"(\w+)\s*(?:\([^)]*\))?:\s*(.*)$")


def first_paragraph(docstring: str) -> str:
    """The description, on one line; a section is none."""
    paragraph = docstring.strip().split("\n\n")[0]
    lines = [line.strip() for line in paragraph.splitlines()]
    ends = next((place for place, line in enumerate(lines) if _SECTION.match(line)), len(lines))
    return " ".join(lines[:ends]).strip()


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
