"""A payroll ledger: employees, time sheets, allowances, runs that are drawn up, approved by another person, and posted in double entry."""

import decimal
import re
from collections import defaultdict
from decimal import Decimal
from typing import Literal

from envmill.runtime import Rejection, actors, new_id, now, rng

CENT = Decimal("0.01")
BANDS = (("0", "1000", "0.10"), ("1000", "3000", "0.20"), ("3000", "Infinity", "0.35"))
"""Tax by slice of gross pay: from, to, rate."""
PENSION = Decimal("0.05")
MONTH = re.compile(r"20\d\d-(0[1-9]|1[0-2])")
FULL_TIME = Decimal(160)
"""Hours of a month; more are overtime at one and a half."""


class Payroll:
    """Who earns what, and where it is booked. Amounts are texts with two decimals."""

    def __init__(self, state: dict):
        self.employees = state["employees"]
        self.departments = state["departments"]
        self.sheets = state["sheets"]
        self.allowances = state["allowances"]
        self.runs = state["runs"]
        self.accounts = state["accounts"]
        self.journal = state["journal"]

    def list_employees(self, department_id: str | None = None, include_former: bool = False) -> list:
        """List employees.

        Args:
            department_id: Only of this department.
            include_former: Also those who have left.
        """
        rows = [(key, row) for key, row in sorted(self.employees.items()) if department_id in (None, row["department"])]
        return [dict(row, id=key) for key, row in rows if include_former or row["left"] is None]

    def get_employee(self, employee_id: str) -> dict:
        """Look up an employee with allowances.

        Args:
            employee_id: Number of the employee.
        """
        row = self._get("employees", employee_id)
        mine = {key: one["amount"] for key, one in self.allowances.items() if one["employee"] == employee_id}
        return dict(row, id=employee_id, allowances=mine)

    def hire(self, name: str, department_id: str, hourly: str) -> dict:
        """Hire an employee.

        Args:
            name: Full name.
            department_id: The department.
            hourly: Wage per hour, such as 18.50.
        """
        self._get("departments", department_id)
        wage = self._money(hourly)
        if not Decimal("12.00") <= wage <= Decimal("250.00"):
            raise Rejection("bad_wage", "A wage is between 12.00 and 250.00 an hour.")
        key = new_id("emp")
        pin = f"{rng().randrange(10_000):04d}"
        self.employees[key] = {"name": name, "department": department_id, "hourly": str(wage), "left": None, "pin": pin}
        return {"id": key, "pin": pin}

    @actors("agent", "manager")
    def raise_wage(self, employee_id: str, percent: float) -> dict:
        """Raise the wage of an employee.

        Args:
            employee_id: Number of the employee.
            percent: By how much, above 0 and up to 15.
        """
        row = self._active(employee_id)
        if not 0 < percent <= 15:
            raise Rejection("bad_percent", "A raise is above 0 and at most 15 percent.")
        row["hourly"] = str(self._round(Decimal(row["hourly"]) * (1 + Decimal(str(percent)) / 100)))
        return {"id": employee_id, "hourly": row["hourly"]}

    def transfer(self, employee_id: str, department_id: str) -> dict:
        """Move an employee to another department.

        Args:
            employee_id: Number of the employee.
            department_id: The new department.
        """
        row = self._active(employee_id)
        self._get("departments", department_id)
        if row["department"] == department_id:
            raise Rejection("no_change", "The employee works there already.")
        row["department"] = department_id
        return {"id": employee_id, "department": department_id}

    def leave(self, employee_id: str) -> dict:
        """Record that an employee leaves today. Time sheets not paid yet stand in the way.

        Args:
            employee_id: Number of the employee.
        """
        row = self._active(employee_id)
        if any(sheet["employee"] == employee_id and sheet["run"] is None for sheet in self.sheets.values()):
            raise Rejection("unpaid_hours", "Pay or withdraw the open time sheets first.")
        row["left"] = now().date().isoformat()
        return {"id": employee_id, "left": row["left"]}

    @actors("agent", "employee")
    def submit_hours(self, employee_id: str, month: str, hours: float) -> dict:
        """Submit the hours of a month. One sheet per employee and month.

        Args:
            employee_id: Number of the employee.
            month: Month, as YYYY-MM.
            hours: Hours worked, above 0 and up to 300.
        """
        self._active(employee_id)
        self._check_month(month)
        if not 0 < hours <= 300:
            raise Rejection("bad_hours", "Hours are above 0 and at most 300.")
        if any((sheet["employee"], sheet["month"]) == (employee_id, month) for sheet in self.sheets.values()):
            raise Rejection("submitted", "There is a sheet for that month already: withdraw it first.")
        key = new_id("sht")
        self.sheets[key] = {"employee": employee_id, "month": month, "hours": hours, "run": None}
        return {"id": key}

    @actors("agent", "employee")
    def withdraw_hours(self, sheet_id: str) -> dict:
        """Withdraw a time sheet that is in no run.

        Args:
            sheet_id: The sheet.
        """
        sheet = self._get("sheets", sheet_id)
        if sheet["run"] is not None:
            raise Rejection("in_a_run", f"The sheet is part of run {sheet['run']}.")
        del self.sheets[sheet_id]
        return {"withdrawn": sheet_id}

    def list_sheets(self, month: str, open_only: bool = True) -> list:
        """List the time sheets of a month.

        Args:
            month: Month, as YYYY-MM.
            open_only: Leave out what is in a run.
        """
        self._check_month(month)
        rows = [(key, row) for key, row in sorted(self.sheets.items()) if row["month"] == month]
        return [dict(row, id=key) for key, row in rows if row["run"] is None or not open_only]

    def grant_allowance(self, employee_id: str, kind: Literal["travel", "child", "meal"], amount: str) -> dict:
        """Grant a monthly allowance. One of each kind per employee.

        Args:
            employee_id: Number of the employee.
            kind: What for.
            amount: Per month, such as 45.00.
        """
        self._active(employee_id)
        value = self._money(amount)
        if not 0 < value <= 500:
            raise Rejection("bad_amount", "An allowance is above 0 and at most 500.00.")
        if any((row["employee"], row["kind"]) == (employee_id, kind) for row in self.allowances.values()):
            raise Rejection("granted", "The employee has an allowance of that kind: revoke it first.")
        key = new_id("alw")
        self.allowances[key] = {"employee": employee_id, "kind": kind, "amount": str(value)}
        return {"id": key}

    def revoke_allowance(self, allowance_id: str) -> dict:
        """Revoke an allowance.

        Args:
            allowance_id: The allowance.
        """
        row = self._get("allowances", allowance_id)
        del self.allowances[allowance_id]
        return {"employee": row["employee"], "kind": row["kind"]}

    def preview_pay(self, employee_id: str, hours: float) -> dict:
        """Compute what an employee would earn for so many hours, and keep nothing.

        Args:
            employee_id: Number of the employee.
            hours: Hours, above 0 and up to 300.
        """
        self._active(employee_id)
        if not 0 < hours <= 300:
            raise Rejection("bad_hours", "Hours are above 0 and at most 300.")
        return {name: str(amount) for name, amount in self._pay(employee_id, Decimal(str(hours))).items()}

    def draw_up_run(self, month: str, department_ids: list[str] | None = None) -> dict:
        """Draw up a run over all open sheets of a month.

        Args:
            month: Month, as YYYY-MM.
            department_ids: Only of these departments.
        """
        self._check_month(month)
        for department in department_ids or []:
            self._get("departments", department)
        wanted = {key for key, row in self.employees.items() if department_ids is None or row["department"] in department_ids}
        chosen = [
            key for key, row in sorted(self.sheets.items()) if row["month"] == month and row["run"] is None and row["employee"] in wanted
        ]
        if not chosen:
            raise Rejection("nothing_open", "No open time sheet fits.")
        key = new_id("run")
        lines = {}
        for sheet in chosen:
            pay = self._pay(self.sheets[sheet]["employee"], Decimal(str(self.sheets[sheet]["hours"])))
            lines[self.sheets[sheet]["employee"]] = {name: str(amount) for name, amount in pay.items()}
            self.sheets[sheet]["run"] = key
        self.runs[key] = {"month": month, "status": "draft", "lines": lines, "drawn_up": now().isoformat(), "posted": None}
        return {"id": key, "employees": len(lines), "net": str(sum((Decimal(line["net"]) for line in lines.values()), Decimal(0)))}

    @actors("manager")
    def approve_run(self, run_id: str) -> dict:
        """Approve a draft run, if the departments' budgets allow it.

        Args:
            run_id: The run.
        """
        run = self._in_status(run_id, "draft")
        spent = defaultdict(Decimal)
        for employee, line in run["lines"].items():
            spent[self.employees[employee]["department"]] += Decimal(line["gross"])
        over = sorted(key for key, amount in spent.items() if amount > Decimal(self.departments[key]["budget"]))
        if over:
            raise Rejection("over_budget", f"Over budget: {', '.join(over)}.")
        run["status"] = "approved"
        return {"id": run_id, "status": "approved"}

    def discard_run(self, run_id: str) -> dict:
        """Discard a run that is not posted; its sheets are open again.

        Args:
            run_id: The run.
        """
        run = self._get("runs", run_id)
        if run["status"] not in ("draft", "approved"):
            raise Rejection("not_open", f"The run is {run['status']}.")
        run["status"] = "discarded"
        for sheet in self.sheets.values():
            if sheet["run"] == run_id:
                sheet["run"] = None
        return {"id": run_id, "status": "discarded"}

    def post_run(self, run_id: str) -> dict:
        """Post an approved run to the ledger and charge the departments.

        Args:
            run_id: The run.
        """
        run = self._in_status(run_id, "approved")
        totals = defaultdict(Decimal)
        for employee, line in run["lines"].items():
            department = self.departments[self.employees[employee]["department"]]
            department["budget"] = str(Decimal(department["budget"]) - Decimal(line["gross"]))
            for name, amount in line.items():
                totals[name] += Decimal(amount)
        self._book(run_id, "wages", totals["gross"] + totals["allowances"])
        for account, name in (("tax", "tax"), ("pension", "pension"), ("bank", "net")):
            self._book(run_id, account, -totals[name])
        run["status"], run["posted"] = "posted", now().isoformat()
        return {"id": run_id, "entries": 4}

    def trial_balance(self) -> dict:
        """Show the balance of every account; together they are nought."""
        return {"accounts": dict(sorted(self.accounts.items())), "sum": str(sum(map(Decimal, self.accounts.values()), Decimal(0)))}

    def _get(self, collection: str, key: str) -> dict:
        rows = getattr(self, collection)
        if key not in rows:
            raise Rejection("unknown", f"{collection} has no {key!r}; look the number up first.")
        return rows[key]

    def _active(self, employee_id: str) -> dict:
        row = self._get("employees", employee_id)
        if row["left"] is not None:
            raise Rejection("former", f"The employee left on {row['left']}.")
        return row

    def _in_status(self, run_id: str, status: str) -> dict:
        run = self._get("runs", run_id)
        if run["status"] != status:
            raise Rejection("wrong_status", f"The run is {run['status']}, not {status}.")
        return run

    def _check_month(self, month: str) -> None:
        if not MONTH.fullmatch(month):
            raise Rejection("bad_month", f"{month!r} is no month; write YYYY-MM.")

    def _money(self, text: str) -> Decimal:
        try:
            value = Decimal(text)
        except decimal.InvalidOperation:
            raise Rejection("bad_amount", f"{text!r} is no amount; write one like 18.50.") from None
        if not value.is_finite() or abs(value) > 1_000_000:
            raise Rejection("bad_amount", "An amount lies below a million.")
        return self._round(value)

    def _round(self, value: Decimal) -> Decimal:
        return value.quantize(CENT, rounding=decimal.ROUND_HALF_EVEN)

    def _pay(self, employee_id: str, hours: Decimal) -> dict:
        wage = Decimal(self.employees[employee_id]["hourly"])
        overtime = max(Decimal(0), hours - FULL_TIME)
        gross = self._round(wage * (hours - overtime) + wage * Decimal("1.5") * overtime)
        slices = ((min(gross, Decimal(to)) - Decimal(start), Decimal(rate)) for start, to, rate in BANDS if gross > Decimal(start))
        tax = self._round(sum((amount * rate for amount, rate in slices), Decimal(0)))
        pension = self._round(gross * PENSION)
        extra = sum((Decimal(row["amount"]) for row in self.allowances.values() if row["employee"] == employee_id), Decimal("0.00"))
        return {"gross": gross, "tax": tax, "pension": pension, "allowances": extra, "net": gross - tax - pension + extra}

    def _book(self, run_id: str, account: str, amount: Decimal) -> None:
        self.accounts[account] = str(Decimal(self.accounts[account]) + amount)
        self.journal.append({"run": run_id, "account": account, "amount": str(amount), "at": now().isoformat()})
