"""A support line for card readers: the agent's records on one side, the reader in the merchant's hand on the other."""

from typing import Any

from envmill.runtime import Rejection, actors, coupling, discoverable

DOCUMENTS = {
    "keys": "A reader with expired keys shows E21. Authorise new keys with authorise_keys. The merchant then loads them.",
    "network": "A reader without service shows E10. The access point name of mobile readers is pay.reader.net. Flight mode, an unseated "
    "SIM, a wrong access point name and a suspended SIM all end in E10.",
    "profiles": "A reader that shows E33 has lost its merchant profile. Restore it with restore_profile, a locked tool.",
    "firmware": "A reader that shows E40 needs the current firmware. Release it with release_firmware. The merchant plugs the reader "
    "in and installs it.",
    "seal": "A broken seal is a case for the hardware team. Ask the merchant to look at the seal before you hand over.",
}


class Desk:
    """State: what the support desk has on file, and the reader with what is around it."""

    def __init__(self, state: dict[str, Any]) -> None:
        self.merchants = state["merchants"]
        self.terminals = state["terminals"]
        self.sims = state["sims"]
        self.payouts = state["payouts"]
        self.handovers = state["handovers"]
        self.unlocked = state["unlocked"]
        self.reader = state["reader"]
        self.shop = state["shop"]

    def find_merchant(self, name: str) -> list[dict[str, Any]]:
        """Merchants by a part of their name: id, name, terminal, owner. Nothing about money.

        Args:
            name: Part of the name.
        """
        fields = ("id", "name", "serial")
        return [{key: row[key] for key in fields} for row in self.merchants.values() if name.casefold() in row["name"].casefold()]

    def show_account(self, merchant_id: str) -> dict[str, Any]:
        """Balance, contact and whether the caller was verified.

        Args:
            merchant_id: Key of the merchant.
        """
        row = self._find("merchants", merchant_id)
        return {key: row[key] for key in ("id", "name", "balance", "private", "verified")}

    def show_terminal(self, serial: str) -> dict[str, Any]:
        """What is on file of a reader: block, firmware, keys, whether it is online.

        Args:
            serial: Serial number.
        """
        return dict(self._find("terminals", serial))

    def show_sim(self, sim_id: str) -> dict[str, Any]:
        """Status of a SIM card, and why it is suspended.

        Args:
            sim_id: Number of the SIM.
        """
        return dict(self._find("sims", sim_id))

    def show_payouts(self, merchant_id: str) -> list[dict[str, Any]]:
        """The last payouts to a merchant.

        Args:
            merchant_id: Key of the merchant.
        """
        self._find("merchants", merchant_id)
        return [dict(row) for row in self.payouts.values() if row["merchant_id"] == merchant_id]

    def read_document(self, topic: str) -> str:
        """A page of the handbook: keys, network, profiles, firmware or seal.

        Args:
            topic: Name of the page.
        """
        if topic not in DOCUMENTS:
            raise Rejection("unknown_document", f"There is no page {topic!r}; there are {', '.join(DOCUMENTS)}.")
        return DOCUMENTS[topic]

    def unlock_tool(self, tool: str) -> dict[str, Any]:
        """Unlock a tool that a page of the handbook names as locked.

        Args:
            tool: Name of the tool.
        """
        if tool != "restore_profile":
            raise Rejection("unknown", f"There is no locked tool {tool!r}.")
        self.unlocked[tool] = {"id": tool}
        return {"unlocked": tool}

    def verify_merchant(self, merchant_id: str, code: str) -> dict[str, Any]:
        """Verify the caller by the support code of the merchant.

        Args:
            merchant_id: Key of the merchant.
            code: Support code that the caller gives.
        """
        row = self._find("merchants", merchant_id)
        if row["code"] != code:
            raise Rejection("wrong_code", "The support code is another one.")
        row["verified"] = True
        return {"id": merchant_id, "verified": True}

    def take_payment(self, merchant_id: str) -> dict[str, Any]:
        """Collect the open balance from the merchant's bank account.

        Args:
            merchant_id: Key of the merchant.
        """
        row = self._find("merchants", merchant_id)
        if not row["balance"]:
            raise Rejection("nothing_due", "No balance is open.")
        row["balance"] = 0
        return {"id": merchant_id, "balance": 0}

    def resume_sim(self, merchant_id: str, sim_id: str) -> dict[str, Any]:
        """Resume a suspended SIM.

        Args:
            merchant_id: Key of the merchant.
            sim_id: Number of the SIM.
        """
        row = self._find("sims", sim_id)
        if row["status"] != "suspended":
            raise Rejection("not_suspended", "This SIM is not suspended.")
        if row["merchant_id"] != merchant_id:
            raise Rejection("another_merchant", "This SIM belongs to another merchant.")
        row["status"] = "active"
        return {"id": sim_id, "status": "active"}

    def suspend_sim(self, merchant_id: str, sim_id: str) -> dict[str, Any]:
        """Suspend a SIM that should not be in use.

        Args:
            merchant_id: Key of the merchant.
            sim_id: Number of the SIM.
        """
        row = self._find("sims", sim_id)
        if row["status"] != "active" or row["merchant_id"] != merchant_id:
            raise Rejection("not_active", "This merchant has no such active SIM.")
        row["status"] = "suspended"
        return {"id": sim_id, "status": "suspended"}

    def authorise_keys(self, merchant_id: str, serial: str) -> dict[str, Any]:
        """Authorise a reader to load new keys.

        Args:
            merchant_id: Key of the merchant.
            serial: Serial number.
        """
        row = self._find_own(merchant_id, serial)
        row["keys"] = "authorised"
        return {"serial": serial, "keys": "authorised"}

    def release_firmware(self, merchant_id: str, serial: str) -> dict[str, Any]:
        """Release the current firmware for a reader.

        Args:
            merchant_id: Key of the merchant.
            serial: Serial number.
        """
        row = self._find_own(merchant_id, serial)
        row["firmware"] = "released"
        return {"serial": serial, "firmware": "released"}

    @discoverable
    def restore_profile(self, merchant_id: str, serial: str) -> dict[str, Any]:
        """Restore the merchant profile of a reader.

        Args:
            merchant_id: Key of the merchant.
            serial: Serial number.
        """
        if "restore_profile" not in self.unlocked:
            raise Rejection("not_unlocked", "This tool is locked: unlock it with unlock_tool.")
        row = self._find_own(merchant_id, serial)
        row["profile"] = "restored"
        return {"serial": serial, "profile": "restored"}

    def hand_over(self, serial: str, team: str) -> dict[str, Any]:
        """Hand the case over to another team.

        Args:
            serial: Serial number.
            team: security, hardware or billing.
        """
        self._find("terminals", serial)
        if team not in ("security", "hardware", "billing"):
            raise Rejection("unknown_team", "The teams are security, hardware and billing.")
        key = f"case_{serial}_{team}"
        self.handovers[key] = {"id": key, "serial": serial, "team": team}
        return dict(self.handovers[key])

    def take_back(self, serial: str, team: str) -> dict[str, Any]:
        """Take a case back that was handed over by mistake.

        Args:
            serial: Serial number.
            team: The team that has it.
        """
        key = f"case_{serial}_{team}"
        if key not in self.handovers:
            raise Rejection("unknown", "This team has no such case.")
        del self.handovers[key]
        return {"id": key, "team": "support"}

    @actors("user")
    def see_display(self) -> dict[str, Any]:
        """What the display shows."""
        return {"display": self._show()}

    @actors("user")
    def see_signal(self) -> dict[str, Any]:
        """The signal in the corner of the display."""
        row = self._reader()
        return {"flight_mode": row["flight"], "network": row["network"], "signal": "strong" if self._has_service() else "none"}

    @actors("user")
    def see_battery(self) -> dict[str, Any]:
        """The battery symbol."""
        return {"battery": self._reader()["battery"], "plugged_in": self._reader()["cable"]}

    @actors("user")
    def see_paper(self) -> dict[str, Any]:
        """The paper and the lid of the printer."""
        return {"paper": self._reader()["paper"], "lid": self._reader()["lid"]}

    @actors("user")
    def see_seal(self) -> dict[str, Any]:
        """The seal on the back."""
        return {"seal": self._reader()["seal"]}

    @actors("user")
    def see_label(self) -> dict[str, Any]:
        """The label with the serial number and the number of the SIM."""
        return {"serial": self._reader()["serial"], "sim": self._reader()["sim"]}

    @actors("user")
    def see_network_menu(self) -> dict[str, Any]:
        """The network menu: network and access point name."""
        return {"network": self._reader()["network"], "access_point": self._reader()["apn"]}

    @actors("user")
    def see_key_menu(self) -> dict[str, Any]:
        """The key menu."""
        return {"keys": self._reader()["keys"], "new_keys_waiting": self._reader()["keys_waiting"]}

    @actors("user")
    def see_firmware_menu(self) -> dict[str, Any]:
        """The firmware menu."""
        return {"firmware": self._reader()["firmware"], "update_waiting": self._reader()["update_waiting"]}

    @actors("user")
    def try_payment(self) -> dict[str, Any]:
        """Try a payment of one cent, which is not collected."""
        shown = self._show()
        return {"payment": "accepted" if shown == "READY" else "refused", "display": shown}

    @actors("user")
    def leave_flight_mode(self) -> dict[str, Any]:
        """Switch flight mode off."""
        return self._set("flight", "off")

    @actors("user")
    def enter_flight_mode(self) -> dict[str, Any]:
        """Switch flight mode on."""
        return self._set("flight", "on")

    @actors("user")
    def reseat_sim(self) -> dict[str, Any]:
        """Take the SIM out and put it in again."""
        return self._set("sim_seated", True)

    @actors("user")
    def set_access_point(self, name: str) -> dict[str, Any]:
        """Write the access point name into the network menu.

        Args:
            name: Access point name.
        """
        return self._set("apn", name)

    @actors("user")
    def use_mobile(self) -> dict[str, Any]:
        """Choose the mobile network."""
        return self._set("network", "mobile")

    @actors("user")
    def use_wifi(self) -> dict[str, Any]:
        """Choose the Wi-Fi."""
        return self._set("network", "wifi")

    @actors("user")
    def join_wifi(self, password: str) -> dict[str, Any]:
        """Join the Wi-Fi of the shop.

        Args:
            password: Password of the Wi-Fi.
        """
        row = self.shop["shop"]
        if row["wifi_password"] != password:
            raise Rejection("wrong_password", "The reader says that the password is wrong.")
        row["joined"] = True
        return {"joined": True}

    @actors("user")
    def plug_in(self) -> dict[str, Any]:
        """Plug the charging cable in."""
        return self._set("cable", True)

    @actors("user")
    def unplug(self) -> dict[str, Any]:
        """Pull the charging cable out."""
        return self._set("cable", False)

    @actors("user")
    def insert_paper(self) -> dict[str, Any]:
        """Put a new roll of paper in."""
        if self._reader()["lid"] != "open":
            raise Rejection("lid_closed", "The lid is closed.")
        return self._set("paper", "full")

    @actors("user")
    def open_lid(self) -> dict[str, Any]:
        """Open the lid of the printer."""
        return self._set("lid", "open")

    @actors("user")
    def close_lid(self) -> dict[str, Any]:
        """Close the lid of the printer."""
        return self._set("lid", "closed")

    @actors("user")
    def load_keys(self) -> dict[str, Any]:
        """Load the keys that wait for the reader."""
        row = self._reader()
        if not row["keys_waiting"]:
            raise Rejection("no_keys", "The reader says that no keys wait.")
        row["keys"], row["keys_waiting"] = "valid", False
        return {"keys": "valid"}

    @actors("user")
    def install_firmware(self) -> dict[str, Any]:
        """Install the firmware that waits for the reader."""
        row = self._reader()
        if not row["update_waiting"]:
            raise Rejection("no_update", "The reader says that no update waits.")
        if not row["cable"]:
            raise Rejection("not_plugged_in", "The reader asks for the charging cable.")
        row["firmware"], row["update_waiting"] = "current", False
        return {"firmware": "current"}

    @coupling
    def _service_follows_sim(self) -> None:
        row = self._reader()
        row["sim_active"] = self.sims[row["sim"]]["status"] == "active"

    @coupling
    def _block_follows_file(self) -> None:
        row = self._reader()
        row["blocked"] = bool(self.terminals[row["serial"]]["block"])

    @coupling
    def _keys_follow_order(self) -> None:
        order, row = self.terminals[self._reader()["serial"]], self._reader()
        if order["keys"] == "authorised" and row["keys"] != "valid":
            row["keys_waiting"] = True

    @coupling
    def _update_follows_release(self) -> None:
        release, row = self.terminals[self._reader()["serial"]], self._reader()
        if release["firmware"] == "released" and row["firmware"] != "current":
            row["update_waiting"] = True

    @coupling
    def _profile_follows_file(self) -> None:
        if self.terminals[self._reader()["serial"]]["profile"] == "restored":
            self._reader()["profile"] = "there"

    @coupling
    def _file_follows_reader(self) -> None:
        row = self.terminals[self._reader()["serial"]]
        row["online"] = self._has_service()
        if self._reader()["keys"] == "valid" and row["keys"] == "authorised":
            row["keys"] = "loaded"

    def _find(self, collection: str, key: str) -> dict[str, Any]:
        rows = getattr(self, collection)
        if key not in rows:
            raise Rejection("unknown", f"There is no {key!r} among the {collection}.")
        return rows[key]

    def _find_own(self, merchant_id: str, serial: str) -> dict[str, Any]:
        row = self._find("terminals", serial)
        if row["merchant_id"] != merchant_id:
            raise Rejection("another_merchant", "This reader belongs to another merchant.")
        return row

    def _reader(self) -> dict[str, Any]:
        return self.reader["reader"]

    def _set(self, field: str, value: Any) -> dict[str, Any]:
        self._reader()[field] = value
        return {field: value}

    def _has_service(self) -> bool:
        row = self._reader()
        if row["flight"] == "on":
            return False
        if row["network"] == "wifi":
            return self.shop["shop"]["joined"]
        return row["sim_seated"] and row["sim_active"] and row["apn"] == "pay.reader.net"

    def _show(self) -> str:
        row = self._reader()
        if row["seal"] == "broken":
            return "TAMPER E99"
        if row["blocked"]:
            return "BLOCKED E90"
        if row["lid"] == "open" or row["paper"] == "empty":
            return "PAPER E05"
        if not self._has_service():
            return "NO SERVICE E10"
        if row["keys"] != "valid":
            return "KEYS E21"
        if row["profile"] != "there":
            return "PROFILE E33"
        return "READY" if row["firmware"] == "current" else "UPDATE E40"
