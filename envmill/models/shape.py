"""What a server's JSON holds, whatever else it may be: the shape asked for, or nothing."""

from schemas.base import Json, is_array, is_object


def take_object(value: Json, *path: str) -> dict[str, Json]:
    """The object at a path of keys; empty when there is none."""
    for key in path:
        value = value.get(key) if is_object(value) else None
    return value if is_object(value) else {}


def take_objects(value: Json) -> list[dict[str, Json]]:
    """The objects of a list; empty when it is none."""
    return [one for one in value if is_object(one)] if is_array(value) else []


def take_text(value: Json) -> str:
    """A text; empty when it is none."""
    return value if isinstance(value, str) else ""


def take_count(value: Json) -> int:
    """A count; 0 when it is none."""
    return value if isinstance(value, int) and not isinstance(value, bool) and value > 0 else 0


def take_number(value: Json) -> float | None:
    """A number; None when it is none."""
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else None
