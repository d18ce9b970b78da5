"""A small release in AWM's format, written here: a reading room with three tables, ten endpoints
and four tasks; tests damage it."""

import json
from pathlib import Path
from typing import Any

NAME = "reading_room_1"
BOOKS = """CREATE TABLE books (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    title TEXT NOT NULL,
    shelf TEXT,
    pages INTEGER NOT NULL DEFAULT 100,
    updated_at TEXT
)"""
LOANS = """CREATE TABLE loans (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    user_id INTEGER NOT NULL,
    book_id INTEGER NOT NULL,
    days INTEGER NOT NULL,
    created_at TEXT NOT NULL,
    FOREIGN KEY (book_id) REFERENCES books (id)
);"""
FINES = (
    "CREATE TABLE fines (id INTEGER PRIMARY KEY, user_id INTEGER NOT NULL, amount REAL NOT NULL, "
    "why TEXT NOT NULL)"
)
INSERTS = {
    "books": [
        "INSERT INTO books (id, title, shelf, pages) VALUES (1, 'Atlas', 'A', 320), (2, 'Ants', "
        "'B', 90)",
        "INSERT INTO books (id, title, shelf) VALUES (3, 'Rivers', NULL);",
    ],
    "loans": [
        "INSERT INTO loans (id, user_id, book_id, days, created_at) VALUES (1, 1, 2, 14, "
        "'2025-01-01T00:00:00Z')"
    ],
}
LENT = """def verify_task_completion(initial_db_path: str, final_db_path: str, final_answer: str | None = None) -> dict:
    import sqlite3

    def ask(path, sql):
        conn = sqlite3.connect(f"file:{path}?mode=ro", uri=True)
        try:
            return conn.execute(sql).fetchall()
        finally:
            conn.close()

    before = ask(initial_db_path, "SELECT count(*) FROM loans WHERE book_id = 1")[0][0]
    after = ask(final_db_path, "SELECT count(*) FROM loans WHERE book_id = 1 AND user_id = 1 AND days = 7")[0][0]
    return {"result": "complete"} if after == before + 1 else {"result": "others"}
"""
ALWAYS = (
    "def verify_task_completion(initial_db_path, final_db_path, final_answer=None):\n    return "
    "{'result': 'complete'}\n"
)
EVIDENCE = "def verify_task_completion(initial_db_path, final_db_path):\n    return {'loans': 3}\n"
PEEKS = """def verify_task_completion(initial_db_path, final_db_path):
    import sqlite3
    seen = sqlite3.connect("/etc/passwd").execute("select count(*) from sqlite_master").fetchone()[0]
    open("/tmp/left-behind", "w").write("x")
    return {"result": "complete" if seen else "others"}
"""


def endpoint(
    name: str, method: str, path: str, tables: list[str], /, **parameters: tuple[str, str]
) -> dict[str, Any]:
    """Parameter → its type and where it is sent."""
    told = {
        key: {
            "type": kind,
            "param_type": place,
            "required": place != "query",
            "description": f"The {key}.",
            "example": 1,
        }
        for key, (kind, place) in parameters.items()
    }
    return {
        "path": path, "method": method, "summary": name, "description": f"Does {name}.", "operation_id": name, "tags": [],
        "request_params": told, "response": {}, "required_tables": tables, "required_fields": {},
    }  # fmt: skip


ENDPOINTS = [
    endpoint(
        "list_books",
        "GET",
        "/books",
        ["books"],
        shelf=("string", "query"),
        min_pages=("integer", "query"),
        limit=("integer", "query"),
    ),
    endpoint("get_book", "GET", "/books/{book_id}", ["books"], book_id=("integer", "path")),
    endpoint(
        "move_book",
        "PATCH",
        "/books/{book_id}",
        ["books"],
        book_id=("integer", "path"),
        shelf=("string", "body"),
    ),
    endpoint(
        "lend_book",
        "POST",
        "/books/{book_id}/loans",
        ["loans"],
        book_id=("integer", "path"),
        days=("integer", "body"),
    ),
    endpoint("end_loan", "DELETE", "/loans/{loan_id}", ["loans"], loan_id=("integer", "path")),
    endpoint("search_books", "GET", "/search", ["books"], query=("string", "query")),
    endpoint("list_due", "GET", "/due", ["books", "loans"]),
    endpoint("add_fine", "POST", "/fines", ["fines"], amount=("number", "body")),
    endpoint("clear_loans", "DELETE", "/loans", ["loans"]),
    endpoint("tag_book", "GET", "/tags", ["books"], shelf=("array", "query")),
]


def make_release() -> dict[str, list[dict[str, Any]]]:
    """File → rows."""
    tables = [
        {"name": name, "ddl": ddl, "indexes": []}
        for name, ddl in (("books", BOOKS), ("loans", LOANS), ("fines", FINES))
    ]
    tables[0]["indexes"] = ["CREATE INDEX idx_shelf ON books(shelf);"]
    rows = [{"table_name": name, "insert_statements": told} for name, told in INSERTS.items()]
    tasks = [
        "Lend the atlas to me for a week.",
        "Nothing has to be done.",
        "Gather.",
        "Nobody checks this.",
    ]
    verifiers = [
        {
            "scenario": NAME,
            "task_idx": place,
            "task": tasks[place],
            "verification": {"code": code, "raw_response": ""},
        }
        for place, code in enumerate((LENT, ALWAYS, EVIDENCE))
    ]
    return {
        "gen_scenario.jsonl": [
            {"name": NAME, "description": "A room where people read.", "categories": ["x"]}
        ],
        "gen_tasks.jsonl": [{"scenario": NAME, "tasks": tasks}],
        "gen_db.jsonl": [{"scenario": NAME, "db_schema": {"tables": tables}, "db_path": "x.db"}],
        "gen_sample.jsonl": [
            {"scenario": NAME, "tables_count": 2, "sample_data": {"tables": rows}}
        ],
        "gen_spec.jsonl": [
            {
                "scenario": NAME,
                "api_spec": {"api_groups": [{"group_name": "all", "endpoints": ENDPOINTS}]},
            }
        ],
        "gen_envs.jsonl": [
            {"scenario": NAME, "db_path": "x.db", "full_code": "from fastapi import FastAPI"}
        ],
        "gen_verifier.pure_code.jsonl": verifiers,
    }


