"""The fields of a KubeletConfiguration, each read with its type."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from cgroup_engine.errors import ConfigError, ConfigRefusedError, QuantityError, quoted
from cgroup_engine.model.kubelet_version import KubeletVersion
from cgroup_engine.model.quantity import Quantity, parse


class ConfigFields:
    """The fields of one configuration, as a kubelet of ``version`` reads them. ``where`` begins every message.

    Methods raise ConfigError where a field has another type. ``warnings`` grows while fields are read.
    ``accept_invalid``: does reading go on where a kubelet would not start?
    """

    def __init__(
        self, fields: Mapping[str, Any], where: str, version: KubeletVersion, *, accept_invalid: bool = False
    ) -> None:
        self.fields = fields
        self.where = where
        self.version = version
        self.accept_invalid = accept_invalid
        self.warnings: list[str] = []

    def refuse(self, name: str, message: str, todo: str = "", value: str | None = None) -> None:
        """Refuses what no kubelet starts with, or warns of it with ``accept_invalid``.

        :raises ConfigRefusedError: without ``accept_invalid``.
        """
        refused = ConfigRefusedError(f"{self.where}: {name}: {message}", path=self.where, value=value, todo=todo)
        if not self.accept_invalid:
            raise refused
        self.warnings.append(f"{refused.message}; a kubelet does not start, this goes on")

    def error(self, name: str, message: str, todo: str = "", value: str | None = None) -> ConfigError:
        return ConfigError(f"{self.where}: {name}: {message}", path=self.where, value=value, todo=todo)

    def flag(self, name: str, default: bool) -> bool:
        value = self.fields.get(name)
        if value is None:
            return default
        if not isinstance(value, bool):
            raise self.error(name, f"{quoted(value)} is not true or false")
        return value

    def text(self, name: str, default: str) -> str:
        value = self.fields.get(name)
        if value is None:
            return default
        if not isinstance(value, str):
            raise self.error(name, f"{quoted(value)} is not a text", "put it in quotes")
        return value

    def mapping(self, name: str) -> Mapping[str, Any]:
        value = self.fields.get(name)
        if value is None:
            return {}
        if not isinstance(value, dict):
            raise self.error(name, "is not a mapping")
        return value

    def amount(self, raw: Any, spot: str) -> Quantity:
        if isinstance(raw, bool) or not isinstance(raw, (str, int, float)):
            raise self.error(spot, f"{quoted(raw)} is not a quantity")
        try:
            quantity = parse(str(raw))
        except QuantityError as refused:
            raise self.error(spot, refused.message, refused.todo, refused.value) from None
        if quantity.sign() < 0 or not quantity.fits():
            raise self.error(spot, f"{quoted(raw)} is below zero or more than 2^63-1", "correct it", str(raw))
        return quantity
