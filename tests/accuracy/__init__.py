"""How far the estimator is from memory that other people measured: ``python -m tests.accuracy FILE.csv``.

A row is read in two halves. ``rows.Question`` holds everything that describes the run; what was measured stays in
``rows.Answer``, which nothing but the report looks at, after the estimate has been made.
"""
