"""The picture of processes is the one that the code draws."""

from tests.scale.picture import BOXES, HEIGHT, SVG, WIDTH, render


def test_the_picture_is_current() -> None:
    assert SVG.read_text(encoding="utf-8") == render(), "python -m tests.scale.picture"


def test_no_two_boxes_overlap_and_all_are_inside() -> None:
    for one in BOXES:
        assert one.left + one.width <= WIDTH
        assert one.top + one.height <= HEIGHT
        for other in BOXES:
            apart = (
                one.left + one.width <= other.left
                or other.left + other.width <= one.left
                or one.top + one.height <= other.top
                or other.top + other.height <= one.top
            )
            assert apart or one is other
