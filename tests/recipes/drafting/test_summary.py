"""Each sort of failure is told once."""

from envmill.recipes.drafting.summary import MOST_SORTS, sum_up


def test_failures_that_differ_in_names_and_numbers_are_one_sort() -> None:
    red = [
        f"lend_tool should end in success, and ended in failure (no such column: 'due_{number}')"
        for number in range(40)
    ]
    told = sum_up(
        "\n".join([*red, "get_tool should end in rejection, and ended in ok"])
    ).splitlines()
    assert told == [
        f"{red[0]} (40 times like this)",
        "get_tool should end in rejection, and ended in ok",
    ]


def test_one_line_and_none_stay_as_they_are() -> None:
    assert sum_up("") == ""
    assert (
        sum_up("The class must offer exactly the planned tools.")
        == "The class must offer exactly the planned tools."
    )


def test_what_is_left_out_is_counted() -> None:
    told = sum_up(
        "\n".join("abcdefghijkl"[place] * 3 for place in range(MOST_SORTS + 3))
    ).splitlines()
    assert len(told) == MOST_SORTS + 1
    assert told[-1] == "And 3 more of other sorts."
