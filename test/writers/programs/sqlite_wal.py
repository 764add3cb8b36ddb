"""SQLite with a write-ahead log, whose index is shared memory in a file. An open transaction is lost at the failure."""
import sqlite3

import gpu

database = sqlite3.connect("metrics.db")
database.execute("pragma journal_mode=wal")
database.execute("create table if not exists metrics (step integer, loss real)")
for step in range(6):
    database.execute("insert into metrics values (?, ?)", (step, 1 / (step + 1)))
    if step % 2:
        database.commit()
    gpu.launch(*gpu.batch(step))  # TRUE LINE
    gpu.wait()
