#!/usr/bin/env python3
"""Changes the product one place at a time and counts which changes the unit tests notice.

make mutation [MUTANTS=500] [SEED=1] [SLICE=1/1]; README.md beside this file says how to read the outcome.
The Makefile gives the commands in the environment: COMPILE, LINK, OBJECTS, LIBRARIES, TESTS (the folder
of the unit tests' objects) and WORK (a folder for temporary files).
"""

import argparse
import concurrent.futures
import fcntl
import os
import pathlib
import random
import resource
import shlex
import shutil
import signal
import subprocess
import sys
import threading
import time

sys.dont_write_bytecode = True
import operators  # pylint: disable=wrong-import-position

HERE = pathlib.Path(__file__).parent
WORKERS = 2
NEEDED_PERCENT = 90
SEPARATOR = " :: "
# without an address space limit, which the sanitizer would not survive
SANITIZER = {"ASAN_OPTIONS": "hard_rss_limit_mb=2048:abort_on_error=0", "UBSAN_OPTIONS": "halt_on_error=1"}


def fail(message):
    sys.exit(f"mutation: {message}")


def lines_of(path):
    """(number, line) of a table's lines, without comments."""
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        if line.strip() and not line.startswith("#"):
            yield number, line.strip()


def read_subjects():
    """Test programs of each source file."""
    subjects = {}
    for number, line in lines_of(HERE / "subjects.txt"):
        source, _, tests = line.partition(":")
        if not pathlib.Path(source).is_file():
            fail(f"subjects.txt:{number}: there is no file '{source}'")
        if not tests.split():
            fail(f"subjects.txt:{number}: no test is named")
        subjects[source] = tests.split()
    return subjects


def read_judgements():
    """The mutants that were judged equivalent: line number in the file by key."""
    judged = {}
    for number, line in lines_of(HERE / "equivalent.txt"):
        parts = [part.strip() for part in line.split(SEPARATOR)]
        if len(parts) != 4 or not all(parts):
            wanted = SEPARATOR.join(["file function", "line", "changed line", "reason"])
            fail(f"equivalent.txt:{number}: expected '{wanted}'")
        judged[tuple(parts[:3])] = number
    return judged


class Worker:
    """A folder in which one mutant at a time is compiled, linked and run."""

    def __init__(self, number, environment):
        self.folder = pathlib.Path(environment["WORK"]) / f"worker{number}"
        shutil.rmtree(self.folder, ignore_errors=True)
        (self.folder / "tmp").mkdir(parents=True)
        self.compile_command = shlex.split(environment["COMPILE"])
        self.link_command = shlex.split(environment["LINK"])
        self.objects = shlex.split(environment["OBJECTS"])
        self.libraries = shlex.split(environment["LIBRARIES"])
        self.tests = environment["TESTS"]
        self.plain_objects = {}  # of unchanged sources

    def compile(self, path, source, *flags):
        """The object file of @source; None if the compiler refuses it."""
        file = self.folder / pathlib.Path(path).name
        file.write_text(source, encoding="utf-8")
        object_file = file.with_suffix(".o")
        done = subprocess.run([*self.compile_command, "-w", "-g0", *flags, "-c", "-o", object_file, file],
                              stdin=subprocess.DEVNULL, capture_output=True, check=False)
        return object_file if done.returncode == 0 else None

    def link(self, test, object_file):
        """The test program, with @object_file instead of the library's member of that name."""
        program = self.folder / test
        first = [object_file] if object_file else []
        command = [*self.link_command, "-s", "-o", program, f"{self.tests}/{test}.o", *first, *self.objects,
                   *self.libraries]
        done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            fail(f"cannot link {test}:\n{done.stderr}")
        return program

    def run(self, program, seconds):
        """Whether the program ends well in time."""
        process = subprocess.Popen(in_own_tmp(self.folder / "tmp", program), stdin=subprocess.DEVNULL,
                                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True,
                                   env={**os.environ, **SANITIZER})
        try:
            return process.wait(seconds) == 0
        except subprocess.TimeoutExpired:
            return False
        finally:
            kill_group(process)

    def is_same_code(self, mutant):
        """Whether the optimiser makes the same of the mutant as of the original."""
        flags = ("-fno-sanitize=all", "-O2")
        if mutant.path not in self.plain_objects:
            original = pathlib.Path(mutant.path).read_text(encoding="utf-8")
            self.plain_objects[mutant.path] = self.compile(mutant.path, original, *flags).read_bytes()
        return self.compile(mutant.path, mutant.source, *flags).read_bytes() == self.plain_objects[mutant.path]


