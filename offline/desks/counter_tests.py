"""Tests of the tools that every desk has."""

from collections.abc import Mapping, Sequence

from offline.desks.parts import CODE, CUSTOMER, DEVICE, NAME, PLAN, SERIAL, Told, accept, refuse


def list_core_tests() -> Mapping[str, Sequence[Told]]:
    """Three tests for each tool of the core."""
    own = {"customer_id": CUSTOMER, "device_id": DEVICE}
    return {
        "find_customer": [
            accept(name="Corner"),
            accept(name=NAME, reply=[{"id": CUSTOMER}]),
            refuse(name=""),
        ],
        "find_device": [
            accept(serial=SERIAL, reply={"id": DEVICE}),
            accept(serial="TR-5087", reply={"id": "device_other"}),
            refuse(serial="TR-0"),
        ],
        "read_page": [
            accept(topic="seal", reply={"topic": "seal"}),
            accept(topic="profiles"),
            refuse(topic="nothing"),
        ],
        "verify_customer": [
            accept(
                customer_id=CUSTOMER,
                code=CODE,
                after={"customers": {CUSTOMER: {"verified": True}}},
            ),
            refuse(customer_id=CUSTOMER, code="other"),
            refuse(customer_id="customer_0", code=CODE),
        ],
        "hand_over": [
            accept(
                device_id=DEVICE,
                team="workshop",
                after={"cases": {f"case_{SERIAL}_workshop": {"team": "workshop"}}},
            ),
            refuse(device_id=DEVICE, team="nobody"),
            refuse(device_id="device_0", team="security"),
        ],
        "unlock_tool": [
            accept(
                tool="restore_profile",
                after={"unlocked": {"restore_profile": {"id": "restore_profile"}}},
            ),
            refuse(tool="other"),
            refuse(tool="hand_over"),
        ],
        "restore_profile": [
            {
                **accept(**own, after={"devices": {DEVICE: {"profile": "restored"}}}),
                "setup": [["unlock_tool", {"tool": "restore_profile"}]],
            },
            {
                **refuse(**{**own, "customer_id": "customer_other"}),
                "setup": [["unlock_tool", {"tool": "restore_profile"}]],
            },
            refuse(**own),
        ],
        "see_display": [accept(), accept(["plug_cable"]), accept(["pull_cable"])],
        "see_label": [
            accept(reply={"serial": SERIAL}),
            accept(["plug_cable"], reply={"contract": PLAN}),
            accept(["pull_cable"]),
        ],
        "see_seal": [
            accept(reply={"seal": "whole"}),
            accept(["plug_cable"]),
            accept(["pull_cable"]),
        ],
        "see_settings": [accept(), accept(["plug_cable"]), accept(["pull_cable"])],
        "try_it": [
            accept(reply={"works": False}),
            accept(["plug_cable"]),
            accept(["pull_cable"]),
        ],
        "plug_cable": [
            accept(reply={"cable": True}),
            accept(["plug_cable"]),
            accept(["pull_cable"], after={"unit": {"unit": {"cable": True}}}),
        ],
        "pull_cable": [
            accept(reply={"cable": False}),
            accept(["plug_cable"], after={"unit": {"unit": {"cable": False}}}),
            accept(["pull_cable"]),
        ],
        "greet_profile": [
            refuse(),
            {**refuse(), "setup": [["plug_cable", {}]]},
            {
                **accept(reply={"profile": "there"}),
                "setup": [
                    ["unlock_tool", {"tool": "restore_profile"}],
                    ["restore_profile", own],
                ],
            },
        ],
    }
