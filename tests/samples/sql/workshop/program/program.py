"""A bicycle workshop: customers, their bicycles, the jobs on them, parts in stock and orders of more."""

from datetime import date, timedelta
from typing import Literal

from envmill.runtime import Rejection, now

MOST_JOBS = 3
LONGEST_PROMISE = 60


class Workshop:
    """Everything stands in the tables; nothing is kept here."""

    def __init__(self, db):
        self._db = db

    def find_customers(self, name: str) -> list:
        """Find customers by a part of their name.

        Args:
            name: Part of the name, in any letter case.
        """
        wanted = self._need_text("name", name).lower()
        return [row for row in self._db.query("select id, name, phone from customers order by id") if wanted in row["name"].lower()]

    def get_customer(self, customer_id: int) -> dict:
        """Look up one customer with the bicycles that are known.

        Args:
            customer_id: Number of the customer.
        """
        customer = self._get("customers", customer_id)
        bikes = self._db.query("select id, model, frame_number from bikes where customer_id = ? order by id", (customer_id,))
        return {**customer, "bikes": bikes}

    def list_mechanics(self) -> list:
        """List the mechanics with how many open jobs each has."""
        return self._db.query("select id, name, open_jobs from mechanics order by id")

    def list_jobs(self, status: Literal["waiting", "in_work", "done", "collected"] | None = None) -> list:
        """List the jobs.

        Args:
            status: Only jobs in this state.
        """
        return self._db.query(
            "select id, bike_id, mechanic_id, status, complaint, promised, hours from jobs where ? is null or status = ? order by id",
            (status, status),
        )

    def get_job(self, job_id: int) -> dict:
        """Look up one job with the parts it took.

        Args:
            job_id: Number of the job.
        """
        parts = "select part_id, sku, name, quantity, price from job_parts join parts on id = part_id where job_id = ? order by part_id"
        return {**self._get("jobs", job_id), "parts": self._db.query(parts, (job_id,))}

    def find_parts(self, words: str) -> list:
        """Find parts by a part of their name.

        Args:
            words: Part of the name, in any letter case.
        """
        wanted = self._need_text("words", words).lower()
        return [row for row in self._db.query("select id, sku, name, stock, price from parts order by id") if wanted in row["name"].lower()]

    def get_part(self, part_id: int) -> dict:
        """Look up one part.

        Args:
            part_id: Number of the part.
        """
        return self._get("parts", part_id)

    def list_movements(self, part_id: int) -> list:
        """List what came into stock and what was taken, of one part.

        Args:
            part_id: Number of the part.
        """
        self._get("parts", part_id)
        return self._db.query("select id, part_id, change, reason, at from movements where part_id = ? order by id", (part_id,))

    def list_orders(self, status: Literal["placed", "received", "cancelled"] | None = None) -> list:
        """List the orders of parts.

        Args:
            status: Only orders in this state.
        """
        return self._db.query(
            "select id, supplier, status, placed_at from orders where ? is null or status = ? order by id", (status, status)
        )

    def get_order(self, order_id: int) -> dict:
        """Look up one order with its lines.

        Args:
            order_id: Number of the order.
        """
        lines = "select part_id, sku, quantity from order_lines join parts on id = part_id where order_id = ? order by part_id"
        return {**self._get("orders", order_id), "lines": self._db.query(lines, (order_id,))}

    def register_customer(self, name: str, phone: str) -> dict:
        """Add a new customer.

        Args:
            name: Full name.
            phone: Number to call; no two customers have the same.
        """
        name, phone = self._need_text("name", name), self._need_text("phone", phone)
        if self._db.query("select 1 from customers where phone = ?", (phone,)):
            raise Rejection("known_phone", "Somebody with this number is a customer already.")
        return self._db.query("insert into customers (name, phone) values (?, ?) returning id, name, phone", (name, phone))[0]

    def register_bike(self, customer_id: int, model: str, frame_number: str) -> dict:
        """Add a customer's bicycle.

        Args:
            customer_id: Number of the customer.
            model: Make and model.
            frame_number: Number stamped on the frame; no two bicycles have the same.
        """
        self._get("customers", customer_id)
        model, frame_number = self._need_text("model", model), self._need_text("frame_number", frame_number)
        if self._db.query("select 1 from bikes where frame_number = ?", (frame_number,)):
            raise Rejection("known_frame", "A bicycle with this frame number is known already.")
        return self._db.query(
            "insert into bikes (customer_id, model, frame_number) values (?, ?, ?) returning id, customer_id, model, frame_number",
            (customer_id, model, frame_number),
        )[0]

    def open_job(self, bike_id: int, complaint: str, promised: str) -> dict:
        """Take a bicycle in; one that is in the workshop already cannot be taken in again.

        Args:
            bike_id: Number of the bicycle.
            complaint: What is wrong with it, in words.
            promised: Day it is promised for, like 2026-03-05: today at the earliest, in 60 days at the latest.
        """
        self._get("bikes", bike_id)
        if self._db.query("select 1 from jobs where bike_id = ? and status <> 'collected'", (bike_id,)):
            raise Rejection("in_workshop", "This bicycle is in the workshop already.")
        return self._db.query(
            "insert into jobs (bike_id, complaint, promised) values (?, ?, ?)"
            " returning id, bike_id, mechanic_id, status, complaint, promised, hours, opened_at",
            (bike_id, self._need_text("complaint", complaint), self._need_day(promised)),
        )[0]

    def postpone_job(self, job_id: int, promised: str) -> dict:
        """Promise a job that is not done for another day.

        Args:
            job_id: Number of the job.
            promised: New day, like 2026-03-05: today at the earliest, in 60 days at the latest.
        """
        job = self._need_open(job_id)
        if self._need_day(promised) == job["promised"]:
            raise Rejection("same_day", "It is promised for this day already.")
        self._db.execute("update jobs set touched_at = current_timestamp, promised = ? where id = ?", (promised, job_id))
        return self._get("jobs", job_id)

    def assign_mechanic(self, job_id: int, mechanic_id: int) -> dict:
        """Give a job that is not done to a mechanic, who has at most three open ones.

        Args:
            job_id: Number of the job.
            mechanic_id: Number of the mechanic.
        """
        job, mechanic = self._need_open(job_id), self._get("mechanics", mechanic_id)
        if job["mechanic_id"] == mechanic_id:
            raise Rejection("same_mechanic", "This mechanic has the job already.")
        if mechanic["open_jobs"] >= MOST_JOBS:
            raise Rejection("busy", f"{mechanic['name']} has {MOST_JOBS} open jobs.")
        self._db.execute("update mechanics set open_jobs = open_jobs - 1 where id = ?", (job["mechanic_id"],))
        self._db.execute("update mechanics set open_jobs = open_jobs + 1 where id = ?", (mechanic_id,))
        self._db.execute(
            "update jobs set touched_at = current_timestamp, mechanic_id = ?, status = 'in_work' where id = ?", (mechanic_id, job_id)
        )
        return self._get("jobs", job_id)

    def log_hours(self, job_id: int, hours: float) -> dict:
        """Add hours of work to a job that somebody works on.

        Args:
            job_id: Number of the job.
            hours: How many, from 0.25 to 12.
        """
        if self._get("jobs", job_id)["status"] != "in_work":
            raise Rejection("not_in_work", "Nobody works on this job.")
        if not 0.25 <= hours <= 12:
            raise Rejection("invalid_hours", "From 0.25 to 12 hours can be added at a time.")
        self._db.execute("update jobs set touched_at = current_timestamp, hours = round(hours + ?, 2) where id = ?", (hours, job_id))
        return self._get("jobs", job_id)

    def use_part(self, job_id: int, part_id: int, quantity: int) -> dict:
        """Take parts from stock for a job that somebody works on.

        Args:
            job_id: Number of the job.
            part_id: Number of the part.
            quantity: How many, from 1 to 100.
        """
        if self._get("jobs", job_id)["status"] != "in_work":
            raise Rejection("not_in_work", "Nobody works on this job.")
        part = self._get("parts", part_id)
        self._check_quantity(quantity)
        if part["stock"] < quantity:
            raise Rejection("out_of_stock", f"There are {part['stock']} of {part['sku']} in stock.")
        self._db.execute("update parts set stock = stock - ? where id = ?", (quantity, part_id))
        self._db.execute(
            "insert into job_parts (job_id, part_id, quantity) values (?, ?, ?)"
            " on conflict (job_id, part_id) do update set quantity = quantity + excluded.quantity",
            (job_id, part_id, quantity),
        )
        return self._db.query("select job_id, part_id, quantity from job_parts where job_id = ? and part_id = ?", (job_id, part_id))[0]

    def finish_job(self, job_id: int) -> dict:
        """Mark a job that somebody works on as done, once hours are logged.

        Args:
            job_id: Number of the job.
        """
        job = self._get("jobs", job_id)
        if job["status"] != "in_work":
            raise Rejection("not_in_work", "Nobody works on this job.")
        if not job["hours"]:
            raise Rejection("no_hours", "No hours are logged on this job.")
        self._db.execute("update jobs set touched_at = current_timestamp, status = 'done' where id = ?", (job_id,))
        self._db.execute("update mechanics set open_jobs = open_jobs - 1 where id = ?", (job["mechanic_id"],))
        return self._get("jobs", job_id)

    def collect_bike(self, job_id: int) -> dict:
        """Hand the bicycle of a job that is done back to its owner.

        Args:
            job_id: Number of the job.
        """
        job = self._get("jobs", job_id)
        if job["status"] != "done":
            raise Rejection("not_done", f"The job is {job['status']}.")
        self._db.execute("update jobs set touched_at = current_timestamp, status = 'collected' where id = ?", (job_id,))
        return self._get("jobs", job_id)

    def withdraw_job(self, job_id: int) -> dict:
        """Take a job that is still waiting off the books; nothing of it is kept.

        Args:
            job_id: Number of the job.
        """
        job = self._get("jobs", job_id)
        if job["status"] != "waiting":
            raise Rejection("begun", f"The job is {job['status']}.")
        self._db.execute("delete from jobs where id = ?", (job_id,))
        return {"withdrawn": job_id}

    def place_order(self, supplier: str, part_id: int, quantity: int) -> dict:
        """Order a part from a supplier.

        Args:
            supplier: Who delivers it.
            part_id: Number of the part.
            quantity: How many, from 1 to 100.
        """
        supplier = self._need_text("supplier", supplier)
        self._get("parts", part_id)
        self._check_quantity(quantity)
        order = self._db.query("insert into orders (supplier) values (?) returning id, supplier, status, placed_at", (supplier,))[0]
        self._db.execute("insert into order_lines (order_id, part_id, quantity) values (?, ?, ?)", (order["id"], part_id, quantity))
        return order

    def add_order_line(self, order_id: int, part_id: int, quantity: int) -> dict:
        """Add another part to an order that has not come yet.

        Args:
            order_id: Number of the order.
            part_id: Number of the part.
            quantity: How many, from 1 to 100.
        """
        self._need_placed(order_id)
        self._get("parts", part_id)
        self._check_quantity(quantity)
        if self._db.query("select 1 from order_lines where order_id = ? and part_id = ?", (order_id, part_id)):
            raise Rejection("ordered", "This part is on the order already.")
        return self._db.query(
            "insert into order_lines (order_id, part_id, quantity) values (?, ?, ?) returning order_id, part_id, quantity",
            (order_id, part_id, quantity),
        )[0]

    def receive_order(self, order_id: int) -> dict:
        """Put what an order brought into stock.

        Args:
            order_id: Number of the order.
        """
        self._need_placed(order_id)
        self._db.execute(
            "update parts set stock = stock + (select quantity from order_lines where order_id = ? and part_id = parts.id)"
            " where id in (select part_id from order_lines where order_id = ?)",
            (order_id, order_id),
        )
        self._db.execute("update orders set status = 'received' where id = ?", (order_id,))
        return self._get("orders", order_id)

    def cancel_order(self, order_id: int) -> dict:
        """Call an order off that has not come yet.

        Args:
            order_id: Number of the order.
        """
        self._need_placed(order_id)
        self._db.execute("update orders set status = 'cancelled' where id = ?", (order_id,))
        return self._get("orders", order_id)

    def _get(self, table, key):
        found = self._db.query(f"select * from {table} where id = ?", (key,)) if abs(key) < 2**63 else []
        if not found:
            raise Rejection("unknown", f"There is no number {key} among the {table}.")
        return found[0]

    def _need_open(self, job_id):
        job = self._get("jobs", job_id)
        if job["status"] not in ("waiting", "in_work"):
            raise Rejection("closed", f"The job is {job['status']}.")
        return job

    def _need_placed(self, order_id):
        order = self._get("orders", order_id)
        if order["status"] != "placed":
            raise Rejection("closed", f"The order is {order['status']}.")

    def _check_quantity(self, quantity):
        if not 1 <= quantity <= 100:
            raise Rejection("invalid_quantity", "From 1 to 100 can be taken at a time.")

    def _need_day(self, day):
        today = now().date()
        try:
            wanted = date.fromisoformat(day)
        except ValueError:
            raise Rejection("invalid_date", "promised is no day like 2026-03-05.") from None
        if len(day) != 10 or not today <= wanted <= today + timedelta(days=LONGEST_PROMISE):
            raise Rejection(
                "invalid_date", f"promised is no day like 2026-03-05, from today on and in {LONGEST_PROMISE} days at the latest."
            )
        return day

    def _need_text(self, name, text):
        if len(text) > 500 or "\0" in text or any("\ud800" <= letter <= "\udfff" for letter in text):
            raise Rejection("invalid_text", f"{name} is no text of at most 500 characters.")
        if not text.strip():
            raise Rejection("empty", f"{name} is empty.")
        return text.strip()
