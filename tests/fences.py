#!/usr/bin/env python3
"""Deletes the predicates of the statements' fences one by one, and says which test notices.

Works on a copy of `outbox/src/sql`, which the tests of `tests/tests/claim/fence_*.rs` read instead
when `OUTBOX_SQL` names it: the sources are never touched, and nothing is built again. Ends with 1
if a deletion goes unnoticed. `tests/fences.py settle release` tries these statements only. Needs what
the tests need, and Python 3.
"""

import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
SQL = ROOT / "outbox/src/sql"

LOCK = ("no lock", "FOR UPDATE OF o SKIP LOCKED", "")
WAITS = ("waits for locks", "SKIP LOCKED", "")
ORDER = ("locks in any order", "ORDER BY o.id", "")
TOKEN = ("any token", "AND o.claim_token = i.token", "")
STATUS = ("any status", "AND e.status = 'PROCESSING'", "")
CLOCK = ("the transaction's time", "clock_timestamp() AS at", "now() AS at")
DUE = ("not due", "AND e.next_attempt_at <= now() ", "")
PENDING = ("any status", "AND e.status = 'PENDING'", "")

# Statement: (what is taken away, the text, what stands there instead). Where a text stands more
# than once, the first is meant.
MUTATIONS = {
    "claim": [
        ("any handler", "e.handler = h.name AND", ""),
        ("any position", "AND (e.next_attempt_at, e.id) > (h.at, h.id)", ""),
        ("any number", "LIMIT h.slots", ""),
        ("suspects together", "p.next_attempt_at, p.id) = 1)", "p.next_attempt_at, p.id) > 0)"),
        ("a suspect at any time", "($8 AND ", "(($8 OR true) AND "),
        ("suspects like others", "WHERE kept", ""),
        ("locked by pick, written by handler", "e.ctid = ANY (ARRAY(SELECT tid FROM cut WHERE kept))",
         "e.handler IN (SELECT handler FROM cut WHERE kept)"),
        ("no lock", "FOR UPDATE SKIP LOCKED", ""),
        PENDING, DUE, WAITS,
    ],
    "bind": [
        ("bound ones, too", "e.handler IS NULL AND", ""),
        ("any type", "AND e.event_type = k.name", ""),
        ("any number", "LIMIT k.slots", ""),
        ("for others' handlers", "AND b.handler = ANY ($9::text[])", ""),
        ("more than one handler for the row", "WHERE b.n = 1 AND", "WHERE"),
        ("a copy for the row's own handler", "WHERE b.n > 1", ""),
        ("no lock", "FOR UPDATE SKIP LOCKED", ""),
        PENDING, DUE, WAITS,
    ],
    "settle": [
        ("an expired lease", "AND e.lease_expires_at > s.at", ""),
        TOKEN, STATUS, CLOCK, LOCK, WAITS, ORDER,
    ],
    "heartbeat": [
        ("an expired lease", "AND e.lease_expires_at > l.at", ""),
        ("no lock", "FOR NO KEY UPDATE OF o SKIP LOCKED", ""),
        TOKEN, STATUS, CLOCK, WAITS, ORDER,
    ],
    "judge": [
        ("the transaction's time", "clock_timestamp()", "now()"),
        ("an expired lease lives", "e.lease_expires_at > clock_timestamp()", "e.claim_token IS NOT NULL"),
    ],
    "recover": [
        ("any handler", "e.handler = h.name AND", ""),
        ("looks at any status", "s.status = 'PROCESSING' AND", ""),
        ("looks at live leases", "AND s.lease_expires_at <= clock_timestamp()", ""),
        ("a renewed lease", "AND e.lease_expires_at <= x.at", ""),
        ("no lock", "FOR UPDATE SKIP LOCKED", ""),
        STATUS, CLOCK, WAITS, ORDER,
    ],
    "release": [TOKEN, STATUS, CLOCK, LOCK, WAITS, ORDER],
    "reclaim": [
        ("any handler", "o.handler = ANY ($1::text[]) AND", ""),
        ("any token", "AND o.claim_token = ANY ($2::uuid[])", ""),
        STATUS, CLOCK, LOCK, WAITS, ORDER,
    ],
}
for admin, status in [("admin_retry", "FAILED"), ("admin_mark_failed", "PENDING")]:
    tenant = " AND ($2::text IS NULL OR tenant_id = $2::text)"
    MUTATIONS[admin] = [
        ("any status", f" AND status = '{status}'", ""),
        ("shows any tenant's", f"WHERE id = $1::uuid{tenant}\n)", "WHERE id = $1::uuid\n)"),
        ("changes any tenant's", f"{tenant} AND status", " AND status"),
        ("no lock", "FOR NO KEY UPDATE OFFSET 0", "OFFSET 0"),
        ("the clock below the lock", "SELECT l.id, clock_timestamp() AS at\n  FROM (SELECT id FROM",
         "SELECT l.id, l.at\n  FROM (SELECT id, clock_timestamp() AS at FROM"),
        ("the transaction's time", "clock_timestamp() AS at", "now() AS at"),
    ]


def test_binary():
    build = ["cargo", "test", "-p", "outbox-tests", "--test", "claim", "--no-run", "--message-format=json"]
    output = subprocess.run(build, cwd=ROOT, check=True, stdout=subprocess.PIPE, text=True).stdout
    for message in map(json.loads, output.splitlines()):
        if message.get("executable") and message["target"]["name"] == "claim":
            return message["executable"]
    sys.exit("cargo names no test binary")


def without_comments(sql):
    """Comments quote the statements: only what the server reads is to be changed."""
    return re.sub(r"--.*", "", sql)


def red_tests(binary, statement, directory):
    module = "fence_admin::" if statement.startswith("admin") else f"fence_{statement}::"
    environment = os.environ | {"OUTBOX_SQL": str(directory), "RUST_BACKTRACE": "0"}
    run = subprocess.run([binary, module], cwd=ROOT / "tests", env=environment, stdout=subprocess.PIPE,
                         stderr=subprocess.DEVNULL, text=True)
    ran = re.search(r"^running (\d+) tests?$", run.stdout, re.M)
    if not ran or ran[1] == "0":
        sys.exit(f"no test ran for {statement}:\n{run.stdout}")
    red = re.findall(r"^test (\S+) \.\.\. FAILED$", run.stdout, re.M)
    if len(red) == int(ran[1]) > 1:
        sys.exit(f"all tests of {statement} are red: is what is left of it a statement?\n{run.stdout}")
    return red


def main():
    binary = test_binary()
    unnoticed = 0
    print("| statement | without its fence | red |\n| --- | --- | --- |", flush=True)
    for statement in sys.argv[1:] or MUTATIONS:
        red = red_tests(binary, statement, SQL)
        if red:
            sys.exit(f"red without any change: {', '.join(red)}")
        text = without_comments((SQL / f"{statement}.sql").read_text())
        for what, old, new in MUTATIONS[statement]:
            if old not in text:
                sys.exit(f"{statement}.sql has no {old!r}")
            with tempfile.TemporaryDirectory() as directory:
                copy = pathlib.Path(directory) / "sql"
                shutil.copytree(SQL, copy)
                (copy / f"{statement}.sql").write_text(text.replace(old, new, 1))
                red = red_tests(binary, statement, copy)
            unnoticed += not red
            names = ", ".join(f"`{name}`" for name in red) or "**none**"
            print(f"| `{statement}` | {what} | {names} |", flush=True)
    if unnoticed:
        sys.exit(f"{unnoticed} unnoticed")


if __name__ == "__main__":
    main()
