"""A cluster's certificates, by openssl."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Sequence
from pathlib import Path

from .errors import ClusterError

_DAYS = "30"  # longer than a cluster on a laptop lives


class Authority:
    """A certificate authority with its files in a directory."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory

    def begin(self) -> None:
        """Makes its own certificate: ca.crt, ca.key. Those it has issued are then another's. Raises ClusterError."""
        self._directory.mkdir(exist_ok=True)
        (self._directory / "openssl.cnf").write_text("[req]\ndistinguished_name = dn\n[dn]\n")
        self._request("ca", "/CN=kubernetes", ["basicConstraints=critical,CA:TRUE", "keyUsage=critical,keyCertSign"])

    @property
    def certificate(self) -> Path:
        return self._directory / "ca.crt"

    @property
    def key(self) -> Path:
        return self._directory / "ca.key"

    def issue(self, name: str, user: str, group: str = "", addresses: Sequence[str] = ()) -> tuple[Path, Path]:
        """A certificate and its key for a client, or with `addresses` ("IP:..." and "DNS:...") for a server.

        They replace earlier ones of the name. Raises ClusterError.
        """
        subject = (f"/O={group}" if group else "") + f"/CN={user}"
        extensions = ["basicConstraints=critical,CA:FALSE", "extendedKeyUsage=clientAuth,serverAuth"]
        if addresses:
            extensions.append("subjectAltName=" + ",".join(addresses))
        self._request(name, subject, extensions, ["-CA", str(self.certificate), "-CAkey", str(self.key)])
        return self.files(name)

    def files(self, name: str) -> tuple[Path, Path]:
        """Where a certificate and its key are."""
        return self._directory / f"{name}.crt", self._directory / f"{name}.key"

    def _request(self, name: str, subject: str, extensions: Sequence[str], signer: Sequence[str] = ()) -> None:
        command = ["openssl", "req", "-x509", "-config", "openssl.cnf", "-newkey", "ec", "-noenc", "-days", _DAYS]
        command += ["-pkeyopt", "ec_paramgen_curve:P-256", "-subj", subject, *signer]
        files = self.files(name)
        made = [file.with_name(f"{file.name}.new") for file in files]
        command += ["-out", str(made[0]), "-keyout", str(made[1])]
        command += [word for extension in extensions for word in ("-addext", extension)]
        try:
            done = subprocess.run(command, cwd=self._directory, capture_output=True, text=True, check=False)
        except FileNotFoundError:
            raise ClusterError("no openssl here; as root: apt-get install openssl") from None
        if done.returncode:
            last = (done.stderr.strip().splitlines() or ["it said nothing"])[-1]
            raise ClusterError(f"openssl made no certificate for {name}: {last}")
        for new, file in zip(made, files, strict=True):
            os.replace(new, file)
