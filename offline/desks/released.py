"""Parts that need both sides: what the desk releases or orders, and the user then installs or loads."""

from offline.desks.parts import (
    CUSTOMER,
    DEVICE,
    OWN,
    SERIAL,
    VERIFY,
    DeskMethod,
    Part,
    accept,
    at_unit,
    do,
    find_filed,
    find_own,
    refuse,
    setup_calls,
    verify_first,
)


def make_release(item: str, verb: str) -> Part:
    """Something that the desk releases, that then waits, and that the user installs while
    the cable is in."""
    held, waits, tool, install, see = (
        f"{item}_version",
        f"{item}_waiting",
        f"release_{item}",
        f"{verb}_{item}",
        f"see_{item}",
    )
    return Part(
        goal=f"it has the current {item}",
        methods=[
            DeskMethod(
                tool,
                "change",
                f"Release the current {item} for a device. Takes the customer and the "
                f"device. Returns the device.",
                find_own() + f'row["{held}"] = "released"\nreturn dict(row)',
                side="agent",
                takes={"customer_id": "text", "device_id": "text"},
                reads=("devices", "customers"),
                writes=("devices",),
            ),
            DeskMethod(
                see,
                "query",
                f"Look at the {item} in the menu. Returns its state and whether one waits.",
                f'row = self.unit["unit"]\n'
                f'return {{"{item}": row["{held}"], "waiting": row["{waits}"]}}',
            ),
            DeskMethod(
                install,
                "change",
                f"{verb.capitalize()} the {item} that waits; the cable must be in. Returns it.",
                f'row = self.unit["unit"]\nif not row["{waits}"]:\n    raise '
                f'Rejection("none_waits", "No {item} waits.")\n'
                f'if not row["cable"]:\n    raise Rejection("no_cable", "It asks for the cable.")\n'
                f'row["{held}"], row["{waits}"] = "current", False\nreturn {{"{item}": "current"}}',
                writes=("unit",),
            ),
        ],
        unit={held: "current", waits: False},
        filed={held: "current"},
        couplings=[
            (
                {
                    "name": f"{item}_follows_release",
                    "reads": ["devices"],
                    "writes": ["unit"],
                    "says": f"A released {item} waits on a thing that has an old one.",
                },
                find_filed()
                + f'if filed["{held}"] == "released" and row["{held}"] != "current":\n    '
                f'row["{waits}"] = True',
            ),
            (
                {
                    "name": f"file_follows_{item}",
                    "reads": ["unit"],
                    "writes": ["devices"],
                    "says": f"The file learns that the {item} was installed.",
                },
                find_filed()
                + f'if filed["{held}"] == "released" and row["{held}"] == "current":\n    '
                f'filed["{held}"] = "current"',
            ),
        ],
        bad=f'row["{held}"] != "current"',
        pages={
            item: f"An old {item} is released with {tool}. The customer then plugs the cable "
            f"in and has the device {verb} the {item}."
        },
        rules=[f"The {item} is changed only where one waits, and only while the cable is in."],
        clauses=[
            verify_first(tool),
            {"id": f"ask_{item}", "effect": "confirm", "call": {"name": tool}},
        ],
        atoms=[
            {
                "id": f"{item}_old",
                "symptom": f"It keeps asking for a newer {item}.",
                "breaks": [
                    at_unit(held, "old"),
                    {"row": f"devices/{DEVICE}", "field": held, "value": "old"},
                ],
                "fix": [
                    do(see),
                    VERIFY,
                    do(
                        tool,
                        f"Shall I release the current {item} for the device {SERIAL}?",
                        customer_id=CUSTOMER,
                        device_id=DEVICE,
                    ),
                    do("plug_cable"),
                    do(install),
                ],
                "mended": [at_unit(held, "current"), at_unit(waits, False)],
            }
        ],
        tests={
            tool: [
                accept(
                    customer_id=CUSTOMER,
                    device_id=DEVICE,
                    after={"devices": {DEVICE: {held: "released"}}},
                ),
                refuse(customer_id="customer_0", device_id=DEVICE),
                refuse(customer_id=CUSTOMER, device_id="device_other"),
            ],
            see: [
                accept(reply={item: "old"}),
                accept(["plug_cable"], reply={"waiting": False}),
                accept(["pull_cable"]),
            ],
            install: [
                refuse(),
                {**refuse(), "setup": [[tool, OWN]]},
                {**accept(reply={item: "current"}), "setup": [[tool, OWN], ["plug_cable", {}]]},
            ],
        },
        values={held: "current, old or (at the desk) released", waits: "true or false"},
    )