def kill_group(process):
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except ProcessLookupError:
        pass
    process.wait()


def own_tmp_works():
    return subprocess.run(["unshare", "--mount", "--map-root-user", "true"], capture_output=True,
                          check=False).returncode == 0


OWN_TMP = own_tmp_works()


def in_own_tmp(folder, program):
    """The command for @program with @folder as its /tmp, where a test that dies leaves its files. The names
    are relative, as the sources may be in /tmp themselves."""
    if not OWN_TMP:
        return [program]
    return ["unshare", "--mount", "--map-root-user", "sh", "-c", 'mount --bind "$1" /tmp && exec "$0"',
            program, folder]


class Pool:
    """The workers, of which each thread has its own."""

    def __init__(self, environment):
        self.environment = environment
        self.local = threading.local()
        self.lock = threading.Lock()
        self.count = 0
        self.executor = concurrent.futures.ThreadPoolExecutor(WORKERS)

    def worker(self):
        if not hasattr(self.local, "worker"):
            with self.lock:
                self.local.worker = Worker(self.count, self.environment)
                self.count += 1
        return self.local.worker

    def time_test(self, test):
        """Seconds that the unchanged program takes."""
        worker = self.worker()
        program = worker.link(test, None)
        start = time.monotonic()
        if not worker.run(program, 600):
            fail(f"{test} fails without any change")
        program.unlink()
        return time.monotonic() - start

    def time_tests(self, tests):
        return dict(zip(tests, self.executor.map(self.time_test, tests)))

    def judge(self, mutant, tests, seconds):
        """'killed', 'survived', or 'void' for one that does not compile or changes nothing."""
        worker = self.worker()
        object_file = worker.compile(mutant.path, mutant.source)
        if object_file is None:
            return "void"
        for test in tests:
            program = worker.link(test, object_file)
            if not worker.run(program, 5 + 5 * seconds[test]):
                return "killed"
            shutil.rmtree(worker.folder / "tmp")
            (worker.folder / "tmp").mkdir()
        return "void" if worker.is_same_code(mutant) else "survived"


def quotas(sizes, wanted):
    """How many of @wanted each file gets, in proportion to its size."""
    total = sum(sizes.values())
    shares = {path: wanted * size / total for path, size in sizes.items()}
    quota = {path: int(share) for path, share in shares.items()}
    rest = sorted(shares, key=lambda path: (quota[path] - shares[path], path))
    for path in rest[: wanted - sum(quota.values())]:
        quota[path] += 1
    return quota


def slice_of(text):
    """(2, 5) of '3/5': the place of a slice, from 0, and how many there are."""
    number, _, count = text.partition("/")
    if not (number.isdigit() and count.isdigit() and 1 <= int(number) <= int(count)):
        raise argparse.ArgumentTypeError(f"'{text}' is not like 1/5")
    return int(number) - 1, int(count)


class Campaign:
    """Draws mutants, and draws others for those that are void. The same seed draws the same, and
    slices of one seed have no mutant in common."""

    def __init__(self, pool, subjects, options):
        self.pool = pool
        self.subjects = subjects
        self.waiting = {}
        for path in subjects:
            mutants = operators.mutants_of(path, pathlib.Path(path).read_text(encoding="utf-8"))
            random.Random(f"{options.seed} {path}").shuffle(mutants)
            self.waiting[path] = mutants
        self.keys = {mutant.key for mutants in self.waiting.values() for mutant in mutants}
        self.quota = quotas({path: len(mutants) for path, mutants in self.waiting.items()},
                            min(options.mutants, sum(map(len, self.waiting.values()))))
        self.keep_slice(*options.slice)
        self.outcomes = []
        self.void = 0

    def keep_slice(self, number, count):
        """Leaves one of @count parts of all mutants; small files come to different slices."""
        for place, path in enumerate(sorted(self.waiting)):
            share = (number + place) % count
            self.waiting[path] = self.waiting[path][share::count]
            self.quota[path] = (self.quota[path] + count - 1 - share) // count

    def run(self, seconds):
        running = {}

        def submit(path):
            if self.waiting[path]:
                mutant = self.waiting[path].pop()
                future = self.pool.executor.submit(self.pool.judge, mutant, self.subjects[path], seconds)
                running[future] = mutant

        for path, count in self.quota.items():
            for _ in range(count):
                submit(path)
        while running:
            done, _ = concurrent.futures.wait(running, return_when=concurrent.futures.FIRST_COMPLETED)
            for future in done:
                mutant = running.pop(future)
                if future.result() == "void":
                    self.void += 1
                    submit(mutant.path)
                else:
                    self.outcomes.append((mutant, future.result()))
                    show_progress(len(self.outcomes), sum(self.quota.values()))


