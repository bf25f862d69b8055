#!/usr/bin/env python3
"""Judges an export of a journal without Arbiter: python3 check_journal.py all.jsonl

The export comes from: arbiter journal export > all.jsonl
It computes the chain of hashes anew, and looks for work that was done twice. It needs nothing but Python 3.
"""
import base64
import hashlib
import json
import struct
import sys


def body_of(entry):
    if "body_base64" in entry:
        return base64.b64decode(entry["body_base64"], validate=True)
    return entry["body"].encode()


def sum_of(entry):
    """SHA-256 of the previous hash, the header and the body."""
    header = b"arbiter/1" + struct.pack(">Q", entry["seq"])
    for name in ("kind", "task_id", "role", "actor", "at", "id"):
        text = entry.get(name, "").encode()
        header += struct.pack(">I", len(text)) + text
    body = body_of(entry)
    header += struct.pack(">Q", len(body))
    return hashlib.sha256(bytes.fromhex(entry["prev_hash"]) + header + body).hexdigest()


def check(lines):
    """Yields what is wrong."""
    prev, seq, whole, end = "0" * 64, 0, True, None
    ids, opened, answers, asked, acks = set(), {}, {}, {}, set()
    for line in lines:
        entry = json.loads(line)
        if end:
            yield "there is more behind the last line"
            return
        if "export" in entry:
            end, whole = entry, "part" not in entry
            continue
        at = "entry %d" % entry["seq"]
        if entry["prev_hash"] != prev or entry["seq"] != seq + 1:
            yield at + ": it does not follow entry %d" % seq
        if sum_of(entry) != entry["hash"]:
            yield at + ": its hash does not fit"
        seq, prev = entry["seq"], entry["hash"]
        if entry["id"] in ids:
            yield at + ": its id was there before"
        ids.add(entry["id"])
        task = entry.get("task_id", "")
        if entry["kind"] == "turn":
            turn = json.loads(body_of(entry))
            if turn["event"] == "started":
                if task in opened:
                    yield at + ": a turn starts while %s is open" % opened[task]
                opened[task] = turn["turn_id"]
            elif turn["event"] == "ended" and opened.get(task) == turn["turn_id"]:
                del opened[task]
        elif entry["kind"] == "message":
            message = json.loads(body_of(entry))
            refs = message.get("context_ref") or [""]
            to = {"task_result": refs[0], "review_verdict": refs[0]}.get(message["type"])
            if message["type"] == "review_request":
                to = asked[task] = message["payload"]["task_result_ref"]
            if message["type"] == "escalation" and message["payload"]["auto_suspended"]:
                answers.pop(asked.get(task), None)  # the review that it fenced is asked for again
            if to is not None:
                if to in answers:
                    yield at + ": %s was answered before, by entry %d" % (to, answers[to])
                answers[to] = entry["seq"]
        elif entry["kind"] == "ack":
            ack = json.loads(body_of(entry))
            declined = ack["status"] == "refused" and not ack["ack_for"].startswith("task_dispatch-")
            if not ack.get("late") and not declined:  # what was refused is delivered once more
                if ack["ack_for"] in acks:
                    yield at + ": %s was acknowledged before" % ack["ack_for"]
                acks.add(ack["ack_for"])
    if not end:
        yield "the export was cut off: its last line is missing"
    elif not whole:
        yield "it is a part of a journal; export all of it"
    elif end["entries"] != seq or end["head"] != {"seq": seq, "hash": prev}:
        yield "it ends with entry %d %s, and its last line says %s" % (seq, prev, end["head"])


def main():
    wrong = 0
    with open(sys.argv[1], encoding="utf-8") as lines:
        for breach in check(lines):
            print(breach)
            wrong += 1
    if wrong:
        sys.exit(1)
    print("nothing is wrong")


if __name__ == "__main__":
    main()
