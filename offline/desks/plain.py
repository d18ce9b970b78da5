"""Parts that the user alone mends: something that is on, a setting, something that is used up."""

from offline.desks.parts import (
    DeskMethod,
    Part,
    accept,
    at_unit,
    do,
    refuse,
    setup_calls,
    write_field,
)


def make_switch(name: str) -> Part:
    """Something that is on by mistake, and that the user alone switches off."""
    plain = name.replace("_", " ")
    off, on = f"leave_{name}", f"enter_{name}"
    return Part(
        goal="it does its work again",
        methods=[
            DeskMethod(
                off,
                "change",
                f"Leave {plain}. Returns the new setting.",
                write_field(name, "off"),
                writes=("unit",),
            ),
            DeskMethod(
                on,
                "change",
                f"Enter {plain}. Returns the new setting.",
                write_field(name, "on"),
                writes=("unit",),
            ),
        ],
        unit={name: "off"},
        bad=f'row["{name}"] == "on"',
        pages={
            name: f"In {plain} it does nothing else. The customer looks at the settings and "
            f"leaves {plain}."
        },
        atoms=[
            {
                "id": name,
                "symptom": f"It has stopped answering since somebody played with {plain}.",
                "breaks": [at_unit(name, "on")],
                "fix": [do("see_settings"), do(off)],
                "mended": [at_unit(name, "off")],
            }
        ],
        tests={
            off: [
                accept(reply={name: "off"}),
                accept([on], after={"unit": {"unit": {name: "off"}}}),
                accept([off, on]),
            ],
            on: [
                accept(reply={name: "on"}),
                accept([on], reply={name: "on"}),
                accept([off], after={"unit": {"unit": {name: "on"}}}),
            ],
        },
        values={name: "on or off"},
    )


def make_setting(name: str, good: str, wrong: str) -> Part:
    """A value that stands in the handbook, and that the user writes down on the thing."""
    plain, tool = name.replace("_", " "), f"write_{name}"
    return Part(
        goal="it is set up as it must be",
        methods=[
            DeskMethod(
                tool,
                "change",
                f"Write the {plain} into the settings. Takes the value. Returns the new setting.",
                f'if not value:\n    raise Rejection("empty", "Say which {plain}.")\n'
                + write_field(name, None),
                takes={"value": "text"},
                writes=("unit",),
            )
        ],
        unit={name: good},
        bad=f'row["{name}"] != "{good}"',
        pages={name: f"The right {plain} is {good}. The customer writes it into the settings."},
        atoms=[
            {
                "id": name,
                "symptom": f"After a reset the {plain} seems to be another one.",
                "breaks": [at_unit(name, wrong)],
                "fix": [do("see_settings"), do("read_page", topic=name), do(tool, value=good)],
                "mended": [at_unit(name, good)],
            }
        ],
        tests={
            tool: [
                accept(value=good, reply={name: good}),
                accept(value=wrong, after={"unit": {"unit": {name: wrong}}}),
                refuse(value=""),
            ]
        },
        values={name: "a text"},
    )


def make_store(item: str, cover: str) -> Part:
    """Something that is used up, behind a cover."""
    state, opened = f"{item}_state", f"{cover}_state"
    put, see, opens, shuts = f"insert_{item}", f"see_{item}", f"open_{cover}", f"shut_{cover}"
    return Part(
        goal=f"it has a new {item} again",
        methods=[
            DeskMethod(
                see,
                "query",
                f"Look at the {item} and the {cover}. Returns both.",
                f'row = self.unit["unit"]\n'
                f'return {{"{item}": row["{state}"], "{cover}": row["{opened}"]}}',
            ),
            DeskMethod(
                opens,
                "change",
                f"Open the {cover}. Returns it.",
                write_field(opened, "open"),
                writes=("unit",),
            ),
            DeskMethod(
                put,
                "change",
                f"Put a new {item} in; the {cover} must be open. Returns it.",
                f'if self.unit["unit"]["{opened}"] != "open":\n    raise Rejection("shut", '
                f'"The {cover} is shut.")\n' + write_field(state, "full"),
                writes=("unit",),
            ),
            DeskMethod(
                shuts,
                "change",
                f"Shut the {cover}. Returns it.",
                write_field(opened, "shut"),
                writes=("unit",),
            ),
        ],
        unit={state: "full", opened: "shut"},
        bad=f'row["{state}"] == "empty" or row["{opened}"] == "open"',
        pages={
            item: f"An empty {item} is replaced by the customer: open the {cover}, insert "
            f"the {item}, shut the {cover}."
        },
        rules=[f"A new {item} is put in only while the {cover} is open."],
        atoms=[
            {
                "id": f"{item}_empty",
                "symptom": f"It says something about the {item}.",
                "breaks": [at_unit(state, "empty")],
                "fix": [do(see), do(opens), do(put), do(shuts)],
                "mended": [at_unit(state, "full"), at_unit(opened, "shut")],
            }
        ],
        tests={
            see: [
                accept(reply={item: "empty"}),
                accept([opens], reply={cover: "open"}),
                accept([opens, shuts], reply={cover: "shut"}),
            ],
            opens: [
                accept(reply={opened: "open"}),
                accept([opens]),
                accept([opens, shuts], after={"unit": {"unit": {opened: "open"}}}),
            ],
            put: [
                accept([opens], after={"unit": {"unit": {state: "full"}}}),
                refuse(),
                {**refuse(), "setup": setup_calls([opens, shuts])},
            ],
            shuts: [
                accept(reply={opened: "shut"}),
                accept([opens], after={"unit": {"unit": {opened: "shut"}}}),
                accept([opens, put]),
            ],
        },
        values={state: "full or empty", opened: "open or shut"},
    )
