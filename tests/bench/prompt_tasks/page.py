"""`python -m tests.bench.prompt_tasks.page`: measure, and write the table of docs/prompts.md
between its two marks."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from envmill.base.settings import ROOT
from tests.bench.prompts import rows

PAGE = ROOT / "docs/prompts.md"
BEGIN, END = "<!-- tokens: python -m tests.bench.prompt_tasks.page -->\n", "<!-- tokens end -->\n"


def render_table(measured: Iterable[dict[str, Any]]) -> str:
    lines = ["| prompt | tasks | before | now | ratio |", "|---|---|---|---|---|"]
    for row in measured:
        name = "all" if row["id"] == "input" else f"`{row['id']}`"
        count = next(word for word in row["what"].split() if word.isdigit())
        ratio = row["measured"] / row["baseline"]
        lines.append(
            f"| {name} | {count} | {row['baseline']:,.0f} | {row['measured']:,.0f} | {ratio:.2f} |"
        )
    return "\n".join(lines) + "\n"


def write_table(page: Path, table: str) -> None:
    before, _, rest = page.read_text(encoding="utf-8").partition(BEGIN)
    _, _, after = rest.partition(END)
    page.write_text(f"{before}{BEGIN}{table}{END}{after}", encoding="utf-8")


if __name__ == "__main__":
    write_table(PAGE, render_table(rows()))
