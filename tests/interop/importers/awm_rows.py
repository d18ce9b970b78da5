"""A small release in AWM's format, written here: a reading room with three tables, ten endpoints and four tasks; tests damage it."""

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
FINES = "CREATE TABLE fines (id INTEGER PRIMARY KEY, user_id INTEGER NOT NULL, amount REAL NOT NULL, why TEXT NOT NULL)"
INSERTS = {
    "books": [
        "INSERT INTO books (id, title, shelf, pages) VALUES (1, 'Atlas', 'A', 320), (2, 'Ants', 'B', 90)",
        "INSERT INTO books (id, title, shelf) VALUES (3, 'Rivers', NULL);",
    ],
    "loans": ["INSERT INTO loans (id, user_id, book_id, days, created_at) VALUES (1, 1, 2, 14, '2025-01-01T00:00:00Z')"],
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
ALWAYS = "def verify_task_completion(initial_db_path, final_db_path, final_answer=None):\n    return {'result': 'complete'}\n"
EVIDENCE = "def verify_task_completion(initial_db_path, final_db_path):\n    return {'loans': 3}\n"
PEEKS = """def verify_task_completion(initial_db_path, final_db_path):
    import sqlite3
    seen = sqlite3.connect("/etc/passwd").execute("select count(*) from sqlite_master").fetchone()[0]
    open("/tmp/left-behind", "w").write("x")
    return {"result": "complete" if seen else "others"}
"""


def endpoint(name: str, method: str, path: str, tables: list[str], **parameters: tuple[str, str]) -> dict[str, Any]:
    """Parameter → its type and where it is sent."""
    told = {
        key: {"type": kind, "param_type": place, "required": place != "query", "description": f"The {key}.", "example": 1}
        for key, (kind, place) in parameters.items()
    }
    return {
        "path": path, "method": method, "summary": name, "description": f"Does {name}.", "operation_id": name, "tags": [],
        "request_params": told, "response": {}, "required_tables": tables, "required_fields": {},
    }  # fmt: skip


ENDPOINTS = [
    endpoint(
        "list_books", "GET", "/books", ["books"], shelf=("string", "query"), min_pages=("integer", "query"), limit=("integer", "query")
    ),
    endpoint("get_book", "GET", "/books/{book_id}", ["books"], book_id=("integer", "path")),
    endpoint("move_book", "PATCH", "/books/{book_id}", ["books"], book_id=("integer", "path"), shelf=("string", "body")),
    endpoint("lend_book", "POST", "/books/{book_id}/loans", ["loans"], book_id=("integer", "path"), days=("integer", "body")),
    endpoint("end_loan", "DELETE", "/loans/{loan_id}", ["loans"], loan_id=("integer", "path")),
    endpoint("search_books", "GET", "/search", ["books"], query=("string", "query")),
    endpoint("list_due", "GET", "/due", ["books", "loans"]),
    endpoint("add_fine", "POST", "/fines", ["fines"], amount=("number", "body")),
    endpoint("clear_loans", "DELETE", "/loans", ["loans"]),
    endpoint("tag_book", "GET", "/tags", ["books"], shelf=("array", "query")),
]


def make_release() -> dict[str, list[dict[str, Any]]]:
    """File → rows."""
    tables = [{"name": name, "ddl": ddl, "indexes": []} for name, ddl in (("books", BOOKS), ("loans", LOANS), ("fines", FINES))]
    tables[0]["indexes"] = ["CREATE INDEX idx_shelf ON books(shelf);"]
    rows = [{"table_name": name, "insert_statements": told} for name, told in INSERTS.items()]
    tasks = ["Lend the atlas to me for a week.", "Nothing has to be done.", "Gather.", "Nobody checks this."]
    verifiers = [
        {"scenario": NAME, "task_idx": place, "task": tasks[place], "verification": {"code": code, "raw_response": ""}}
        for place, code in enumerate((LENT, ALWAYS, EVIDENCE))
    ]
    return {
        "gen_scenario.jsonl": [{"name": NAME, "description": "A room where people read.", "categories": ["x"]}],
        "gen_tasks.jsonl": [{"scenario": NAME, "tasks": tasks}],
        "gen_db.jsonl": [{"scenario": NAME, "db_schema": {"tables": tables}, "db_path": "x.db"}],
        "gen_sample.jsonl": [{"scenario": NAME, "tables_count": 2, "sample_data": {"tables": rows}}],
        "gen_spec.jsonl": [{"scenario": NAME, "api_spec": {"api_groups": [{"group_name": "all", "endpoints": ENDPOINTS}]}}],
        "gen_envs.jsonl": [{"scenario": NAME, "db_path": "x.db", "full_code": "from fastapi import FastAPI"}],
        "gen_verifier.pure_code.jsonl": verifiers,
    }


def write_release(folder: Path, release: dict[str, list[dict[str, Any]]]) -> Path:
    folder.mkdir()
    for name, rows in release.items():
        (folder / name).write_text("".join(json.dumps(row) + "\n" for row in rows))
    return folder
