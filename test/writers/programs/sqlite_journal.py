"""SQLite with its default rollback journal: a study's database, which existed before, gets a row for each trial."""
import sqlite3

import gpu

with sqlite3.connect("study.db") as database:
    database.execute("create table if not exists trials (number integer primary key, loss real)")
for trial in range(6):
    with database:
        database.execute("insert into trials (loss) values (?)", (1 / (trial + 1),))
    gpu.launch(*gpu.batch(trial))  # TRUE LINE
    gpu.wait()