def write_release(folder: Path, release: dict[str, list[dict[str, Any]]]) -> Path:
    folder.mkdir()
    for name, rows in release.items():
        (folder / name).write_text("".join(json.dumps(row) + "\n" for row in rows))
    return folder


PLOTS = [
    {
        "name": "users",
        "ddl": "CREATE TABLE users (id INTEGER PRIMARY KEY, nick TEXT NOT NULL)",
        "indexes": [],
    },
    {
        "name": "plots",
        "ddl": "CREATE TABLE plots (id INTEGER PRIMARY KEY, holder_id INTEGER NOT NULL, name TEXT "
        "NOT NULL, crop TEXT, "
        "sown_at DATETIME DEFAULT CURRENT_TIMESTAMP, UNIQUE (holder_id, name), FOREIGN KEY "
        "(holder_id) REFERENCES users(id))",
        "indexes": ["CREATE INDEX idx_plots_sown ON plots(holder_id, sown_at DESC);"],
    },
    {
        "name": "watches",
        "ddl": "CREATE TABLE watches (user_id INTEGER NOT NULL, plot_id INTEGER NOT NULL, PRIMARY "
        "KEY (user_id, plot_id), "
        "FOREIGN KEY (user_id) REFERENCES users(id) ON DELETE CASCADE, FOREIGN KEY (plot_id) "
        "REFERENCES plots(id))",
        "indexes": [],
    },
    {"name": "seeds", "ddl": "CREATE TABLE seeds (id TEXT PRIMARY KEY, label TEXT)", "indexes": []},
]
"""Tables in which some rows belong to whoever is logged in, as in the release."""
PLOT_ROWS = [
    {
        "table_name": "users",
        "insert_statements": [
            "INSERT INTO users (id, nick) VALUES (1, 'me');",
            "INSERT INTO users VALUES (2, 'she')",
        ],
    },
    {
        "table_name": "plots",
        "insert_statements": [
            "INSERT INTO plots (id, holder_id, name, sown_at) VALUES (1, 1, 'North', "
            "datetime('now', '-30 days'));",
            "INSERT INTO plots (id, holder_id, name, sown_at) VALUES (2, 2, 'North', "
            "datetime('now', '-9 days'));",
        ],
    },
    {
        "table_name": "watches",
        "insert_statements": [
            "INSERT INTO watches VALUES (1, 2)",
            "INSERT INTO watches VALUES (2, 2)",
        ],
    },
]


def say(told: dict[str, Any], text: str) -> dict[str, Any]:
    """An endpoint with words of its own."""
    return told | {"description": text}


PLOT_ENDPOINTS = [
    say(endpoint("my_plots", "GET", "/plots", ["plots"]), "Plots of the current user."),
    say(endpoint("all_plots", "GET", "/all-plots", ["plots"]), "Plots of everybody."),
    say(
        endpoint(
            "plot_by_name",
            "GET",
            "/plots/by-name/{plot_name}",
            ["plots"],
            plot_name=("string", "path"),
        ),
        "One of my plots.",
    ),
    say(
        endpoint("get_plot", "GET", "/plots/{plot_id}", ["plots"], plot_id=("integer", "path")),
        "A plot held by user_id=1.",
    ),
    say(endpoint("take_plot", "POST", "/plots", ["plots"], name=("string", "body")), "Adds one."),
    say(
        endpoint(
            "unwatch", "DELETE", "/plots/{plot_id}/watch", ["watches"], plot_id=("integer", "path")
        ),
        "Ends a watch.",
    ),
    say(
        endpoint(
            "watchers", "GET", "/plots/{plot_id}/watchers", ["watches"], plot_id=("integer", "path")
        ),
        "Who watches.",
    ),
    say(endpoint("me", "GET", "/me", ["users"]), "The authenticated user."),
    say(
        endpoint(
            "add_seed",
            "POST",
            "/seeds",
            ["seeds"],
            seed_id=("string", "body"),
            label=("string", "body"),
        ),
        "Adds one.",
    ),
    say(
        endpoint("dry_seed", "POST", "/seeds/{seed_id}/dry", ["seeds"], seed_id=("string", "path")),
        "Dries a seed.",
    ),
    say(
        endpoint("rename_seed", "PATCH", "/seeds", ["seeds"], seed_label=("string", "body")),
        "Renames.",
    ),
    say(endpoint("newest_seed", "GET", "/seeds/newest", ["seeds"]), "One seed."),
    say(
        endpoint("any_seed", "GET", "/seeds/default", ["seeds"]),
        "The default one, creating it if none exists.",
    ),
    say(endpoint("created_seeds", "GET", "/seeds", ["seeds"]), "All that were created."),
]


def make_plots() -> dict[str, list[dict[str, Any]]]:
    """File → rows of the same release with these tables."""
    release = make_release()
    return release | {
        "gen_db.jsonl": [{"scenario": NAME, "db_schema": {"tables": PLOTS}}],
        "gen_sample.jsonl": [{"scenario": NAME, "sample_data": {"tables": PLOT_ROWS}}],
        "gen_spec.jsonl": [
            {"scenario": NAME, "api_spec": {"api_groups": [{"endpoints": PLOT_ENDPOINTS}]}}
        ],
    }
