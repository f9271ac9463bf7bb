"""Asks tables that `highwater export --format parquet` wrote the questions in scripts/fleet/*.sql.

Usage: fleet.py duckdb|spark FOLDER [--json]

Both engines get the same SQL; only how they are told where the tables are differs. Prints each answer as
a table of Markdown, or all as JSON."""

import json
import pathlib
import sys

QUESTIONS = ["stacks", "types", "machines", "churn", "exit", "builds"]
TABLES = ["captures", "processes", "modules", "heaps", "frames", "stacks", "allocations", "series", "marks", "game_frames"]
SQL = pathlib.Path(__file__).resolve().parent / "fleet"


class DuckDb:
    def __init__(self, folder):
        import duckdb

        self.connection = duckdb.connect()
        self.connection.execute("SET TimeZone = 'UTC'")
        for table in TABLES:
            files = str(folder / table / "*" / "*.parquet").replace("'", "''")
            self.connection.execute(f"CREATE VIEW {table} AS SELECT * FROM read_parquet('{files}', hive_partitioning = true)")

    def ask(self, sql):
        cursor = self.connection.execute(sql)
        return [column[0] for column in cursor.description], [list(row) for row in cursor.fetchall()]


class Spark:
    def __init__(self, folder):
        from pyspark.sql import SparkSession

        settings = {
            "spark.ui.enabled": "false",
            "spark.sql.shuffle.partitions": "4",
            "spark.sql.session.timeZone": "UTC",
            "spark.driver.bindAddress": "127.0.0.1",
            "spark.driver.host": "127.0.0.1",
        }
        builder = SparkSession.builder.master("local[2]").appName("fleet")
        for key, value in settings.items():
            builder = builder.config(key, value)
        self.session = builder.getOrCreate()
        self.session.sparkContext.setLogLevel("ERROR")
        for table in TABLES:
            self.session.read.parquet(str(folder / table)).createOrReplaceTempView(table)

    def ask(self, sql):
        answer = self.session.sql(sql)
        return answer.columns, [list(row) for row in answer.collect()]


def questions():
    """Name, SQL and its first comment, of each."""
    for name in QUESTIONS:
        sql = (SQL / f"{name}.sql").read_text()
        yield name, sql


def answers(engine):
    return {name: engine.ask(sql) for name, sql in questions()}


def markdown(columns, rows):
    lines = [columns, ["---"] * len(columns)] + rows
    return "\n".join("| " + " | ".join("" if cell is None else str(cell) for cell in line) + " |" for line in lines)


def main():
    engine, folder = sys.argv[1], pathlib.Path(sys.argv[2]).resolve()
    found = answers({"duckdb": DuckDb, "spark": Spark}[engine](folder))
    if "--json" in sys.argv:
        print(json.dumps(found))
        return
    for name, (columns, rows) in found.items():
        print(f"{name}\n\n{markdown(columns, rows)}\n")


if __name__ == "__main__":
    main()
