"""Scenarios: cgroups, workloads and expectations in a YAML file, played on virtual time."""

from .outcome import Outcome
from .play import play
from .read import ScenarioError, read_scenario
from .scenario import Scenario

__all__ = ["Outcome", "Scenario", "ScenarioError", "play", "read_scenario"]
