"""τ²-bench's domain `telecom`: a provider's records on the agent's side, a phone and what is around it on the user's."""

from typing import Any

from envmill.runtime import Rejection, actors, coupling, new_id

SIDES = {
    "plans": "agent",
    "customers": "agent",
    "lines": "agent",
    "bills": "agent",
    "devices": "agent",
    "device": "user",
    "surroundings": "user",
}
HIDDEN = {
    "assistant": [
        "get_available_plan_ids",
        "set_data_usage",
        "suspend_line_for_overdue_bill",
        "assert_data_refueling_amount",
        "assert_line_status",
        "assert_overdue_bill_exists",
        "assert_no_overdue_bill",
    ],
    "user": [
        "set_user_info",
        "set_user_location",
        "simulate_network_search",
        "turn_airplane_mode_on",
        "turn_airplane_mode_off",
        "unseat_sim_card",
        "lock_sim_card",
        "turn_data_on",
        "turn_data_off",
        "turn_roaming_on",
        "turn_roaming_off",
        "turn_data_saver_mode_on",
        "turn_data_saver_mode_off",
        "break_apn_settings",
        "break_apn_mms_setting",
        "set_wifi_calling",
        "break_vpn",
        "remove_app_permission",
        "assert_airplane_mode_status",
        "assert_service_status",
        "assert_mobile_data_status",
        "assert_mobile_roaming_status",
        "assert_mobile_data_saver_mode_status",
        "assert_internet_speed",
        "assert_internet_not_excellent",
        "assert_can_send_mms",
    ],
}
TODAY, LAST_MONTH, NEXT_MONTH = "2025-02-25", "2025-01", "2025-03"
APN = {
    "apn_name": "internet",
    "reset_at_reboot": False,
    "mms_apn": "mms",
    "mmsc_url": "http://mms.carrier.com/mms/wapenc",
    "mms_proxy": None,
    "mms_port": None,
}
VPN = {
    "server_address": "192.168.1.1",
    "protocol": "OpenVPN",
    "server_performance": "excellent",
}
MODES = {
    "4g_5g_preferred": ("5G", "4G"),
    "4g_only": ("4G",),
    "3g_only": ("3G",),
    "2g_only": ("2G",),
}
SPEEDS = {"2G": (0.1, 0.4), "3G": (1.0, 5.0), "4G": (10.0, 100.0), "5G": (50.0, 500.0)}
FACTORS = {"poor": 0.2, "fair": 0.5, "good": 0.8, "excellent": 1.0}
LABELS = ((1, "Very Poor"), (5, "Poor"), (25, "Fair"), (100, "Good"))
ADVICE = {
    "Very Poor": "Connection is very slow. Basic web browsing might be difficult.",
    "Poor": "Connection is slow. Web browsing may be sluggish, streaming difficult.",
    "Fair": "Connection is okay for web browsing and some standard definition streaming.",
    "Good": "Connection is good for most activities, including HD streaming.",
    "Excellent": "Connection is very fast.",
}
NONE: dict[str, dict[str, Any]] = {
    "customers": {"last_extension_date": None, "goodwill_credit_used_this_year": 0.0},
    "lines": {
        "data_used_gb": 0.0,
        "data_refueling_gb": 0.0,
        "roaming_enabled": False,
        "last_plan_change_date": None,
        "last_sim_replacement_date": None,
        "suspension_start_date": None,
    },
    "devices": {"last_esim_transfer_date": None},
}
DEVICE: dict[str, Any] = {
    "sim_card_status": "active",
    "sim_card_missing": False,
    "airplane_mode": False,
    "network_signal_strength": "good",
    "network_technology_connected": "5G",
    "network_connection_status": "connected",
    "battery_level": 80,
    "data_enabled": True,
    "roaming_enabled": False,
    "network_mode_preference": "4g_5g_preferred",
    "wifi_enabled": False,
    "wifi_connected": False,
    "wifi_ssid": None,
    "wifi_signal_strength": "none",
    "wifi_calling_enabled": False,
    "wifi_calling_mms_over_wifi": False,
    "data_saver_mode": False,
    "vpn_enabled_setting": False,
    "vpn_connected": False,
    "vpn_details": None,
    "app_statuses": {},
}
SURROUNDINGS: dict[str, Any] = {
    "name": None,
    "phone_number": None,
    "is_abroad": False,
    "roaming_allowed": False,
    "mobile_data_usage_exceeded": False,
    "line_active": True,
    "payment_request": None,
}
SIGNALS = {"2G": "poor", "3G": "fair", "4G": "good", "5G": "excellent"}
PERMISSIONS = ("sms", "storage", "phone", "network")


