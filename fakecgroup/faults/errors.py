"""What is wrong with a rule.

FaultError(ValueError)    a rule that cannot be read, or that the kernel makes impossible
"""

from __future__ import annotations


class FaultError(ValueError):
    """The text is one line that names the rule and says why."""
