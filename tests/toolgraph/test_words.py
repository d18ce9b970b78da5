"""Names as words, and what a value means at its place."""

import pytest

from envmill.toolgraph.words import find_entity, find_meaning, split_name


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("DBInstanceIdentifiers", ("db", "instance", "id")),
        ("customer_id", ("customer", "id")),
        ("kmsKeyARN", ("kms", "key", "arn")),
        ("queue-urls", ("queue", "url")),
        ("addresses", ("address",)),
        ("status", ("status",)),
        ("policies", ("policy",)),
        ("aliases", ("alias",)),
        ("straße_nr", ("straße", "nr")),
        ("IDs", ("id",)),
    ],
)
def test_a_name_is_its_words(name: str, words: tuple[str, ...]) -> None:
    assert split_name(name) == words


@pytest.mark.parametrize(
    ("tool", "entity"),
    [
        ("list_orders", ("order",)),
        ("DescribeLoadBalancers", ("load", "balancer")),
        ("find_customer_by_email", ("customer",)),
        ("login", ("login",)),
        ("BatchGetBuilds", ("build",)),
        ("add_to_cart", ("to", "cart")),
    ],
)
def test_a_tool_is_about_what_follows_its_verb(tool: str, entity: tuple[str, ...]) -> None:
    assert find_entity(tool) == entity


@pytest.mark.parametrize(
    ("path", "meaning"),
    [
        ("id", ("order", "id")),
        ("orders[].id", ("order", "id")),
        ("data.items[].id", ("order", "id")),
        ("customer.id", ("customer", "id")),
        ("orders[].customer_id", ("customer", "id")),
        ("orders[].lines[].sku", ("line", "sku")),
        ("order", ("order",)),
    ],
)
def test_a_single_word_means_what_it_is_said_of(path: str, meaning: tuple[str, ...]) -> None:
    assert find_meaning(path, ("order",)) == meaning