def make_order(item: str) -> Part:
    """Something that the desk orders, and that the user then loads."""
    held, waits, tool, load, see = (
        f"{item}_state",
        f"{item}_waiting",
        f"order_{item}",
        f"load_{item}",
        f"see_{item}",
    )
    return Part(
        goal=f"it has valid {item} again",
        methods=[
            DeskMethod(
                tool,
                "change",
                f"Order new {item} for a device. Takes the customer and the device. Returns "
                f"the device.",
                find_own() + f'row["{held}"] = "ordered"\nreturn dict(row)',
                side="agent",
                takes={"customer_id": "text", "device_id": "text"},
                reads=("devices", "customers"),
                writes=("devices",),
            ),
            DeskMethod(
                see,
                "query",
                f"Look at the {item} in the menu. Returns their state and whether new ones wait.",
                f'row = self.unit["unit"]\n'
                f'return {{"{item}": row["{held}"], "waiting": row["{waits}"]}}',
            ),
            DeskMethod(
                load,
                "change",
                f"Load the {item} that wait. Returns their state.",
                f'row = self.unit["unit"]\nif not row["{waits}"]:\n    raise '
                f'Rejection("none_wait", "No {item} wait.")\n'
                f'row["{held}"], row["{waits}"] = "valid", False\nreturn {{"{item}": "valid"}}',
                writes=("unit",),
            ),
        ],
        unit={held: "valid", waits: False},
        filed={held: "loaded"},
        couplings=[
            (
                {
                    "name": f"{item}_follow_order",
                    "reads": ["devices"],
                    "writes": ["unit"],
                    "says": f"Ordered {item} wait on a thing whose own are not valid.",
                },
                find_filed()
                + f'if filed["{held}"] == "ordered" and row["{held}"] != "valid":\n    '
                f'row["{waits}"] = True',
            ),
            (
                {
                    "name": f"file_follows_{item}",
                    "reads": ["unit"],
                    "writes": ["devices"],
                    "says": f"The file learns that the {item} were loaded.",
                },
                find_filed()
                + f'if filed["{held}"] == "ordered" and row["{held}"] == "valid":\n    '
                f'filed["{held}"] = "loaded"',
            ),
        ],
        bad=f'row["{held}"] != "valid"',
        pages={item: f"Expired {item} are ordered anew with {tool}. The customer then loads them."},
        rules=[f"Only {item} that wait are loaded."],
        clauses=[verify_first(tool)],
        atoms=[
            {
                "id": f"{item}_expired",
                "symptom": f"It complains that the {item} have run out.",
                "breaks": [
                    at_unit(held, "expired"),
                    {"row": f"devices/{DEVICE}", "field": held, "value": "expired"},
                ],
                "fix": [
                    do(see),
                    VERIFY,
                    do(tool, customer_id=CUSTOMER, device_id=DEVICE),
                    do(load),
                ],
                "mended": [at_unit(held, "valid"), at_unit(waits, False)],
            }
        ],
        tests={
            tool: [
                accept(customer_id=CUSTOMER, device_id=DEVICE, reply={held: "ordered"}),
                refuse(customer_id="customer_0", device_id=DEVICE),
                refuse(customer_id=CUSTOMER, device_id="device_other"),
            ],
            see: [
                accept(reply={item: "expired"}),
                accept(["plug_cable"], reply={"waiting": False}),
                accept(["pull_cable"]),
            ],
            load: [
                refuse(),
                {**refuse(), "setup": setup_calls(["plug_cable"])},
                {**accept(reply={item: "valid"}), "setup": [[tool, OWN]]},
            ],
        },
        values={
            held: "valid or expired; at the desk loaded, expired or ordered",
            waits: "true or false",
        },
    )
