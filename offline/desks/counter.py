"""What every thing has, and every desk beside it: finding, verifying, the handbook, handing over, the display, the cable."""

from offline.desks.counter_tests import list_core_tests
from offline.desks.parts import (
    CUSTOMER,
    DEVICE,
    SERIAL,
    VERIFY,
    DeskMethod,
    Part,
    at_unit,
    do,
    find_filed,
    find_own,
    verify_first,
    write_field,
)


def make_core() -> Part:
    """Finding, verifying, the handbook, handing over, the display, the cable, and what
    nobody mends here."""
    own = {"customer_id": CUSTOMER, "device_id": DEVICE}
    return Part(
        goal="it works as it should",
        methods=[
            DeskMethod(
                "find_customer",
                "query",
                "Find customers by a part of their name. Returns id and name of each.",
                'if not name:\n    raise Rejection("empty", "Say a part of the name.")\n'
                'return [{"id": row["id"], "name": row["name"]} for _, row in '
                'sorted(self.customers.items()) if name.casefold() in row["name"].casefold()]',
                side="agent",
                takes={"name": "text"},
                reads=("customers",),
            ),
            DeskMethod(
                "find_device",
                "query",
                "Find a device by its serial number. Returns the record.",
                'for _, row in sorted(self.devices.items()):\n    if row["serial"] == '
                "serial:\n        return dict(row)\n"
                'raise Rejection("unknown", "No device has this serial number.")',
                side="agent",
                takes={"serial": "text"},
                reads=("devices",),
            ),
            DeskMethod(
                "read_page",
                "query",
                "Read a page of the handbook. Takes the topic. Returns its text.",
                'if topic not in PAGES:\n    raise Rejection("no_page", f"The pages are '
                '{\', \'.join(sorted(PAGES))}.")\nreturn {"topic": topic, "text": PAGES[topic]}',
                side="agent",
                takes={"topic": "text"},
                reads=(),
            ),
            DeskMethod(
                "verify_customer",
                "change",
                "Verify the caller by the support code of the customer. Takes customer and "
                "code. Returns whether it is verified.",
                'row = self._find("customers", customer_id)\nif row["code"] != code:\n    '
                'raise Rejection("wrong_code", "The support code is another one.")\n'
                'row["verified"] = True\nreturn {"id": customer_id, "verified": True}',
                side="agent",
                takes={"customer_id": "text", "code": "text"},
                reads=("customers",),
                writes=("customers",),
            ),
            DeskMethod(
                "hand_over",
                "change",
                "Hand the case of a device over to a team (security, workshop). Returns the case.",
                'row = self._find("devices", device_id)\nif team not in ("security", '
                '"workshop"):\n    raise Rejection("no_team", "The teams are security and '
                'workshop.")\n'
                'key = f"case_{row[\'serial\']}_{team}"\nself.cases[key] = {"id": key, '
                '"serial": row["serial"], "team": team}\nreturn dict(self.cases[key])',
                side="agent",
                takes={"device_id": "text", "team": "text"},
                reads=("devices",),
                writes=("cases",),
            ),
            DeskMethod(
                "unlock_tool",
                "change",
                "Unlock a tool that a page of the handbook names as locked. Takes its name. "
                "Returns it.",
                'if tool != "restore_profile":\n    raise Rejection("no_tool", "There is no '
                'locked tool of this name.")\nself.unlocked[tool] = {"id": tool}\nreturn '
                '{"unlocked": tool}',
                side="agent",
                takes={"tool": "text"},
                reads=(),
                writes=("unlocked",),
            ),
            DeskMethod(
                "restore_profile",
                "change",
                "Restore the customer's profile of a device. Takes customer and device. "
                "Returns the device.",
                'if "restore_profile" not in self.unlocked:\n    raise Rejection("locked", '
                '"This tool is locked.")\n'
                + find_own()
                + 'row["profile"] = "restored"\nreturn dict(row)',
                side="agent",
                takes={"customer_id": "text", "device_id": "text"},
                reads=("devices", "customers", "unlocked"),
                writes=("devices",),
                unlocked=True,
            ),
            DeskMethod(
                "see_display",
                "query",
                "What the display shows. Returns its words.",
                'return {"display": self._show()}',
            ),
            DeskMethod(
                "see_label",
                "query",
                "Read the label: serial number and number of the contract. Returns both.",
                'row = self.unit["unit"]\nreturn {"serial": row["serial"], "contract": '
                'row["plan_id"]}',
            ),
            DeskMethod(
                "see_seal",
                "query",
                "Look at the seal on the back. Returns it.",
                'return {"seal": self.unit["unit"]["seal"]}',
            ),
            DeskMethod(
                "see_settings",
                "query",
                "Read the settings out. Returns them.",
                'row = self.unit["unit"]\nreturn {name: row[name] for name in SETTINGS}',
            ),
            DeskMethod(
                "try_it",
                "query",
                "Try whether it does its work. Returns whether it did, and the display.",
                'return {"works": self._show() == "READY", "display": self._show()}',
            ),
            DeskMethod(
                "plug_cable",
                "change",
                "Plug the cable in. Returns it.",
                write_field("cable", None).replace("value", "True"),
                writes=("unit",),
            ),
            DeskMethod(
                "pull_cable",
                "change",
                "Pull the cable out. Returns it.",
                write_field("cable", None).replace("value", "False"),
                writes=("unit",),
            ),
            DeskMethod(
                "greet_profile",
                "change",
                "Accept the profile that was restored. Returns it.",
                'row = self.unit["unit"]\nif row["profile"] != "waiting":\n    raise '
                'Rejection("none_waits", "No profile waits.")\nrow["profile"] = "there"\n'
                'return {"profile": "there"}',
                writes=("unit",),
            ),
        ],
        unit={"cable": False, "seal": "whole", "blocked": False, "profile": "there"},
        filed={"block": "none", "profile": "there"},
        couplings=[
            (
                {
                    "name": "block_follows_file",
                    "reads": ["devices"],
                    "writes": ["unit"],
                    "says": "The thing is blocked while its file has a block.",
                },
                find_filed() + 'row["blocked"] = filed["block"] != "none"',
            ),
            (
                {
                    "name": "profile_follows_file",
                    "reads": ["devices"],
                    "writes": ["unit"],
                    "says": "A restored profile waits on a thing that lost it.",
                },
                find_filed()
                + 'if filed["profile"] == "restored" and row["profile"] == "lost":\n    '
                'row["profile"] = "waiting"',
            ),
            (
                {
                    "name": "file_follows_thing",
                    "reads": ["unit"],
                    "writes": ["devices"],
                    "says": "The file learns whether the thing works.",
                },
                find_filed() + 'filed["online"] = self._show() == "READY"',
            ),
        ],
        bad='row["profile"] != "there"',
        pages={
            "profiles": "A device that has lost its profile gets it back with "
            "restore_profile, a locked tool: unlock it with unlock_tool. The customer then "
            "accepts (greets) the profile.",
            "seal": "A broken seal is a case for the workshop. Have the customer look at "
            "the seal before you hand the case over.",
        },
        rules=[
            "A caller is verified only by the customer's own code.",
            "A device is changed only for the customer to whom it belongs.",
        ],
        clauses=[
            verify_first("restore_profile"),
            {
                "id": "file_seen",
                "effect": "first",
                "call": {"name": "hand_over", "arguments": {"team": "security"}},
                "first": {"name": "find_device"},
            },
            {
                "id": "security_desk",
                "effect": "hand_over",
                "call": {
                    "name": "hand_over",
                    "arguments": {"device_id": "$device", "team": "security"},
                },
                "rows": {"$device": "devices"},
                "when": [
                    {
                        "on": "state",
                        "row": "$device",
                        "field": "block",
                        "op": "is",
                        "value": "theft",
                    },
                    {
                        "on": "state",
                        "row": "unit/unit",
                        "field": "seal",
                        "op": "is_not",
                        "value": "broken",
                    },
                ],
            },
            {
                "id": "seal_seen",
                "effect": "first",
                "call": {"name": "hand_over", "arguments": {"team": "workshop"}},
                "first": {"name": "see_seal", "actor": "user"},
            },
            {
                "id": "seal_desk",
                "effect": "hand_over",
                "call": {"name": "hand_over", "arguments": {"team": "workshop"}},
                "when": [
                    {
                        "on": "state",
                        "row": "unit/unit",
                        "field": "seal",
                        "op": "is",
                        "value": "broken",
                    }
                ],
            },
        ],
        atoms=[
            {
                "id": "profile_lost",
                "symptom": "It does not know any more who we are.",
                "breaks": [
                    at_unit("profile", "lost"),
                    {"row": f"devices/{DEVICE}", "field": "profile", "value": "lost"},
                ],
                "fix": [
                    do("read_page", topic="profiles"),
                    do("unlock_tool", tool="restore_profile"),
                    VERIFY,
                    do("restore_profile", **own),
                    do("greet_profile"),
                ],
                "mended": [at_unit("profile", "there")],
            },
            {
                "id": "stolen",
                "group": "handed",
                "symptom": "The display says that it is blocked.",
                "breaks": [{"row": f"devices/{DEVICE}", "field": "block", "value": "theft"}],
                "fix": [
                    do("find_device", serial=SERIAL),
                    do("hand_over", device_id=DEVICE, team="security"),
                ],
                "mended": [at_unit("blocked", False)],
                "unfixable": True,
                "say": "The security team takes your case over and will call you.",
            },
            {
                "id": "seal_broken",
                "group": "handed",
                "symptom": "There is a warning about a seal.",
                "breaks": [at_unit("seal", "broken")],
                "fix": [do("see_seal"), do("hand_over", device_id=DEVICE, team="workshop")],
                "mended": [at_unit("seal", "whole")],
                "unfixable": True,
                "say": "The workshop team takes your case over and will call you.",
            },
        ],
        tests=list_core_tests(),
        values={
            "cable": "true or false",
            "seal": "whole or broken",
            "blocked": "true or false",
            "profile": "there, lost or waiting; at the desk there, lost or restored",
            "block": "none or theft",
        },
    )
