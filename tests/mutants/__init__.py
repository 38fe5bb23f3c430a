"""Mistakes made on purpose, one at a time, to see whether the tests notice.

`list/` names them: a file of the package, a text in it, the wrong text to put there, and the tests that ought to fail.
`python -m tests.mutants` (`make mutants`) makes each mistake in a copy of the sources and runs those tests. A mistake
that no test notices is a rule that nothing guards.
"""
