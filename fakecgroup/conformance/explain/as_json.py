"""Explanations for programs."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict

from fakecgroup.conformance.explain.explanation import Explanation
from fakecgroup.conformance.titles import title


def json_text(name: str, found: Sequence[Explanation]) -> str:
    """The case on each layout: its operations with the answers by kernel, and the kernel's functions."""
    layouts = [
        {
            "layout": one.case.layout,
            "machine": one.machine,
            "family": one.family,
            "kernels": list(one.answers),
            "steps": [
                {
                    "index": index,
                    "operation": list(op),
                    "differs": one.differs(index),
                    "answers": {kernel: list(answers[index]) for kernel, answers in one.answers.items()},
                }
                for index, op in enumerate(one.case.ops)
            ],
            "functions": [asdict(function) for function in one.functions],
        }
        for one in found
    ]
    return json.dumps({"case": name, "title": title(name), "layouts": layouts})
