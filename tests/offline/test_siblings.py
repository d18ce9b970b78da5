"""The services that stand beside others are those of the embedded author's domains."""

from envmill.toolgraph.siblings import PATH
from offline.siblings import render_services


def test_the_file_of_services_is_what_the_domains_give() -> None:
    assert PATH.read_text(encoding="utf-8") == render_services()
