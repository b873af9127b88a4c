"""Real programs under `fakecgroup run`: what each does, and what it and the tree must say then.

`program` is the shape of a case, `programs/` has the cases, `run` runs them as a plain user, `page` writes
docs/evidence/programs.md. The tests run the same cases.
"""
