"""The page of kinds names every hook that a kind must fill."""

import re

from envmill.base.settings import ROOT
from envmill.kinds.base import Kind

PAGE = (ROOT / "docs/kinds/README.md").read_text(encoding="utf-8")


def test_every_hook_is_on_the_page() -> None:
    hooks = {
        name for name in {**Kind.__annotations__, **vars(Kind)} if not name.startswith("_")
    } - {"name"}
    assert hooks - set(re.findall(r"`(\w+)`", PAGE)) == set()
