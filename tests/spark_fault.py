"""Encode on a local cluster of two executors, kill one of them in the middle, and report what changed."""

import json
import os
import signal
import sys
import threading
import time
from pathlib import Path

import numpy as np
import pandas

from catbayes import SamplingBayesianEncoder, encode
from engines import start_spark

N_ROWS, N_TASKS = 48_000, 12
SCHEMA = "id long, c string, y long, c_draw0 double, c_draw1 double, c_draw2 double, task long"


def executors(application):
    """Processes of the executors of a Spark application."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                words = (entry / "cmdline").read_bytes().decode(errors="replace").split("\0")
            except OSError:
                continue
            if application in words and any("CoarseGrainedExecutorBackend" in word for word in words):
                found.append(int(entry.name))
    return sorted(found)


def main(folder):
    random = np.random.default_rng(0)
    table = pandas.DataFrame({"id": np.arange(N_ROWS), "c": random.integers(0, 5_000, N_ROWS).astype(str)})
    table["y"] = random.integers(0, 2, N_ROWS)
    table.to_parquet(folder / "table.parquet")
    encoder = SamplingBayesianEncoder(["c"], random_state=0).fit(table, "y")
    expected = encoder.sample(table[["id", "c"]], 3, row_id="id")[:, :, 1].astype(float)

    spark = start_spark("local-cluster[2,1,1024]")
    frame = spark.read.parquet(str(folder / "table.parquet")).repartition(N_TASKS)
    killed, status = [], spark.sparkContext.statusTracker()

    def kill():
        """Wait until some tasks of the encoding are done, and end one executor."""
        while not killed:
            for stage in status.getActiveStageIds():
                info = status.getStageInfo(stage)
                if info and info.numTasks == N_TASKS and N_TASKS // 4 <= info.numCompletedTasks < N_TASKS // 2:
                    victim = executors(spark.sparkContext.applicationId)[0]
                    os.kill(victim, signal.SIGKILL)
                    killed.append(victim)
                    return
            time.sleep(0.01)

    threading.Thread(target=kill, daemon=True).start()
    # A slow step behind the draws keeps the tasks running long enough to be interrupted.
    encoded = encode(frame, encoder, n_draws=3, row_id="id").mapInArrow(_slowly, SCHEMA)
    encoded.write.parquet(str(folder / "out"))
    result = pandas.read_parquet(folder / "out").sort_values("id", ignore_index=True)
    draws = result[[f"c_draw{k}" for k in range(3)]].to_numpy().T
    report = {
        "killed": len(killed),
        "rows_of_retries": int((result["task"] - result["task"].min() >= N_TASKS).sum()),
        "rows": len(result),
        "distinct_rows": int(result["id"].nunique()),
        "expected_rows": N_ROWS,
        "changed_draws": int((draws != expected).sum()) if draws.shape == expected.shape else -1,
    }
    spark.stop()
    print(json.dumps(report))


def _slowly(batches):
    """Note which run of a task wrote each row: a task that is run again has another number."""
    import pyarrow
    from pyspark import TaskContext

    context = TaskContext.get()
    for batch in batches:
        time.sleep(0.4)
        task = pyarrow.array(np.full(batch.num_rows, context.taskAttemptId()))
        yield pyarrow.RecordBatch.from_arrays([*batch.columns, task], [*batch.schema.names, "task"])


if __name__ == "__main__":
    main(Path(sys.argv[1]))
