"""Files and inputs made to hurt: a generator of attacks, and a watched process that suffers them.

    python -m tests.hostile                       all families, 1,000 cases and more, a table at the end
    python -m tests.hostile sections --cases 5000 one family, more cases
    python -m tests.hostile --src ../old/src      the same attacks on another version of the package

`case.py` is what an attack is, `families.py` lists where they are made, `worker.py` is the process that runs them,
`watch.py` keeps that process within its bounds of memory and time, `__main__.py` runs and reports.
"""