def show_progress(done, wanted):
    if sys.stderr.isatty() or done % 50 == 0:
        print(f"  {done} of {wanted}", end="\r" if sys.stderr.isatty() else "\n", file=sys.stderr, flush=True)


def print_table(outcomes, judged):
    """Totals per file."""
    paths = sorted({mutant.path for mutant, _ in outcomes})
    print(f"  {'':36} mutants  killed  survived  equivalent")
    for path in paths:
        own = [(mutant, outcome) for mutant, outcome in outcomes if mutant.path == path]
        killed = sum(outcome == "killed" for _, outcome in own)
        equal = sum(outcome != "killed" and mutant.key in judged for mutant, outcome in own)
        print(f"  {path:36} {len(own):7}  {killed:6}  {len(own) - killed - equal:8}  {equal:10}")


def report(campaign, judged):
    """Prints what was found; true if enough died."""
    outcomes = sorted(campaign.outcomes, key=lambda item: (item[0].path, item[0].line, item[0].changed))
    survivors = [mutant for mutant, outcome in outcomes if outcome == "survived" and mutant.key not in judged]
    killed = sum(outcome == "killed" for _, outcome in outcomes)
    equal = len(outcomes) - killed - len(survivors)

    for mutant in survivors:
        print(f"survived: {mutant.path}:{mutant.line} {mutant.function}: {mutant.original} -> {mutant.changed}")
    for mutant, outcome in outcomes:
        if outcome == "killed" and mutant.key in judged:
            print(f"warning: equivalent.txt:{judged[mutant.key]}: a test tells it from the original")
    for key, number in judged.items():
        if key not in campaign.keys:
            print(f"warning: equivalent.txt:{number}: stale, there is no such mutant any more")
    print_table(outcomes, judged)
    share = 100 * killed / max(1, killed + len(survivors))
    print(f"  {share:.1f} % died; {campaign.void} more did not compile or changed no code")
    print(f"mutation: {len(outcomes)} mutants, {killed} killed, {len(survivors)} survived, "
          f"{equal} judged equivalent")
    return share >= NEEDED_PERCENT


def lock(folder):
    """Two runs would overwrite each other's files. Caller keeps what is returned."""
    folder.mkdir(parents=True, exist_ok=True)
    file = open(folder / "lock", "w", encoding="utf-8")
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        fail(f"another run is at work in {folder}")
    return file


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--mutants", type=int, default=500)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--slice", type=slice_of, default=(0, 1), help="2/5 for the second fifth of the mutants")
    parser.add_argument("--only", help="source files whose path contains this")
    options = parser.parse_args()

    signal.signal(signal.SIGTERM, lambda *_: fail("ended from outside"))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    held = lock(pathlib.Path(os.environ["WORK"]))
    subjects = {path: tests for path, tests in read_subjects().items() if (options.only or "") in path}
    judged = {key: number for key, number in read_judgements().items() if (options.only or "") in key[0]}
    pool = Pool(os.environ)
    start = time.monotonic()
    campaign = Campaign(pool, subjects, options)
    try:
        campaign.run(pool.time_tests(sorted({test for tests in subjects.values() for test in tests})))
    finally:
        pool.executor.shutdown(cancel_futures=True)
    enough = report(campaign, judged)
    print(f"figure: {time.monotonic() - start:.0f} s", file=sys.stderr)
    held.close()
    sys.exit(0 if enough else 1)


if __name__ == "__main__":
    main()