class World:
    """State: plans, customers, lines, bills and devices; the user's phone and its surroundings."""

    def __init__(self, state: dict[str, Any]) -> None:
        self.plans = state["plans"]
        self.customers = state["customers"]
        self.lines = state["lines"]
        self.bills = state["bills"]
        self.devices = state["devices"]
        self.device = state["device"]
        self.surroundings = state.get("surroundings", {})

    def _fill(self) -> None:
        """Fields that the data leave out."""
        for name, fields in NONE.items():
            for row in getattr(self, name):
                for field, value in fields.items():
                    row.setdefault(field, value)
        for field, value in DEVICE.items():
            self.device.setdefault(field, {} if value == {} else value)
        self.device["active_apn_settings"] = APN | self.device.get("active_apn_settings", {})
        for app in self.device["app_statuses"].values():
            held = app.setdefault("permissions", {})
            for permission in PERMISSIONS:
                held.setdefault(permission, False)
        for field, value in SURROUNDINGS.items():
            self.surroundings.setdefault(field, value)
        self.surroundings.setdefault("signal_strength", dict(SIGNALS))

    # The provider's desk.

    def get_customer_by_phone(self, phone_number: str) -> Any:
        """Finds a customer by their primary contact or line phone number.

        Args:
            phone_number: The phone number to search for.
        """
        return self._customer_of_phone(phone_number)

    def get_customer_by_id(self, customer_id: str) -> Any:
        """Retrieves a customer directly by their unique ID.

        Args:
            customer_id: The unique identifier of the customer.
        """
        return self._customer(customer_id)

    def get_customer_by_name(self, full_name: str, dob: str) -> Any:
        """Searches for customers by name and date of birth.

        Args:
            full_name: The full name of the customer.
            dob: Date of birth for verification, in the format YYYY-MM-DD.
        """
        return [
            customer
            for customer in self.customers
            if customer["full_name"].lower() == full_name.lower()
            and customer["date_of_birth"] == dob
        ]

    def get_details_by_id(self, id: str) -> Any:
        """Retrieves the details of a customer, line, device, bill or plan.

        Args:
            id: The ID of the object to retrieve.
        """
        if id.startswith("L"):
            return self._line(id)
        if id.startswith("D"):
            return _find(self.devices, "device_id", id, "Device")
        if id.startswith("B"):
            return self._bill(id)
        if id.startswith("C"):
            return self._customer(id)
        if id.startswith("P"):
            return self._plan(id)
        raise Rejection("unknown", f"Unknown ID format or type: {id}")

    def suspend_line(self, customer_id: str, line_id: str, reason: str) -> Any:  # noqa: ARG002
        """Suspends an active line (max 6 months) and records the date.

        Args:
            customer_id: ID of the customer who owns the line.
            line_id: ID of the line to suspend.
            reason: Reason for suspension.
        """
        line = self._owned_line(customer_id, line_id)
        if line["status"] != "Active":
            raise Rejection("not_active", "Line must be active to suspend")
        line["status"] = "Suspended"
        line["suspension_start_date"] = TODAY
        message = "Line suspended successfully. $5/month holding fee will apply."
        return {"message": message, "line": line}

    def resume_line(self, customer_id: str, line_id: str) -> Any:
        """Resumes a line that is suspended or waits for its activation.

        Args:
            customer_id: ID of the customer who owns the line.
            line_id: ID of the line to resume.
        """
        line = self._owned_line(customer_id, line_id)
        if line["status"] not in ("Suspended", "Pending Activation"):
            raise Rejection("not_suspended", "Line must be suspended to resume")
        line["status"] = "Active"
        line["suspension_start_date"] = None
        return {"message": "Line resumed successfully", "line": line}

    def get_bills_for_customer(self, customer_id: str, limit: int = 12) -> Any:
        """Retrieves a list of the customer's bills, most recent first.

        Args:
            customer_id: ID of the customer.
            limit: Maximum number of bills to return.
        """
        bills = [self._bill(key) for key in self._customer(customer_id)["bill_ids"]]
        return sorted(bills, key=lambda bill: bill["issue_date"], reverse=True)[:limit]

    def send_payment_request(self, customer_id: str, bill_id: str) -> str:
        """Sends a payment request to the customer for a bill. It does not check whether the bill is paid.

        Args:
            customer_id: ID of the customer who owns the bill.
            bill_id: ID of the bill to send payment request for.
        """
        customer = self._customer(customer_id)
        if self._awaiting(customer):
            raise Rejection("awaiting", "A bill is already awaiting payment for this customer")
        if bill_id not in customer["bill_ids"]:
            raise Rejection("unknown", f"Bill {bill_id} not found for customer {customer_id}")
        self._bill(bill_id)["status"] = "Awaiting Payment"
        return f"Payment request sent to the customer for bill {bill_id}"

    def get_data_usage(self, customer_id: str, line_id: str) -> Any:
        """Retrieves the data usage of a line in this billing cycle, with its limit and refuelled amount.

        Args:
            customer_id: ID of the customer who owns the line.
            line_id: ID of the line to check usage for.
        """
        line = self._owned_line(customer_id, line_id)
        return {
            "line_id": line_id,
            "data_used_gb": line["data_used_gb"],
            "data_limit_gb": self._plan(line["plan_id"])["data_limit_gb"],
            "data_refueling_gb": line["data_refueling_gb"],
            "cycle_end_date": "2025-02-28",
        }

    def enable_roaming(self, customer_id: str, line_id: str) -> str:
        """Enables international roaming on a line.

        Args:
            customer_id: ID of the customer who owns the line.
            line_id: ID of the line to enable roaming for.
        """
        return self._set_roaming(customer_id, line_id, True)

    def disable_roaming(self, customer_id: str, line_id: str) -> str:
        """Disables international roaming on a line.

        Args:
            customer_id: ID of the customer who owns the line.
            line_id: ID of the line to disable roaming for.
        """
        return self._set_roaming(customer_id, line_id, False)

    def transfer_to_human_agents(self, summary: str) -> str:  # noqa: ARG002
        """Transfer the user to a human agent, with a summary of the user's issue.

        Args:
            summary: A summary of the user's issue.
        """
        return "Transfer successful"

    def refuel_data(self, customer_id: str, line_id: str, gb_amount: float) -> Any:
        """Adds data to a line and charges the customer by the plan's refuelling rate.

        Args:
            customer_id: ID of the customer who owns the line.
            line_id: ID of the line to refuel data for.
            gb_amount: Amount of data to add in gigabytes.
        """
        line = self._owned_line(customer_id, line_id)
        if gb_amount <= 0:
            raise Rejection("bad_amount", "Refuel amount must be positive")
        price = self._plan(line["plan_id"])["data_refueling_price_per_gb"]
        charge = gb_amount * price
        line["data_refueling_gb"] += gb_amount
        self._charge(customer_id, charge, f"Data refueling: {gb_amount} GB at ${price}/GB")
        return {
            "message": f"Successfully added {gb_amount} GB of data for line {line_id} for ${charge:.2f}",
            "new_data_refueling_gb": line["data_refueling_gb"],
            "charge": charge,
        }

    # The phone.

    @actors("user")
    def check_status_bar(self) -> str:
        """Shows what icons are currently visible in your phone's status bar."""
        return f"Status Bar: {self._bar()}"

    @actors("user")
    def check_network_status(self) -> str:
        """Checks your phone's connection status to cellular networks and Wi-Fi."""
        device = self.device
        lines = [
            f"Airplane Mode: {_switch(device['airplane_mode'])}",
            f"SIM Card Status: {self._sim()}",
            f"Cellular Connection: {device['network_connection_status']}",
            f"Cellular Signal: {device['network_signal_strength']}",
            f"Cellular Network Type: {device['network_technology_connected']}",
            f"Mobile Data Enabled: {_yes(device['data_enabled'])}",
            f"Data Roaming Enabled: {_yes(device['roaming_enabled'])}",
            f"Wi-Fi Radio: {_switch(device['wifi_enabled'])}",
            f"Wi-Fi Connected: {_yes(device['wifi_connected'])}",
        ]
        if device["wifi_connected"]:
            lines.append(f"Connected Wi-Fi Network: {device['wifi_ssid']}")
        return "\n".join(lines)

    @actors("user")
    def check_network_mode_preference(self) -> str:
        """Shows the current network mode preference."""
        return f"Network Mode Preference: {self.device['network_mode_preference']}"

    @actors("user")
    def set_network_mode_preference(self, mode: str) -> str:
        """Changes the type of cellular network your phone prefers to connect to.

        Args:
            mode: One of 4g_5g_preferred, 4g_only, 3g_only, 2g_only.
        """
        if mode not in MODES:
            text = f"Failed to set network mode: '{mode}' is not a valid option. Please use one of: {', '.join(MODES)}"
            return self._report(text)
        self.device["network_mode_preference"] = mode
        self._simulate_network_search()
        return self._report(f"Preferred Network Mode set to: {mode}")

    @actors("user")
    def run_speed_test(self) -> str:
        """Measures your current internet connection speed (download speed)."""
        speed, label = self._speed()
        if speed is None:
            return f"Speed test failed: {label}."
        return f"Speed Test Result: {speed:.2f} Mbps ({label}). {ADVICE[label]}"

    @actors("user")
    def toggle_airplane_mode(self) -> str:
        """Toggles Airplane Mode ON or OFF. When ON, it disconnects all wireless communications."""
        return self._report(f"Airplane Mode is now {_switch(self._flip_airplane())}.")

    @actors("user")
    def check_sim_status(self) -> str:
        """Checks if your SIM card is active, missing, or locked with a PIN or PUK code."""
        return {
            "active": "Your SIM card is active and working.",
            "missing": "No SIM card detected in the phone.",
            "locked_pin": "The SIM card is locked with a PIN code.",
            "locked_puk": "The SIM card is locked with a PUK code.",
        }[self._sim()]

    @actors("user")
    def reseat_sim_card(self) -> str:
        """Removes and reinserts your SIM card."""
        self.device["sim_card_missing"] = False
        self._simulate_network_search()
        return self._report("SIM card re-seated successfully.")

    @actors("user")
    def toggle_data(self) -> str:
        """Toggles your phone's mobile data connection ON or OFF."""
        return self._report(f"Mobile Data is now {_switch(self._flip('data_enabled'))}.")

    @actors("user")
    def toggle_roaming(self) -> str:
        """Toggles Data Roaming ON or OFF."""
        return self._report(f"Data Roaming is now {_switch(self._flip('roaming_enabled'))}.")

    @actors("user")
    def check_data_restriction_status(self) -> str:
        """Checks if Data Saver mode is on."""
        if self.device["data_saver_mode"]:
            return "Data Saver mode is ON (limits data usage)."
        return "Data Saver mode is OFF."

    @actors("user")
    def toggle_data_saver_mode(self) -> str:
        """Toggles Data Saver mode ON or OFF. When ON, it reduces data usage, which may affect data speed."""
        self.device["data_saver_mode"] = not self.device["data_saver_mode"]
        return self._report(f"Data Saver Mode is now {_switch(self.device['data_saver_mode'])}.")

    @actors("user")
    def check_apn_settings(self) -> str:
        """Checks the APN settings your phone uses to connect to your carrier's mobile data network."""
        apn = self.device["active_apn_settings"]
        return (
            f"Current APN Name: {apn['apn_name'] or 'Not Set'}\n"
            f"MMSC URL (for picture messages): {apn['mmsc_url'] or 'Not Set'}\n"
            "(These are technical settings, usually best left unchanged.)"
        )

    @actors("user")
    def set_apn_settings(self, apn_settings: dict[str, Any]) -> str:
        """Sets the APN settings for the phone.

        Args:
            apn_settings: The settings; fields that are left out take their defaults.
        """
        if strange := sorted(set(apn_settings) - set(APN)):
            raise Rejection("bad_settings", f"Unknown APN settings: {', '.join(strange)}")
        settings = APN | apn_settings
        if settings["apn_name"] not in ("internet", "broken"):
            raise Rejection("bad_settings", f"Unknown APN name: {settings['apn_name']}")
        self.device["active_apn_settings"] = settings
        self._simulate_network_search()
        return self._report(f"APN settings set to: {settings['apn_name']}")

    @actors("user")
    def reset_apn_settings(self) -> str:
        """Resets your APN settings to the default settings at the next reboot."""
        self.device["active_apn_settings"]["reset_at_reboot"] = True
        self._simulate_network_search()
        return self._report("APN settings will reset at reboot.")

    @actors("user")
    def check_wifi_status(self) -> str:
        """Checks your Wi-Fi connection status."""
        device = self.device
        if not device["wifi_enabled"]:
            return "Wi-Fi is turned OFF."
        if not device["wifi_connected"]:
            return "Wi-Fi is ON but not connected to any network."
        signal = device["wifi_signal_strength"]
        return f"Wi-Fi is ON and connected to '{device['wifi_ssid']}'. Signal strength: {signal}."

    @actors("user")
    def toggle_wifi(self) -> str:
        """Toggles your phone's Wi-Fi radio ON or OFF."""
        if self.device["airplane_mode"]:
            return self._report("Cannot change Wi-Fi settings while Airplane Mode is ON.")
        self.device["wifi_enabled"] = not self.device["wifi_enabled"]
        if not self.device["wifi_enabled"]:
            self._drop_wifi()
        return self._report(f"Wi-Fi is now {_switch(self.device['wifi_enabled'])}.")

    @actors("user")
    def check_wifi_calling_status(self) -> str:
        """Checks if Wi-Fi Calling is enabled on your device."""
        return f"Wi-Fi Calling is currently turned {_switch(self.device['wifi_calling_enabled'])}."

    @actors("user")
    def toggle_wifi_calling(self) -> str:
        """Toggles Wi-Fi Calling ON or OFF."""
        self.device["wifi_calling_enabled"] = not self.device["wifi_calling_enabled"]
        return self._report(f"Wi-Fi Calling is now {_switch(self.device['wifi_calling_enabled'])}.")

    @actors("user")
    def check_vpn_status(self) -> str:
        """Checks if you're using a VPN (Virtual Private Network) connection."""
        device = self.device
        if device["vpn_connected"] and device["vpn_details"]:
            return f"VPN is ON and connected. Details: {device['vpn_details']}"
        if device["vpn_connected"]:
            return "VPN is ON and connected (no specific details available)."
        if device["vpn_enabled_setting"]:
            return "VPN is turned ON in settings, but currently not connected."
        return "VPN is turned OFF."

    @actors("user")
    def connect_vpn(self) -> str:
        """Connects to your VPN (Virtual Private Network)."""
        if self.device["vpn_connected"]:
            return "VPN already connected."
        self._join_vpn()
        return self._report("VPN connected successfully.")

    @actors("user")
    def disconnect_vpn(self) -> str:
        """Disconnects any active VPN (Virtual Private Network) connection."""
        if not self.device["vpn_connected"]:
            return self._report("No active VPN connection to disconnect.")
        self._leave_vpn()
        return self._report("VPN disconnected successfully.")

    @actors("user")
    def check_installed_apps(self) -> str:
        """Returns the name of all installed apps on the phone."""
        names = ", ".join(self.device["app_statuses"])
        return f"The following apps are installed on the phone: {names}"

    @actors("user")
    def check_app_status(self, app_name: str) -> str:
        """Checks detailed information about a specific app.

        Args:
            app_name: The name of the app.
        """
        allowed = self._permissions(app_name)
        if allowed is None:
            return f"App '{app_name}' not found on this phone."
        head = f"Status for App: {app_name}"
        if not allowed:
            return f"{head}\n - Permissions: None granted."
        return "\n".join([head, " - Permissions Granted:", *(f"   - {one}" for one in allowed)])

    @actors("user")
    def check_app_permissions(self, app_name: str) -> str:
        """Checks what permissions a specific app currently has.

        Args:
            app_name: The name of the app.
        """
        allowed = self._permissions(app_name)
        if allowed is None:
            return f"App '{app_name}' not found on this phone."
        if not allowed:
            return f"App '{app_name}' currently has no permissions granted."
        return f"App '{app_name}' has permission for: {', '.join(allowed)}."

    @actors("user")
    def grant_app_permission(self, app_name: str, permission: str) -> str:
        """Gives a specific permission to an app (like access to storage, camera, or location).

        Args:
            app_name: The name of the app to grant the permission to.
            permission: The permission to grant, should be lowercase.
        """
        app, name = self.device["app_statuses"].get(app_name), permission.lower()
        if not app:
            return self._report(f"Error. App '{app_name}' not found. Cannot grant permission.")
        if name not in app["permissions"]:
            known = list(app["permissions"])
            return self._report(
                f"Error. Permission '{name}' not tracked for app '{app_name}', available permissions: {known}"
            )
        app["permissions"][name] = True
        return self._report(f"Success. Permission '{name}' granted to app '{app_name}'.")

    @actors("user")
    def can_send_mms(self) -> str:
        """Checks if the default messaging app can send MMS messages."""
        can = "can" if self._mms() else "cannot"
        return f"Your messaging app {can} send MMS messages."

    @actors("user")
    def reboot_device(self) -> str:
        """Restarts your phone completely."""
        lines = list[str]()
        if self.device["active_apn_settings"]["reset_at_reboot"]:
            lines.append("Resetting APN settings...")
            self.device["active_apn_settings"] = dict(APN)
        lines.append("Restarting network services...")
        self._simulate_network_search()
        return self._report("\n".join(lines))

    @actors("user")
    def check_payment_request(self) -> str:
        """Checks if the agent has sent you a payment request."""
        request = self.surroundings["payment_request"]
        if request is None:
            return "No payment request has been made."
        return f"You have a payment request for bill {request['bill_id']} of {request['amount_due']} USD."

    @actors("user")
    def make_payment(self) -> str:
        """Makes a payment for the bill that the agent has sent you."""
        request = self.surroundings["payment_request"]
        if request is None:
            return "You do not have a payment request."
        request["paid"] = True
        return (
            f"Payment of {request['amount_due']} USD has been made for bill {request['bill_id']}."
        )

    @coupling
    def _sync(self) -> None:
        """What the provider knows of the line reaches the phone, and what the user paid reaches the bill."""
        around = self.surroundings
        if around.get("phone_number") is None:
            return
        line = _find(self.lines, "phone_number", around["phone_number"], "Line")
        limit = self._plan(line["plan_id"])["data_limit_gb"] + line["data_refueling_gb"]
        around["line_active"] = line["status"] == "Active"
        around["roaming_allowed"] = bool(line["roaming_enabled"])
        around["mobile_data_usage_exceeded"] = line["data_used_gb"] >= limit
        request = around["payment_request"]
        if request is not None and request["paid"]:
            self._bill(request["bill_id"])["status"] = "Paid"
            around["payment_request"] = None
        if around["payment_request"] is None:
            waiting = self._awaiting(self._customer_of_phone(around["phone_number"]))
            if waiting:
                bill = waiting[0]
                around["payment_request"] = {
                    "bill_id": bill["bill_id"],
                    "amount_due": bill["total_due"],
                    "paid": False,
                }

    # What both sides are made of.

    def _customer(self, key: str) -> dict[str, Any]:
        return _find(self.customers, "customer_id", key, "Customer")

    def _customer_of_phone(self, number: str) -> dict[str, Any]:
        for customer in self.customers:
            lines = (self._line(key)["phone_number"] for key in customer["line_ids"])
            if number in (customer["phone_number"], *lines):
                return customer
        raise Rejection("unknown", f"Customer with phone number {number} not found")

    def _line(self, key: str) -> dict[str, Any]:
        return _find(self.lines, "line_id", key, "Line")

    def _bill(self, key: str) -> dict[str, Any]:
        return _find(self.bills, "bill_id", key, "Bill")

    def _plan(self, key: str) -> dict[str, Any]:
        return _find(self.plans, "plan_id", key, "Plan")

    def _owned_line(self, customer_id: str, line_id: str) -> dict[str, Any]:
        if line_id not in self._customer(customer_id)["line_ids"]:
            raise Rejection("unknown", f"Line {line_id} not found for customer {customer_id}")
        return self._line(line_id)

    def _awaiting(self, customer: dict[str, Any]) -> list[dict[str, Any]]:
        bills = (self._bill(key) for key in customer["bill_ids"])
        return [bill for bill in bills if bill["status"] == "Awaiting Payment"]

    def _set_roaming(self, customer_id: str, line_id: str, wanted: bool) -> str:
        line, word = self._owned_line(customer_id, line_id), "enabled" if wanted else "disabled"
        if line["roaming_enabled"] is wanted:
            return f"Roaming was already {word}"
        line["roaming_enabled"] = wanted
        return f"Roaming {word} successfully"

    def _charge(self, customer_id: str, amount: float, text: str) -> None:
        customer = self._customer(customer_id)
        bills = (self._bill(key) for key in customer["bill_ids"])
        bill = next((one for one in bills if one["status"] == "Draft"), None)
        if bill is None:
            bill = dict[str, Any]()
            bill |= {
                "bill_id": f"B{new_id('bill')[-8:]}",
                "customer_id": customer_id,
                "period_start": f"{NEXT_MONTH}-01",
                "period_end": f"{NEXT_MONTH}-31",
                "issue_date": f"{NEXT_MONTH}-01",
                "total_due": 0.0,
                "due_date": f"{NEXT_MONTH}-15",
                "line_items": [],
                "status": "Draft",
            }
            self.bills.append(bill)
            customer["bill_ids"].append(bill["bill_id"])
        bill["line_items"].append(_item(text, amount))
        bill["total_due"] += amount

    def _bar(self) -> str:
        device, shown = self.device, list[str]()
        if device["airplane_mode"]:
            shown.append("✈️ Airplane Mode")
        else:
            signals = {
                "poor": "📶¹ Poor",
                "fair": "📶² Fair",
                "good": "📶³ Good",
                "excellent": "📶⁴ Excellent",
            }
            shown.append(signals.get(device["network_signal_strength"], "📵 No Signal"))
            technology = device["network_technology_connected"]
            if technology != "none":
                shown.append(technology)
            if device["data_enabled"] and technology != "none":
                shown.append("📱 Data Enabled")
                shown += ["🔽 Data Saver"] if device["data_saver_mode"] else []
            else:
                shown.append("📵 Data Disabled")
        if device["wifi_enabled"] and device["wifi_connected"]:
            ssid = device["wifi_ssid"]
            shown.append(f"📡 Connected to {ssid}" if ssid else "📡 Enabled")
        if device["vpn_connected"]:
            shown.append("🔒 VPN Connected")
        return " | ".join([*shown, f"🔋 {device['battery_level']}%"])

    def _report(self, text: str) -> str:
        return f"{text}\nStatus Bar: {self._bar()}"

    def _sim(self) -> str:
        return "missing" if self.device["sim_card_missing"] else self.device["sim_card_status"]

    def _flip(self, field: str) -> bool:
        self.device[field] = not self.device[field]
        self._simulate_network_search()
        return self.device[field]

    def _flip_airplane(self) -> bool:
        on = not self.device["airplane_mode"]
        self.device["airplane_mode"] = on
        if on or self.device["wifi_enabled"]:
            self._drop_wifi()
        if on and self.device["vpn_connected"]:
            self._leave_vpn()
        self._simulate_network_search()
        return on

    def _drop_wifi(self) -> None:
        self.device["wifi_connected"] = False
        self.device["wifi_ssid"] = None
        self.device["wifi_signal_strength"] = "none"

    def _join_vpn(self) -> None:
        self.device["vpn_connected"] = True
        self.device["vpn_details"] = dict(VPN)

    def _leave_vpn(self) -> None:
        self.device["vpn_connected"] = False
        self.device["vpn_details"] = None

    def _permissions(self, app_name: str) -> list[str] | None:
        app = self.device["app_statuses"].get(app_name)
        return [name for name, allowed in app["permissions"].items() if allowed] if app else None

    def _works(self) -> bool:
        """Whether mobile data work."""
        device, around = self.device, self.surroundings
        if device["airplane_mode"] or device["network_signal_strength"] == "none":
            return False
        if device["network_connection_status"] == "no_service":
            return False
        if around["is_abroad"] and not (device["roaming_enabled"] and around["roaming_allowed"]):
            return False
        return bool(device["data_enabled"]) and not around["mobile_data_usage_exceeded"]

    def _speed(self) -> tuple[float | None, str]:
        device = self.device
        if not self._works():
            return None, "No Connection"
        details = device["vpn_details"]
        slow = device["vpn_connected"] and details and details["server_performance"] == "poor"
        factor = 0.1 if slow else 1.0
        if device["data_saver_mode"]:
            factor *= 0.2
        least, most = SPEEDS.get(device["network_technology_connected"], (0.0, 0.0))
        signal = FACTORS.get(device["network_signal_strength"], 0.0)
        speed = round((least + most) / 2.0 * signal * factor, 2)
        return speed, next((label for bound, label in LABELS if speed < bound), "Excellent")

    def _mms(self) -> bool:
        device = self.device
        if not self._works() or device["network_technology_connected"] == "2G":
            return False
        if device["wifi_calling_enabled"] and device["wifi_calling_mms_over_wifi"]:
            return False
        app = device["app_statuses"].get("messaging")
        if device["active_apn_settings"]["mmsc_url"] is None or app is None:
            return False
        return bool(app["permissions"]["storage"] and app["permissions"]["sms"])

    # What tasks name to break things and to look at them.

    def _get_available_plan_ids(self) -> list[str]:
        return [plan["plan_id"] for plan in self.plans]

    def _set_data_usage(self, customer_id: str, line_id: str, data_used_gb: float) -> str:
        self._owned_line(customer_id, line_id)["data_used_gb"] = data_used_gb
        return f"Data usage set to {data_used_gb} GB for line {line_id}"

    def _suspend_line_for_overdue_bill(
        self, customer_id: str, line_id: str, new_bill_id: str, contract_ended: bool
    ) -> str:
        line, customer = self._line(line_id), self._customer(customer_id)
        if line["status"] != "Active":
            raise Rejection("not_active", "Line must be active to suspend for unpaid bill")
        if any(self._bill(key)["status"] == "Overdue" for key in customer["bill_ids"]):
            raise Rejection("overdue", "Customer already has an overdue bill")
        amount = self._plan(line["plan_id"])["price_per_month"]
        if amount <= 0:
            raise Rejection("bad_amount", "Amount must be positive for overdue bill")
        self.bills.append(
            {
                "bill_id": new_bill_id,
                "customer_id": customer_id,
                "period_start": f"{LAST_MONTH}-01",
                "period_end": f"{LAST_MONTH}-31",
                "issue_date": f"{LAST_MONTH}-01",
                "total_due": amount,
                "due_date": f"{LAST_MONTH}-15",
                "line_items": [_item(f"Charge for line {line_id}", amount)],
                "status": "Overdue",
            }
        )
        customer["bill_ids"].append(new_bill_id)
        line["status"] = "Suspended"
        line["suspension_start_date"] = TODAY
        if contract_ended:
            line["contract_end_date"] = f"{LAST_MONTH}-31"
        return f"Line {line_id} suspended for unpaid bill {new_bill_id}."

    def _assert_data_refueling_amount(
        self, customer_id: str, line_id: str, expected_amount: float
    ) -> bool:
        found = self._owned_line(customer_id, line_id)["data_refueling_gb"]
        return abs(found - expected_amount) < 1e-6

    def _assert_line_status(self, customer_id: str, line_id: str, expected_status: str) -> bool:
        return self._owned_line(customer_id, line_id)["status"] == expected_status

    def _assert_overdue_bill_exists(self, customer_id: str, overdue_bill_id: str) -> bool:
        if overdue_bill_id not in self._customer(customer_id)["bill_ids"]:
            raise Rejection("unknown", f"Overdue bill {overdue_bill_id} not found")
        if self._bill(overdue_bill_id)["status"] != "Overdue":
            raise Rejection("not_overdue", f"Overdue bill {overdue_bill_id} is not overdue")
        return True

    def _assert_no_overdue_bill(self, overdue_bill_id: str) -> bool:
        return all(
            bill["status"] == "Paid" for bill in self.bills if bill["bill_id"] == overdue_bill_id
        )

    def _set_user_info(self, name: str, phone_number: str) -> None:
        self.surroundings["name"] = name
        self.surroundings["phone_number"] = phone_number

    def _set_user_location(self, abroad: bool) -> None:
        self.surroundings["is_abroad"] = abroad

    def _simulate_network_search(self) -> None:
        """Which network the phone finds: one that its mode allows, while SIM, access point and line let it."""
        device, signals = self.device, self.surroundings["signal_strength"]
        device["network_connection_status"] = "no_service"
        device["network_technology_connected"] = "none"
        device["network_signal_strength"] = "none"
        if self._sim() != "active" or device["airplane_mode"]:
            return
        if device["active_apn_settings"]["apn_name"] == "broken":
            return
        if not self.surroundings["line_active"]:
            return
        allowed = MODES.get(device["network_mode_preference"], ("4G",))
        technology = next(
            (one for one in allowed if signals.get(one, "none") != "none"), allowed[-1]
        )
        device["network_connection_status"] = "connected"
        device["network_technology_connected"] = technology
        device["network_signal_strength"] = signals.get(technology, "none")

    def _bring(self, field: str, wanted: bool) -> str:
        """A switch through its toggle: once, or twice where it was so already."""
        if self._flip(field) is not wanted:
            self._flip(field)
        return f"{field} is now {_switch(wanted)}."

    def _turn_airplane_mode_on(self) -> str:
        if not self._flip_airplane():
            self._flip_airplane()
        return "Airplane Mode is now ON."

    def _turn_airplane_mode_off(self) -> str:
        if self._flip_airplane():
            self._flip_airplane()
        return "Airplane Mode is now OFF."

    def _unseat_sim_card(self) -> str:
        self.device["sim_card_missing"] = True
        self._simulate_network_search()
        return "SIM card un-seated successfully."

    def _lock_sim_card(self, mode: str) -> str:
        if mode in ("pin", "puk"):
            self.device["sim_card_status"] = f"locked_{mode}"
        self._simulate_network_search()
        return f"SIM card locked successfully in {mode} mode."

    def _turn_data_on(self) -> str:
        self.device["data_enabled"] = True
        return "Data connection restored."

    def _turn_data_off(self) -> str:
        return self._bring("data_enabled", False)

    def _turn_roaming_on(self) -> str:
        return self._bring("roaming_enabled", True)

    def _turn_roaming_off(self) -> str:
        return self._bring("roaming_enabled", False)

    def _turn_data_saver_mode_on(self) -> str:
        self.device["data_saver_mode"] = True
        return "Data Saver Mode is now ON."

    def _turn_data_saver_mode_off(self) -> str:
        self.device["data_saver_mode"] = False
        return "Data Saver Mode is now OFF."

    def _break_apn_settings(self) -> str:
        self.device["active_apn_settings"]["apn_name"] = "broken"
        self._simulate_network_search()
        return "APN settings broken."

    def _break_apn_mms_setting(self) -> str:
        self.device["active_apn_settings"]["mmsc_url"] = None
        return "APN MMS setting broken."

    def _set_wifi_calling(self, enabled: bool, mms_over_wifi: bool | None = None) -> str:
        self.device["wifi_calling_enabled"] = enabled
        if mms_over_wifi is not None:
            self.device["wifi_calling_mms_over_wifi"] = mms_over_wifi
        return f"Wi-Fi Calling is now {_switch(enabled)}."

    def _break_vpn(self) -> str:
        if not self.device["vpn_connected"]:
            self._join_vpn()
        self.device["vpn_details"]["server_performance"] = "poor"
        return "VPN connection broken."

    def _remove_app_permission(self, app_name: str, permission: str) -> list[Any]:
        app, name = self.device["app_statuses"].get(app_name), permission.lower()
        if not app or name not in app["permissions"]:
            return [False, f"Permission '{name}' not tracked for app '{app_name}'."]
        app["permissions"][name] = False
        return [True, f"Permission '{name}' removed from app '{app_name}'."]

    def _assert_airplane_mode_status(self, expected_status: bool) -> bool:
        return self.device["airplane_mode"] == expected_status

    def _assert_service_status(self, expected_status: str) -> bool:
        if expected_status not in ("connected", "searching", "no_service", "emergency_only"):
            raise Rejection("bad_status", f"'{expected_status}' is no network status")
        return self.device["network_connection_status"] == expected_status

    def _assert_mobile_data_status(self, expected_status: bool) -> bool:
        return self._works() == expected_status

    def _assert_mobile_roaming_status(self, expected_status: bool) -> bool:
        return self.device["roaming_enabled"] == expected_status

    def _assert_mobile_data_saver_mode_status(self, expected_status: bool) -> bool:
        return self.device["data_saver_mode"] == expected_status

    def _assert_internet_speed(
        self, expected_speed: float, expected_desc: str | None = None
    ) -> bool:
        speed, label = self._speed()
        enough = (speed or 0.0) >= expected_speed
        return enough and (expected_desc is None or label.lower() == expected_desc.lower())

    def _assert_internet_not_excellent(self) -> bool:
        return self._speed()[1].lower() != "excellent"

    def _assert_can_send_mms(self, expected_status: bool) -> bool:
        return self._mms() == expected_status


def _find(rows: list[dict[str, Any]], field: str, key: str, noun: str) -> dict[str, Any]:
    for row in rows:
        if row[field] == key:
            return row
    raise Rejection("unknown", f"{noun} with {field.replace('_', ' ')} {key} not found")


def _item(text: str, amount: float) -> dict[str, Any]:
    kind = "Credit" if amount < 0 else "Charge"
    return {"description": text, "amount": amount, "date": TODAY, "item_type": kind}


def _switch(on: bool) -> str:
    return "ON" if on else "OFF"


def _yes(true: bool) -> str:
    return "Yes" if true else "No"
